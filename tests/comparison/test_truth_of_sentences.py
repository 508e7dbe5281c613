"""Sentences of verdicts and decisions against the known truth of generated sets of models.

A sentence is a claim about the population that the queries are sampled from. The claims are read from the fields that
the sentence uses. Over many samples, no claim may be wrong more often than its error probability allows.
"""

import html
import json
import re
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import gainwise as gw
from gainwise._common.text import as_text, round_bound
from gainwise.comparison.baseline import describe_replacement
from gainwise.comparison.verdict import format_advice, format_headline
from gainwise.report.text import headline_lines

pytestmark = pytest.mark.slow

X, Y = "ndcg_linear@10", "ndcg_exp@10"
SAMPLES = 40

POPULATIONS = {
    # True means by metric, the share of queries on which models differ, and the size of a sample.
    "bad third model": ([(0.50, 0.49, 0.30), (0.49, 0.50, 0.30)], 1.0, 300),
    "near-ties": ([(0.500, 0.501, 0.502, 0.500), (0.502, 0.501, 0.500, 0.500)], 1.0, 300),
    "exact ties": ([(0.5, 0.5, 0.5), (0.5, 0.5, 0.5)], 1.0, 300),
    "tie under one metric": ([(0.53, 0.5, 0.45), (0.5, 0.5, 0.45)], 1.0, 300),
    "disagreement": ([(0.55, 0.50, 0.53), (0.50, 0.55, 0.53)], 1.0, 300),
    "one clear winner": ([(0.55, 0.50), (0.56, 0.50)], 1.0, 300),
    "rare losses": ([(0.500, 0.497, 0.5), (0.5, 0.497, 0.5)], 0.02, 600),
}
EASIER = ("exact ties", "tie under one metric", "one clear winner")
NAMES = [pytest.param(name, marks=pytest.mark.nightly if name in EASIER else ()) for name in POPULATIONS]


def sample_of(name, seed):
    """Return values of models with the true means of a population. Correlated and skewed, between 0 and 1."""
    means, share, queries = POPULATIONS[name]
    rng = np.random.default_rng([seed, len(name)])
    models, level, tables = len(means[0]), rng.beta(4, 4, (queries, 1)) * 0.2 - 0.1, []
    for row in means:
        differs = rng.random((queries, models)) < share
        noise = 0.3 * (rng.beta(2, 4, (queries, models)) - 1 / 3)
        lead = (np.asarray(row) - 0.5) / share
        tables.append(0.5 + level + np.where(differs, noise + lead, 0.0))
    return dict(zip((X, Y), tables, strict=True)), np.asarray(means)


def comparison_of(name, seed, **options):
    values, means = sample_of(name, seed)
    names = list("ABCD")[: means.shape[1]]
    options = {"draws": 400, "seed": seed, "ranges": {X: (-1.0, 2.0), Y: (-1.0, 2.0)}} | options
    regret = dict(zip(names, (means.max(axis=1, keepdims=True) - means).max(axis=0), strict=True))
    return gw.Comparison(values, names, **options), dict(zip((X, Y), means, strict=True)), regret


def claims_of(verdict, means, regret, names):
    """Yield the name of every claim of the first two sentences, and whether it is true."""
    is_best = {
        metric: {model for model, mean in zip(verdict.models, row, strict=True) if mean == row.max()}
        for metric, row in means.items()
    }
    slack = 1e-12
    if verdict.kind == "agree":
        (best,) = set(verdict.winners.values())
        place = verdict.models.index(best)
        lead = min(row[place] - np.delete(row, place).max() for row in means.values())
        stated = min(low[model] for low in verdict.regrets_lower.values() for model in verdict.models if model != best)
        yield "lead", stated > 0 and lead >= stated - slack
    elif np.isfinite(verdict.safe_regret_upper):
        yield "at worst", regret[verdict.safe_choice] <= verdict.safe_regret_upper + slack
    if verdict.kind == "genuine":
        sets = [verdict.best_sets[metric] for metric in verdict.metrics]
        headline = as_text(format_headline(verdict, names))
        assert headline.startswith("It depends") == all(len(models) == 1 for models in sets)
        if all(len(models) == 1 for models in sets):
            yield "winners", all(is_best[metric] == set(verdict.best_sets[metric]) for metric in verdict.metrics)
        yield "price", min(regret.values()) >= verdict.price_lower - slack
    elif verdict.kind == "unresolved":
        # Each model is covered at the level, so with ties the claim is about one of the best models.
        both = sorted(set.intersection(*is_best.values()))
        yield "may be best", not both or both[0] in verdict.common_best
    elif verdict.kind == "immaterial":
        yield "margin", max(regret[model] for model in verdict.winners.values()) <= verdict.margin + slack


