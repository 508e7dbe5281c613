"""The value of the model that a training continues, which early stopping must not fall behind."""

from __future__ import annotations

import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .binding import loggers

if TYPE_CHECKING:
    import xgboost as xgb

    from .metric import CustomMetric


_calls: ContextVar[list[tuple[CustomMetric, weakref.ref[xgb.DMatrix]]] | None] = ContextVar("calls", default=None)
"""Which of our custom metrics were called on what in the first round of a training that continues a model.

Nobody tells a callback what data sets a training has. Each training has calls of its own, for it runs in one thread.
"""


def listen() -> None:
    """Have the calls of this training noted."""
    _calls.set([])


def note_call(log: CustomMetric, dmatrix: xgb.DMatrix) -> None:
    """Note that a custom metric was called, where somebody listens."""
    calls = _calls.get()
    if calls is not None:
        calls.append((log, weakref.ref(dmatrix)))


class Cuts:
    """The values of a model cut after few rounds, as callbacks and custom metrics of ours log them.

    Made in the first round; then nobody listens any more.
    """

    def __init__(self, model: Any, metric: str, data_name: str, evals_log: Any) -> None:
        self.model, self.metric, self.data_name = model, metric, data_name
        self._calls = [
            (log, dmatrix)
            for log, reference in _calls.get() or ()
            if metric in log.panel.names and (dmatrix := reference()) is not None
        ]
        _calls.set(None)
        having = [name for name, history in evals_log.items() if metric in history]
        self._place = having.index(data_name)  # XGBoost evaluates its own data sets first, in the order of this history

    def value(self, rounds: int) -> float | None:
        """Return the value after some rounds; None where it is not ours to work out."""
        for logger in loggers(self.model):
            value = logger.value_after(self.model, rounds, self.data_name, self.metric)
            if value is not None:
                return value
        if self._place >= len(self._calls):
            return None
        log, dmatrix = self._calls[self._place]
        value = log.value_after(self.model, rounds, dmatrix, self.metric)
        exact = any(getattr(logger, "log", None) is log for logger in loggers(self.model))
        return value if exact else float(f"{value:f}")  # the digits that XGBoost keeps
