"""Tables of invalid calls: one table per package, one row per call.

A row names the call, the argument that the message must mention, the exception, and up to three words of the message.
The words identify the check that failed. They are not the whole sentence, so tests do not depend on its wording.

    CASES = [
        BadInput("no labels", lambda: gw.Judgments([]), "labels", ValueError, "empty"),
        BadInput("missing file", lambda folder: read_letor(folder / "x"), "x", FileNotFoundError, ""),
    ]

    @bad_inputs(CASES)
    def test_bad_inputs(case, tmp_path):
        case.check(tmp_path)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_WORDS = 3


class BadInput(NamedTuple):
    """An invalid call and the error that it must raise."""

    name: str
    call: Callable[..., object]
    argument: str
    exception: type[Exception]
    words: str = ""

    def check(self, *arguments: Any) -> str:
        """Assert that the call raises this error, in one line, and return the message."""
        with pytest.raises(self.exception) as caught:
            self.call(*arguments)
        message = str(caught.value)
        assert len(self.words.split()) <= MAX_WORDS
        assert self.argument in message
        assert self.words in message
        assert "\n" not in message.strip()
        assert not re.search(r"[?;,]\.", message)  # A hint ends within its sentence.
        return message


def bad_inputs(cases: Sequence[BadInput]) -> Any:
    """Parametrize a test over a table."""
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])
