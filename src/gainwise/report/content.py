"""The content of a report in any format. Every part is computed once, when it is first used.

HTML, Markdown, JSON, terminals and notebooks read one `Content`. It has the chart (`gainwise.report.chart.Chart`) and
the data of sections (`gainwise.report.sections`) and tables (`gainwise.report.tables`), such as queries and best
rounds.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common import cached_property
from .._common.lazy import pandas as pd
from .._common.names import Names, split_names
from .._common.text import MINUS, join_names, pluralize, printable, printables, styled
from ..comparison.baseline import LISTED, rank_candidates
from ..comparison.disagreement import find_bound
from ..comparison.estimates import MIN_QUERIES
from ..comparison.ranked_models import select_sums
from ..comparison.sensitivity import MIN_MODELS
from ..comparison.single_queries import compute_preferences, find_losses, find_ranked_places
from .chart import add_repeats, build_baseline_chart, build_verdict_chart, scale_by_margins

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from ..comparison.attribution import Attribution
    from ..comparison.baseline import BaselineComparison
    from ..comparison.comparison import Comparison
    from ..comparison.disagreement import DisagreementBound
    from ..comparison.gain_path import GainPath
    from ..comparison.sensitivity import Sensitivity
    from .chart import Chart


MAX_PATH_MODELS, MAX_PATH_VALUES = 50, 300_000
"""Models, and values (models times queries), up to which a report computes the gain path and other choices."""

MAX_RANKS = 10
"""Ranks of a query in a report."""

DOT = "\u00b7"
"""Replaces grade 0."""

MAX_CHARACTERS = 120
"""Characters of the text of a query, and of the title of a document."""


class ExplainedPair(NamedTuple):
    """Two models, and the reason why a report explains their difference."""

    first: str
    second: str
    reason: str


class Appendix(NamedTuple):
    """Another comparison in a report: id and heading of its section, a description of its data, and its content."""

    name: str
    title: str
    data: str
    content: Content


class Content:
    """Collect everything that a report of a comparison contains.

    Parameters
    ----------
    comparison : Comparison
        The comparison to report.
    against : BaselineComparison, optional
        Decisions about a baseline, which come first.
    appendices : sequence of Appendix
        Other comparisons. Each gets a section.
    """

    def __init__(
        self, comparison: Comparison, against: BaselineComparison | None = None, appendices: Sequence[Appendix] = ()
    ) -> None:
        self.comparison, self.against, self.appendices = comparison, against, tuple(appendices)

    @cached_property
    def names(self) -> Names:
        """Names of the models, and of the candidates of an experiment, for all tables, charts and sentences."""
        curves = self.comparison.curves
        candidates = [] if curves is None else map(str, curves["candidate"].unique())
        return split_names([*self.comparison.models, *candidates])

    @cached_property
    def chart(self) -> Chart:
        """The main chart: question, answer, advice, and a row for every model."""
        comparison, chart = self.comparison, self.standing
        if self.against is not None:
            means = {metric: comparison.leaderboard[metric].to_dict() for metric in comparison.metrics}
            merged = self.merged and self.against.leading == comparison.primary
            chart = build_baseline_chart(self.against, self.names, means, merged)
            advice = [chart.advice, self._describe_selected(), self._describe_worse_segments()]
            chart = replace(chart, advice=" ".join(filter(None, advice)))
        if comparison.repeats and chart.rows:
            chart = add_repeats(chart, comparison._repeat_distances)
        return chart if self.against is None else scale_by_margins(chart, self.against.margins)

    def _describe_selected(self) -> str:
        """Return which model a validation set selected, and the decision about it, for a page about a baseline."""
        against, selected, searched = self.against, self.comparison.selected, self.comparison.searched
        if against is None or selected is None:
            return ""
        among = "" if searched is None else f" from {searched:,} candidates"
        decision = against.decisions.get(selected, "the baseline")
        return f"Selected on the validation set{among}: {styled('n', self.names.labels[selected])} ({decision})."

    def _describe_worse_segments(self) -> str:
        """Return in which segments the baseline is better than the model to ship, if segments do not decide."""
        against = self.against
        if against is None or against.segments:
            return ""
        first = rank_candidates(against)[0].candidate
        if against.decisions[first] != "ship" or (segments := self.comparison.segments) is None:
            return ""
        places = [segments.models.index(model) for model in (first, against.baseline)]
        parts = [part for part in segments.parts if part.is_better[:, places[0], places[1]].any()]
        worse = [printable(f"{part.column} is {part.label}") for part in parts]
        if not worse:
            return ""
        where = f"where {join_names(worse)}" if len(worse) <= LISTED else f"in {len(worse)} segments"
        better, other = (styled("n", self.names.labels[model]) for model in (against.baseline, first))
        text = f"But {better} is better than {other} {where}. Segments decide only with segments= in against"
        return f"{text} (gate --segments)."

    @cached_property
    def standing(self) -> Chart:
        """The chart of all models without a baseline."""
        comparison = self.comparison
        return build_verdict_chart(comparison._standing, self.names, comparison.selected, comparison.searched)

    @property
    def margins(self) -> dict[str, float]:
        """The margin of each metric: that of the decisions about the baseline if they use it."""
        comparison = self.comparison
        margins = dict.fromkeys(comparison.metrics, comparison.settings.margin)
        return margins if self.against is None else margins | self.against.margins

    @property
    def merged(self) -> bool:
        """Whether both primary metrics are the same number, as both NDCGs are with labels 0 and 1."""
        return self.comparison.primary is not None and self.comparison.verdict.metrics_coincide

    @cached_property
    def bound(self) -> DisagreementBound | None:
        """Largest possible disagreement on these labels, or None if the primary metrics are not NDCGs of two gains."""
        comparison = self.comparison
        if comparison.rankings is None or comparison.primary is None:
            return None
        metrics = [comparison.definitions.get(name) for name in comparison.primary]
        return find_bound(comparison.rankings.judgments, metrics)

    @property
    def same_number(self) -> list[str]:
        """A sentence if both primary metrics are the same number, or if it costs little to choose by either."""
        if len(self.comparison.models) < 2:
            return []
        if not self.merged:
            return [self.bound.conclusion] if self.bound is not None and self.bound.is_negligible else []
        rankings = self.comparison.rankings
        definitions = map(self.comparison.definitions.get, self.comparison.primary or ())
        is_of_labels = all(metric is not None and metric.column is None for metric in definitions)
        if rankings is not None and is_of_labels and set(rankings.judgments.levels.tolist()) <= {0, 1}:
            return ["With labels 0 and 1 both gains are the same, so there is one number."]
        first, second = map(printable, self.comparison.verdict.metrics)
        return [f"{first} and {second} have the same values here."]

    @cached_property
    def pair(self) -> ExplainedPair | None:
        """The two models that are explained: with a baseline it and the candidate that comes first."""
        if self.comparison.primary is None:
            return None
        if self.against is not None:
            first = rank_candidates(self.against)[0].candidate
            return ExplainedPair(first, self.against.baseline, "the candidate that comes first and the baseline")
        return choose_pair(self.comparison)

    @cached_property
    def losses(self) -> pd.DataFrame | None:
        """The queries on which the first candidate loses most against the baseline, or None without a baseline."""
        if self.against is None or self.comparison.rankings is None:
            return None
        first = rank_candidates(self.against)[0].candidate
        return find_losses(self.comparison, self.against.baseline, first)

    @cached_property
    def attribution(self) -> Attribution | None:
        """The attribution of their difference. None without scores, or if no metric is a sum over documents."""
        comparison = self.comparison
        if self.pair is None or comparison.rankings is None or not select_sums(comparison.definitions.values()):
            return None
        return self.attribute(self.pair.first, self.pair.second)

    def attribute(self, first: str, second: str) -> Attribution:
        """Return the attribution of the difference of two models under the primary metrics, or the first two sums."""
        sums = select_sums(self.comparison.definitions.values())
        names = [name for name, metric in self.comparison.definitions.items() if metric in sums]
        primary = [name for name in self.comparison.primary or () if name in names]
        return self.comparison.attribution(first, second, primary[:1] if self.merged else primary or names[:2] or None)

    @cached_property
    def queries(self) -> Queries | None:
        """Both metrics of the explained pair on every query, or None without the scores of the models."""
        if self.pair is None or self.comparison.rankings is None:
            return None
        return Queries(self.comparison, self.pair)

    @cached_property
    def path(self) -> GainPath | None:
        """The gain path. None if it is expensive or if the metrics are not two gains of one NDCG."""
        if self.comparison.primary is None or not self._can_vary:
            return None
        with suppress(ValueError):  # Other metrics, or labels that are not grades.
            return self.comparison.gains()
        return None

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """The effect of other choices. None if it is expensive or if the sample is too small to rank choices."""
        comparison = self.comparison
        is_small = len(comparison.models) < MIN_MODELS or comparison.counts.any < MIN_QUERIES
        return None if is_small or not self._can_vary else comparison.sensitivity()

    @property
    def _can_vary(self) -> bool:
        """Whether there are scores of several models, and few enough to evaluate them by many other metrics."""
        comparison, models = self.comparison, len(self.comparison.models)
        is_expensive = models > MAX_PATH_MODELS or models * comparison.counts.any > MAX_PATH_VALUES
        return comparison.rankings is not None and models > 1 and not is_expensive

    @cached_property
    def rounds(self) -> pd.DataFrame | None:
        """The best round of each candidate under each metric, or None if nothing was trained."""
        comparison = self.comparison
        if comparison.curves is None or comparison.primary is None:
            return None
        best = best_rounds(comparison.curves, comparison.verdict.metrics, comparison.lower_is_better)
        return None if best.empty else best

    @property
    def is_shown(self) -> bool:
        """Whether the verdict, or the decision about the first candidate, shows a difference of the explained pair."""
        if self.against is not None:
            return self.against.decisions[rank_candidates(self.against)[0].candidate] != "undecided"
        return self.comparison.verdict.kind in ("genuine", "agree")


def choose_pair(comparison: Comparison) -> ExplainedPair | None:
    """Return the two models that matter for the choice, or None if there is a single model.

    1. If the two primary metrics have different winners: these two.
    2. Otherwise the common winner, and the nearest of the other models that may be best under both.
    3. If no such rival exists: the common winner and the nearest of all models.

    The nearest model has the smallest worst regret. The model that the first metric prefers comes first.
    """
    if len(comparison.models) < 2:
        return None
    verdict = comparison.verdict
    winner, second = (verdict.winners[metric] for metric in verdict.metrics)
    if winner != second:
        return ExplainedPair(winner, second, "the winners under the two metrics")
    possible = [model for model in verdict.common_best if model != winner]
    rivals = possible or [model for model in verdict.models if model != winner]
    rival = min(rivals, key=lambda model: max(regrets[model] for regrets in verdict.regrets.values()))
    role = "its nearest rival that is still possible" if possible else "the runner-up"
    return ExplainedPair(winner, rival, f"the winner under both metrics and {role}")


def name_training(fold: str) -> str:
    """Return a fold, or the fold and the repeat of an experiment, in words.

    >>> name_training("3"), name_training("fold 3"), name_training("repeat 2")
    ('fold 3', 'fold 3', 'repeat 2')
    """
    return fold if fold.startswith(("fold ", "repeat ")) else f"fold {fold}"


def best_rounds(curves: pd.DataFrame, metrics: Sequence[str], lower_is_better: Container[str] = ()) -> pd.DataFrame:
    """Find the best rounds of curves under two metrics.

    Parameters
    ----------
    curves : DataFrame
        Columns `candidate`, `round`, `metric` and `value`. Optional columns are `fold`, the name of the fold, and
        `compared`, which is True at the rounds of the models in the comparison.
    metrics : tuple of two str
        The names of the metrics.
    lower_is_better : container of str
        The names of metrics with better lower values.

    Returns
    -------
    DataFrame
        One row per candidate and fold. Candidates without values of both metrics are left out. Columns are
        `candidate` (a text), `fold`, and for each metric M:

        - `round M`, the first round with the best value of M,
        - `best M`, this value,
        - `loss M`, the difference between this value and M at the best round of the other metric.

        If the curves have a column `compared`, the result also has `compared`, the list of these rounds, and
        `compared loss M`, the loss of M at the best of these rounds.

    Examples
    --------
    >>> import pandas as pd
    >>> values = {"a": [0.1, 0.3, 0.2], "b": [0.5, 0.4, 0.4]}
    >>> curves = pd.concat(
    ...     pd.DataFrame({"candidate": "c", "round": [1, 2, 3], "metric": metric, "value": value})
    ...     for metric, value in values.items()
    ... )
    >>> best_rounds(curves, ("a", "b"))[["round a", "round b", "loss a", "loss b"]].round(6).values.tolist()
    [[2.0, 1.0, 0.2, 0.1]]
    """
    missing = {"candidate", "round", "metric", "value"} - {str(column) for column in curves.columns}
    if missing:
        raise ValueError(
            "curves must have the columns candidate, round, metric and value. Missing columns: "
            f"{', '.join(sorted(missing))}"
        )
    folds, rows = curves.assign(candidate=curves["candidate"].astype(str), fold=curves.get("fold", "")), []
    signs = {metric: -1.0 if metric in lower_is_better else 1.0 for metric in metrics}
    for (candidate, fold), part in folds.groupby(["candidate", "fold"], sort=False):
        lines = {metric: signs[metric] * select_curve(part, metric) for metric in metrics}
        if any(line.empty for line in lines.values()):
            continue
        row: dict[str, Any] = {"candidate": candidate, "fold": fold}
        if "compared" in part.columns:
            row["compared"] = sorted(set(part.loc[part["compared"], "round"]))
        for metric, other in (metrics, metrics[::-1]):
            line, best = lines[metric], float(lines[metric].max())
            row[f"round {metric}"] = int(line.index[int(line.to_numpy().argmax())])
            row[f"best {metric}"] = signs[metric] * best
            row[f"loss {metric}"] = best - float(line.get(lines[other].idxmax(), float("nan")))
            if "compared" in row:
                row[f"compared loss {metric}"] = float(best - line.reindex(row["compared"]).max())
        rows.append(row)
    columns = [f"{column} {metric}" for column in ("round", "best", "loss") for metric in metrics]
    if "compared" in curves.columns:
        columns += ["compared", *(f"compared loss {metric}" for metric in metrics)]
    return pd.DataFrame(rows, columns=["candidate", "fold", *columns])


def select_curve(curves: pd.DataFrame, metric: str) -> pd.Series[float]:
    """Return the values of one metric by round, in ascending order. Rounds without a value are left out."""
    line = curves[curves["metric"] == metric].set_index("round")["value"].dropna().sort_index()
    if not line.index.is_unique:
        duplicate = line.index[line.index.duplicated()][0]
        raise ValueError(
            f"curves must have each round once, got round {duplicate} of {metric} more than once. "
            "Name the folds in a column fold"
        )
    return line


class Entry(NamedTuple):
    """A query: its id for links and for readers, text, size, labels and titles by rank, and both differences.

    Labels are those of both rankings and of the ideal one, titles those of both rankings.
    """

    name: str
    query: str
    text: str
    size: str
    labels: tuple[tuple[float, ...], ...]
    titles: tuple[list[str], ...]
    differences: list[float]
    leads: list[float]


class QueryList(NamedTuple):
    """A list of queries: its id and its heading."""

    name: str
    title: str
    entries: list[Entry]


class Queries:
    """Both metrics of two models on every query."""

    def __init__(self, comparison: Comparison, pair: ExplainedPair) -> None:
        assert comparison.rankings is not None
        self.comparison, self.pair, self.rankings = comparison, pair, comparison.rankings
        columns = [comparison.models.index(model) for model in pair[:2]]
        values = {
            comparison.definitions[name]: comparison.values[name][:, columns] for name in comparison.verdict.metrics
        }
        self.preferences = compute_preferences(self.rankings, values)
        self.contradictory = int(np.count_nonzero(self.preferences.contradiction_strength))

    @property
    def grades(self) -> dict[float, dict[str, Any]]:
        """The text of each grade, its full text if that is longer, and its strength between 0 and 20."""
        grades, levels = {}, self.rankings.judgments.levels.tolist()
        for place, level in enumerate(levels):
            full = f"{level:g}".replace("-", MINUS)
            text = full if len(full) <= 3 else f"{float(f'{level:.2g}'):g}".replace("-", MINUS)
            strength = round(20 * place / max(len(levels) - 1, 1))
            grades[level] = {"text": text if level else DOT, "full": "" if text == full else full, "strength": strength}
        return grades

    def select(self, most: int) -> list[QueryList]:
        """Return lists of at most `most` queries: contradictory queries, or the largest differences, and a sample."""
        preferences = self.preferences
        has_weight = preferences.weights > 0
        sample = np.random.default_rng(self.comparison.settings.seed).permutation(np.flatnonzero(has_weight))[:most]
        if self.contradictory:
            name, title = "contradictory", f"contradictory ({self.contradictory:,})"
            strength = np.abs(preferences.contradiction_strength)
        else:
            name, title = "largest", "largest differences"
            strength = np.where(has_weight, np.abs(preferences.leads.sum(axis=0)), 0.0)
        strongest = np.argsort(-strength, kind="stable")[: min(most, np.count_nonzero(strength))]
        lists = [(name, title, strongest), ("random", "random sample", sample)]
        return [QueryList(name, title, self._build(places)) for name, title, places in lists if len(places)]

    def _build(self, places: np.ndarray) -> list[Entry]:
        """Return these queries by their places among those of `preferences`."""
        comparison, preferences = self.comparison, self.preferences
        judgments, queries = self.rankings.judgments, preferences.queries[places]
        metrics = [comparison.definitions[name] for name in comparison.verdict.metrics]
        depth = min(MAX_RANKS, max(metric.k or MAX_RANKS for metric in metrics))
        codes, starts = judgments.layout.codes, judgments.layout.starts
        ranked = [find_ranked_places(self.rankings, model, queries, metrics[0], depth) for model in self.pair[:2]]
        titles = None if judgments.titles is None else judgments.by_query(judgments.titles)
        ids, weights = judgments.query_ids[queries].tolist(), preferences.weights[places].tolist()
        has_weights = bool(np.ptp(preferences.weights))
        entries, used = [], set[str]()
        for number, (query, name) in enumerate(zip(queries.tolist(), printables(ids), strict=True)):
            rows = [places[number] for places in ranked]
            ideal = np.sort(codes[starts[query] : starts[query + 1]])[::-1][:depth]
            labels = tuple(tuple(judgments.levels[part].tolist()) for part in (*(codes[part] for part in rows), ideal))
            size = pluralize(int(judgments.sizes[query]), "doc")
            place, link = places[number], re.sub(r"[^\w.:-]", "_", name[:80])
            while link in used:
                link += "_"
            used.add(link)
            entries.append(
                Entry(
                    name=link,
                    query=name[:80],
                    text=printable(str(judgments.texts.get(ids[number], "")))[:MAX_CHARACTERS],
                    size=f"{size}, weight {weights[number]:g}" if has_weights else size,
                    labels=labels,
                    titles=([], []) if titles is None else tuple(_cut(titles[part]) for part in rows),
                    differences=preferences.differences[:, place].tolist(),
                    leads=preferences.leads[:, place].tolist(),
                )
            )
        return entries


def _cut(texts: Iterable[object]) -> list[str]:
    """Return texts on one line each, cut to `MAX_CHARACTERS` characters."""
    return [text[:MAX_CHARACTERS] for text in printables(texts)]
