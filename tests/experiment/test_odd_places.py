"""FIFOs, folders, sockets and devices in the directory, sizes that are none: one line, before any training."""

from __future__ import annotations

import re
import time

import pytest

from gainsay.experiment import Candidate, work
from gainsay.experiment.config import read_toml


@pytest.fixture(autouse=True)
def nothing_is_trained(done, monkeypatch):
    monkeypatch.setattr(work, "train_candidate", None)


SIMULATED = {"queries": 30, "seed": 1, "mean_length": 8, "split": "[0.6, 0.2, 0.2]"}


def toml(candidate="", simulate=None, **top):
    lines = [f"{key} = {value}" for key, value in top.items()]
    data = ", ".join(f"{key} = {value}" for key, value in {**SIMULATED, **(simulate or {})}.items())
    return "\n".join(
        [*lines, "[data]", f"simulate = {{{data}}}", "[[candidates]]", "name='a'", "library='lightgbm'", candidate]
    )


HUGE = "9" * 400
ABSURD = [
    (toml(num_boost_round=10**12), "num_boost_round must be less than or equal to 10000000, got 1000000000000"),
    (toml(early_stopping_rounds=10**12), "early_stopping_rounds must be less than or equal to 10000000, got 10000000"),
    (toml(threads=10**9), "threads must be less than or equal to 4096, got 1000000000"),
    (toml(draws=10**12), "draws must be less than or equal to 10000000, got 1000000000000"),
    (toml(seed=2**31), "seed must be less than or equal to 2147483647, got 2147483648"),
    (toml(seed=HUGE), "seed must be less than or equal to 2147483647, got 99999"),
    (toml("num_boost_round = 1000000000000"), "candidates[0].num_boost_round must be at most 10000000, got 1000000000"),
    (toml("threads = 1000000"), "candidates[0].threads must be at most 4096, got 1000000"),
    (toml("seed = [1, 10000000000]"), "candidates[0].seed must be at most 2147483647, got 10000000000"),
    (toml(simulate={"queries": 10**9}), "data.simulate: queries, mean_length and features make 960 GB of data, and "),
    (toml(simulate={"queries": 10**15}), "data.simulate.queries must be less than or equal to 10000000000, got 100000"),
    (toml(simulate={"queries": HUGE}), "data.simulate.queries must be less than or equal to 10000000000, got 9999"),
    (
        toml(simulate={"features": 10**12}),
        "data.simulate.features must be less than or equal to 10000000, got 10000000",
    ),
    (
        toml(simulate={"features": 10**7, "queries": 10**5}),
        "data.simulate: queries, mean_length and features make 32,0",
    ),
    (toml(simulate={"mean_length": "inf"}), "data.simulate.mean_length must be a finite number, got inf"),
    (toml(simulate={"signal": "nan"}), "data.simulate.signal must be a finite number, got nan"),
    (toml(rope="inf"), "rope must be a finite number, got inf"),
]


class TestSizes:
    @pytest.mark.parametrize(("text", "message"), ABSURD, ids=[message[:50] for _, message in ABSURD])
    def test_that_are_none(self, tmp_path, text, message):
        path = tmp_path / "e.toml"
        path.write_text(text)
        started = time.monotonic()
        with pytest.raises(ValueError, match="^" + re.escape(f"{path}: {message}")) as caught:
            read_toml(path)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
        assert time.monotonic() - started < 10

    def test_that_memory_does_not_hold(self, tmp_path, monkeypatch):
        """Where the system does not tell how much there is, the attempt itself does."""

        def simulate(**options):
            raise MemoryError

        monkeypatch.setattr("gainsay.experiment.config.simulate", simulate)
        monkeypatch.setattr("gainsay.experiment.config.physical_memory", lambda: None)
        (tmp_path / "e.toml").write_text(toml())
        with pytest.raises(
            ValueError, match=r"data.simulate: the memory of this machine does not suffice; ask for less"
        ):
            read_toml(tmp_path / "e.toml")

    def test_of_files(self, tmp_path, monkeypatch):
        def read(path, **options):
            raise MemoryError

        monkeypatch.setattr("gainsay.experiment.config.read_letor", read)
        for name in "abc":
            (tmp_path / name).touch()
        (tmp_path / "e.toml").write_text(
            "[data]\ntrain = 'a'\nvalid = 'b'\ntest = 'c'\nfeatures = 10000000\n"
            "[[candidates]]\nname = 'x'\nlibrary = 'xgboost'"
        )
        with pytest.raises(
            ValueError, match=r"a: the memory of this machine does not suffice; is `features` too large"
        ):
            read_toml(tmp_path / "e.toml")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"draws": 10**12}, "draws must be at most 10000000, got 1000000000000"),
            ({"num_boost_round": 10**12}, "num_boost_round must be at most 10000000, got 1000000000000"),
            ({"seed": 2**31}, "seed must be at most 2147483647, got 2147483648"),
        ],
    )
    def test_of_an_experiment(self, make, changes, message):
        with pytest.raises(ValueError, match=message):
            make(candidates=[Candidate("a", "lightgbm")], **changes)
