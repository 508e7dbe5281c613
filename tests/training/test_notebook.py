"""The picture of a notebook: one output that is replaced in place, in a kernel as Jupyter runs it."""

import re
from functools import cache

import pytest

pytestmark = pytest.mark.slow

TRAINING = """
import warnings
warnings.simplefilter("ignore")
import lightgbm as lgb
from gainwise.data import simulate
from gainwise.training import display
from gainwise.lightgbm import Curves, early_stopping, feval
display.NOTEBOOK_INTERVAL = 0.0
train, valid = simulate(60, seed=1, mean_length=20).split_queries(0.5, 0.5, seed=1)
train_set = lgb.Dataset(train.features, train.labels, group=train.group)
valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
"""
FIT = """
curves = Curves(name="small")
lgb.train(params, train_set, 40, valid_sets=[valid_set], feval=feval(["ndcg_linear@10", "ndcg_exp@10"]),
          callbacks=[curves, {stop}]);
"""


LIMIT = 900
"""Seconds after which a kernel that hangs fails the test; machines that are busy take long."""


STOPS = ['early_stopping("ndcg_exp@10", 5, verbose=False)', "lgb.early_stopping(5, verbose=False)"]


@cache
def run():
    """Train once with each stop in one kernel. Return outputs and messages about pictures by cell."""
    cells = [TRAINING]
    for stop in STOPS:
        cells += [FIT.format(stop=stop), "curves", "print(curves.rounds)"]
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    messages = []

    class Client(nbclient.NotebookClient):
        def process_message(self, message, cell, cell_index):
            if message["msg_type"] in ("display_data", "update_display_data"):
                messages.append((cell_index, message))
            return super().process_message(message, cell, cell_index)

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    Client(notebook, timeout=LIMIT, startup_timeout=LIMIT, kernel_name="python3").execute()
    return [cell["outputs"] for cell in notebook["cells"]], messages


def of_training(stop):
    """Outputs of the training, of the curves and of their rounds, and the messages of the training and the curves."""
    outputs, messages = run()
    first = 1 + 3 * STOPS.index(stop)
    return outputs[first : first + 3], [message for cell, message in messages if first <= cell < first + 3]


@pytest.mark.filterwarnings("ignore")  # of the client's own
class TestPicture:
    @pytest.mark.parametrize("stop", STOPS)
    def test_one_output_that_is_replaced(self, stop):
        (training, _, said), messages = of_training(stop)
        assert [output["output_type"] for output in training] == ["display_data"]  # nothing on stderr either
        assert len({message["content"]["transient"]["display_id"] for message in messages}) == 1
        kinds = [message["msg_type"] for message in messages]
        assert kinds[0] == "display_data"
        assert set(kinds[1:]) == {"update_display_data"}
        rounds = int(said[0]["text"])
        last = messages[-1]["content"]["data"]["text/html"]
        assert f"round {rounds}" in last
        assert training[0]["data"]["text/html"] == last

    def test_rows_of_both_metrics(self):
        (training, curves, _), _ = of_training(STOPS[0])
        for outputs in (training, curves):
            page = outputs[0]["data"]["text/html"]
            assert " style=" not in page
            assert " id=" not in page
            assert "<script" not in page
            assert re.findall(r'<td class="(.)">[▁-█]+</td>', page) == ["l", "e"]