def most_errors(samples, level=0.05):
    """Return the largest number of wrong claims that a rate of `level` explains with probability 99.9 %."""
    return int(stats.binom.ppf(0.999, samples, level))


@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("name", NAMES)
def test_claims_of_verdicts_are_true(name, margin):
    made, wrong = Counter(), Counter()
    for seed in range(SAMPLES):
        comparison, means, regret = comparison_of(name, seed, margin=margin)
        verdict = comparison.verdict
        for claim, is_true in claims_of(verdict, means, regret, {model: model for model in verdict.models}):
            made[claim] += 1
            wrong[claim] += not is_true
    assert made
    assert {claim: number for claim, number in wrong.items() if number > most_errors(SAMPLES)} == {}


@pytest.mark.parametrize("name", NAMES)
def test_claims_of_bounds_by_betting_are_true(name):
    """These bounds are valid at any number of queries."""
    wrong = made = 0
    for seed in range(SAMPLES // 3):
        comparison, means, regret = comparison_of(name, seed, bounds="betting", margin=0.02)
        claims = dict(claims_of(comparison.verdict, means, regret, {model: model for model in comparison.models}))
        made, wrong = made + len(claims), wrong + (not all(claims.values()))
    assert made
    assert wrong <= most_errors(SAMPLES // 3)


@pytest.mark.parametrize("name", ["bad third model", "disagreement", "one clear winner", "near-ties"])
def test_claims_about_segments_are_true(name):
    """In the second segment, the models have the opposite order. All claims share one error probability."""
    wrong = contrasts = 0
    for seed in range(SAMPLES // 3):
        (first, means), (second, _) = sample_of(name, seed), sample_of(name, seed + 1000)
        kinds = ["head"] * len(first[X]) + ["tail"] * len(first[X])
        values = {metric: np.concatenate([first[metric], second[metric][:, ::-1]]) for metric in first}
        models = list("ABCD")[: means.shape[1]]
        ranges = {X: (-1.0, 2.0), Y: (-1.0, 2.0)}
        segments = gw.Comparison(values, models, segments=kinds, draws=400, seed=seed, ranges=ranges).segments
        truth = {"head": means, "tail": means[:, ::-1]}
        errors = 0
        for part in segments.parts:
            rows = truth[part.label]
            gaps = (rows.max(axis=1, keepdims=True) - rows).max(axis=0)
            by_metric, regret = dict(zip((X, Y), rows, strict=True)), dict(zip(models, gaps, strict=True))
            claims = claims_of(part.verdict, by_metric, regret, {model: model for model in models})
            errors += sum(not is_true for _, is_true in claims)
        for contrast in segments.contrasts:
            contrasts += 1
            place, rows = models.index(contrast.model), [(X, Y).index(metric) for metric in contrast.metrics]
            best = truth[contrast.best_in][rows]
            errors += not (best[:, [place]] >= best).all()
            errors += any(
                (truth[label][rows].max(axis=1) <= truth[label][rows, place]).any() for label in contrast.trails_in
            )
        wrong += errors > 0
    assert wrong <= most_errors(SAMPLES // 3)
    assert contrasts or name == "near-ties"


@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize("name", NAMES)
def test_claims_of_decisions_are_true(name, margin):
    """The baseline is the first model. No statement about any candidate is wrong with more than the total error."""
    wrong = 0
    for seed in range(SAMPLES):
        comparison, means, _ = comparison_of(name, seed)
        result = comparison.against("A", margin=margin)
        errors = 0
        for candidate in result.candidates:
            place = comparison.models.index(candidate.candidate)
            change = {metric: row[place] - row[0] for metric, row in means.items()}
            if candidate.decision == "do not ship":
                errors += any(change[metric] > candidate.at_most[metric] for metric in candidate.excessive_losses)
            else:
                errors += any(change[metric] < bound - 1e-12 for metric, bound in candidate.at_least.items())
        wrong += errors > 0
    assert wrong <= most_errors(SAMPLES)


@pytest.mark.parametrize("selected", "AB")
def test_a_selected_model_is_ruled_out_only_if_it_is_worse(selected):
    ruled_out = wrong = 0
    for seed in range(SAMPLES // 2):
        comparison, _, regret = comparison_of("bad third model", seed, selected=selected)
        headline = as_text(comparison.content.standing.headline)
        if found := re.search(r"rules out .* at least (\S+) behind", headline):
            ruled_out += 1
            wrong += regret[selected] < float(found[1])
    assert wrong <= most_errors(SAMPLES // 2)
    comparison, _, regret = comparison_of("bad third model", 0, selected="C")
    stated = re.search(r"rules out C.* at least (\S+) behind", as_text(comparison.content.standing.headline))[1]
    assert 0.1 < float(stated) <= regret["C"]
    assert "confirm the choice on a new one" in as_text(comparison.content.standing.advice)
    margin = max(upper["C"] for upper in comparison.verdict.regrets_upper.values())
    for tolerated, start in ((margin, "★ Choose C, selected"), (0.99 * margin, "The test set rules out C")):
        comparison, _, _ = comparison_of("bad third model", 0, selected="C", margin=tolerated)
        assert as_text(comparison.content.standing.headline).startswith(start)


@pytest.mark.parametrize("name", ["bad third model", "one clear winner"])
@pytest.mark.parametrize("metrics", [(X, Y), (X,)])
def test_a_search_on_these_queries_recommends_nothing(name, metrics, tmp_path):
    values, _ = sample_of(name, 0)
    models = list("ABC")[: values[X].shape[1]]
    comparison = gw.Comparison({metric: values[metric] for metric in metrics}, models, searched=30, draws=400)
    chart = comparison.content.chart
    headline = as_text(chart.headline)
    assert headline.startswith("Leading on the validation set: ")
    assert "selected here from 30 candidates" in headline
    assert f"{30 - len(models)} of its candidates" in as_text(chart.advice)
    assert not any(row.starred for row in chart.rows)
    for metric in metrics:
        assert re.search(rf"\b{comparison.winners[metric]}\b", headline)
    if len(metrics) == 2:
        kinds = np.arange(len(values[X])) % 2
        parts = gw.Comparison({**values}, models, searched=30, draws=400, segments=kinds)
        page = parts.to_html(tmp_path / "r.html").read_text("utf-8")
        assert not re.search(r"Safest of|Choose |★<", page)
    # All candidates of a search are compared, so the simultaneous bounds cover it.
    whole = gw.Comparison({metric: values[metric] for metric in metrics}, models, searched=len(models), draws=400)
    assert "Leading" not in as_text(whole.content.chart.headline)


def test_one_metric_with_bounds_by_betting():
    """The pair of metrics X and X has the same bounds at the level of one, because both share it."""
    values, _ = sample_of("bad third model", 0)
    options = {"draws": 400, "bounds": "betting", "ranges": {X: (-1.0, 2.0)}}
    single = gw.Comparison({X: values[X]}, list("ABC"), **options)
    rows = {row.model: row for row in single.content.chart.rows}
    options["ranges"] |= {Y: (-1.0, 2.0)}
    both = gw.Comparison({X: values[X], Y: values[X]}, list("ABC"), alpha=0.1, **options)
    for model, upper in both.verdict.regrets_upper[X].items():
        assert rows[model].worst == pytest.approx(upper)


def repeats_of(table, number):
    noise = np.random.default_rng(number).normal(0, 0.01, (number, *table.shape))
    return [(table + noise)[:, :, place].T for place in range(table.shape[1])]


SPECIAL = {
    "identical": lambda table: table[:, :1].repeat(table.shape[1], axis=1),
    "few queries": lambda table: table[:12],
    "one model": lambda table: table[:, :1],
    "two models": lambda table: table[:, :2],
    "few repeats": lambda table: repeats_of(table, 3),
    "recipes": lambda table: repeats_of(table, 6),
}


def special_comparison(name):
    if name == "0/1 labels":
        rng = np.random.default_rng(5)
        labels = rng.integers(0, 2, 4000)
        judgments = gw.Judgments(labels, group=[10] * 400)
        return gw.compare({name: labels + rng.normal(size=4000) for name in "ABC"}, judgments, draws=400)
    values, _ = sample_of("near-ties", 3)
    tables = {metric: SPECIAL[name](table) for metric, table in values.items()}
    number = len(tables[X]) if isinstance(tables[X], list) else tables[X].shape[1]
    return gw.Comparison(tables, list("ABCD")[:number], draws=400)


CASES = [
    pytest.param(name, margin, marks=pytest.mark.nightly if name in EASIER else ())
    for name in POPULATIONS
    for margin in (0.0, 0.02)
]


@pytest.mark.parametrize(("name", "margin"), [*CASES, *((name, None) for name in (*SPECIAL, "0/1 labels"))])
def test_sentences_of_a_page_agree(name, margin, tmp_path):
    comparison = special_comparison(name) if margin is None else comparison_of(name, 1, margin=margin)[0]
    verdict, chart = comparison.verdict, comparison.content.standing
    names = {model: model for model in verdict.models}
    headline, advice = (as_text(part(verdict, names)) for part in (format_headline, format_advice))
    text = f"{headline} {advice}"
    assert not re.search(r"chance|proven|does not matter|negligible|Ship", text)
    # The number of the headline is that of the chart, in the same rounding.
    starred = [row for row in chart.rows if row.starred]
    stated = re.search(r"(?:at worst|may be up to) (\S+)", headline)
    if stated:
        (row,) = starred
        assert row.outcome == f"−{stated[1]}"
        assert stated[1] == round_bound(verdict.safe_regret_upper, up=True)
    # A star has an explanation: the headline names its model.
    assert all(re.search(rf"\b{row.model}\b", headline) for row in starred)
    # A choice is stated only for a reason, and never together with "No choice yet".
    if "Choose" in headline:
        assert verdict.safe_regret_upper <= verdict.margin
        assert "No choice" not in text
    if "Safest of" in headline:
        assert verdict.margin == 0
        assert len(verdict.common_best) < len(verdict.models)
    if "No choice yet" in headline and not verdict.shortage:
        assert verdict.margin < verdict.safe_regret_upper
        assert len(verdict.common_best) == len(verdict.models) or verdict.margin or not stated
    assert ("by linear" in headline) <= (not verdict.metrics_coincide)
    assert ("same values" in advice) == (verdict.metrics_coincide and len(verdict.models) > 1)
    # Every format starts with this sentence, and no page states more than it.
    page = re.sub(
        r"<(style|script).*?</\1>", "", comparison.to_html(tmp_path / "r.html").read_text("utf-8"), flags=re.S
    )
    texts = {
        "print": str(comparison),
        "terminal": "\n".join(line.plain for line in headline_lines(comparison.content)),
        "notebook": html.unescape(re.sub("<[^>]+>", "", comparison._repr_html_())),
        "html": html.unescape(re.sub("<[^>]+>", "", page)),
        "markdown": html.unescape(comparison.to_markdown(full=True).replace("\\", "")),
        "json": json.loads(comparison.to_json())["verdict"]["text"],
    }
    for name, written in texts.items():
        assert headline.removeprefix("★ ") in written, name
        assert not re.search(r"\bproven\b|by chance|does not matter|negligible|\bShip\b", written), name
        assert ("No choice yet" in written) == ("No choice yet" in headline), name
        assert ("Choose" in written) <= ("Choose" in headline), name


@pytest.mark.parametrize("bounds", ["asymptotic", "betting"])
@pytest.mark.parametrize("name", NAMES)
def test_comparison_and_gate_do_not_contradict_each_other(name, bounds):
    """A model that is better than all others is not rejected against any of them, and the other way around."""
    for seed in range(3):
        comparison, *_ = comparison_of(name, seed, margin=0.02, bounds=bounds)
        verdict = comparison.verdict
        for baseline in comparison.models:
            result = comparison.against(baseline, margin=0.02)
            decisions = result.decisions
            if verdict.named_choice in decisions and verdict.safe_regret_upper <= verdict.margin:
                assert decisions[verdict.named_choice] != "do not ship"
            if verdict.kind == "agree" and verdict.winners[X] == baseline:
                assert "ship" not in comparison.against(baseline, margin=0.0).decisions.values()
            for model, decision in decisions.items():
                behind = max(verdict.regrets_lower[metric][model] for metric in (X, Y))
                assert not (decision == "ship" and len(decisions) == 1 and behind > verdict.margin)
            _, answer, _ = describe_replacement(result, {model: model for model in comparison.models})
            assert ("Ship" in as_text(answer)) == ("ship" in decisions.values())
