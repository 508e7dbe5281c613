"""Tables of a path of gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._common.words import format_confidence

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.gain_path import GainPath

MAX_BASES = 5

MAX_SWAPS = 12
"""Pairs of models that change places in the table. The others are counted."""


def gains_tables(gains: GainPath) -> list[tuple[str, pd.DataFrame]]:
    """Return tables with captions: the highest mean by base, regrets at some bases, and models that change places."""
    import pandas as pd

    names = gains.short_names
    winners = gains.winners.assign(model=gains.winners["model"].map(names)).set_index("model")
    places = np.unique(np.linspace(0, len(gains.bases) - 1, MAX_BASES).round().astype(int))
    columns = [f"b = {gains.bases[place]:.3g}" for place in places]
    index = pd.Index([names[model] for model in gains.models], name="model")
    tables = [
        (f"Highest mean of {gains.metric}", winners.round(2)),
        ("Difference to the best", pd.DataFrame(gains.regret[places].T, index, columns)),
    ]
    if len(gains.swaps):
        swaps = gains.swaps.head(MAX_SWAPS)
        swaps = swaps.assign(first=swaps["first"].map(names), second=swaps["second"].map(names)).set_index("first")
        rest = len(gains.swaps) - len(swaps)
        more = f" ({rest} more pairs)" if rest else ""
        caption = f"Bases that reverse the order of two models, {format_confidence(gains.alpha)} intervals{more}"
        tables.append((caption, swaps.round(2)))
    return tables
