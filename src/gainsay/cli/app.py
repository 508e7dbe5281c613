"""The command `gainsay`."""

from __future__ import annotations

import codecs
import io
import json
import sys
import tempfile
import unicodedata
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

try:
    import typer
    from rich.console import Console
except ImportError:  # pragma: no cover - needs an environment without typer
    sys.exit("the command line needs typer and rich: pip install 'gainsay[cli]'")

from .._common.outputs import check_output
from .._common.shown import plain, printable
from .._common.version import __version__
from .._common.words import count
from .apart import check_apart
from .modules import import_modules
from .options import (
    AsJson,
    Clusters,
    Imports,
    Level,
    Metrics,
    Opened,
    Recipes,
    Seed,
    Segments,
    Sources,
    Unjudged,
    Vary,
    examples,
    takes_sources,
)
from .wording import in_shell_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from ..harness import Comparison

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Both NDCG definitions, MAP, MRR and their kin, and where they disagree about which model is best.",
)

ExistingFile = typer.Argument(exists=True, dir_okay=False)


SPELT = {"\u2212": "-", "\u2013": "-", "\u2014": "-", "\u2026": "...", "\u2019": "'", "\u2605": "*", "\u00b1": "+-"}
"""Characters in ASCII; letters lose their marks, and any other becomes a question mark."""


def main() -> None:
    """Run the command line; what the terminal cannot write is spelt in ASCII."""
    codecs.register_error("gainsay.spelt", _spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="gainsay.spelt")
    app()


def _spelt(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(letter: str) -> str:
    return SPELT.get(letter) or unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() or "?"


def json_text(content: Any, indent: int) -> str:
    """Return JSON in which every name is whole, also where the terminal writes nothing but ASCII."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(plain(content), indent=indent, ensure_ascii=ascii_only, allow_nan=False)


@contextmanager
def _errors(modules: list[str] | None = None, words: Callable[[str], str] = in_shell_words) -> Iterator[None]:
    """Print what is wrong with the input as one message, and end with exit code 1; import modules of the user's."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default", UserWarning)
            import_modules(modules or [])
            yield
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, KeyboardInterrupt) as error:
        stopped = isinstance(error, KeyboardInterrupt)
        typer.echo(f"gainsay: {'interrupted' if stopped else words(str(error))}", err=True)
        for note in getattr(error, "__notes__", ()):  # how to go on from what was finished
            typer.echo(note, err=True)
        raise typer.Exit(130 if stopped else 1) from None


def _show_warning(message: Warning | str, category: Any, filename: str, lineno: int, *more: Any, **other: Any) -> None:
    """Print a warning as one line, without the place in the code that it came from."""
    typer.echo(f"gainsay: warning: {message}", err=True)


def _console() -> Console:
    """Return a terminal; a pipe gets plain text that is not cut to a terminal's width."""
    return Console(width=None if sys.stdout.isatty() else 200, highlight=False, emoji=False)


def _say(console: Console, text: str, **style: Any) -> None:
    """Print text as it is, on one line where it goes to a file."""
    console.print(text, markup=False, soft_wrap=not sys.stdout.isatty(), **style)


def _print_json(content: Any) -> None:
    typer.echo(json_text(content, 2))


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    config: Annotated[
        bool, typer.Option("--show-config", help="Print versions, CPUs, and whether the compiled core runs.")
    ] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if config:
        from .._kernel.config import show_config

        with _errors():
            show_config()
        raise typer.Exit


@app.command(
    epilog=examples(
        "score run.txt qrels.txt -m ndcg_linear@10 -m mrr",
        "score run.txt qrels.txt -m ndcg@10 --convention trec_eval -q",
    )
)
def score(
    run: Annotated[Path, ExistingFile],
    qrels: Annotated[Path, ExistingFile],
    metric: Metrics = None,
    convention: Annotated[str | None, typer.Option(help="Read metrics as this library does, e.g. trec_eval.")] = None,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Print each query too.")] = False,
    complete: Annotated[bool, typer.Option("--complete", "-c", help="Count queries missing from the run too.")] = False,
    unjudged: Unjudged = "irrelevant",
    modules: Imports = None,
    as_json: AsJson = False,
) -> None:
    """Score a run against qrels, like trec_eval: files of TREC's formats, or CSV with a header."""
    with _errors(modules):
        from ..evaluation.trec_runs import evaluate_run
        from ..harness import DEFAULT_METRICS
        from ..report.text import frame_table, values_table

        result = evaluate_run(
            metric or DEFAULT_METRICS,
            run,
            qrels,
            convention=convention,
            missing="zero" if complete else "skip",
            unjudged=unjudged,  # type: ignore[arg-type]  # checked there
        )
        assert result.coverage is not None
        if as_json:
            content: dict[str, Any] = {"queries": result.judgments.queries, "mean": result.mean}
            content["coverage"] = result.coverage.to_dict()
            if per_query:
                content["per_query"] = result.frame().to_dict("index")
            _print_json(content)
            return
        console = _console()
        if per_query:
            console.print(frame_table("By query", result.frame()))
        console.print(values_table(f"Mean over {count(result.judgments.queries, 'query')}", result.mean))
        for note in result.coverage.sentences:
            console.print(printable(note), markup=False, soft_wrap=True)


@app.command(epilog=examples("explain --labels 5,0,0,0,0,3,3,3,3,3", "explain scores.csv --query qid -k 5"))
def explain(
    file: Annotated[
        Path | None, typer.Argument(help="CSV, TSV or Parquet with labels and scores.", show_default=False)
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Instead of a file: the labels of one ranking, best rank first, e.g. 3,2,0,1.")
    ] = None,
    label: Annotated[str, typer.Option(help="Column of labels.")] = "label",
    score: Annotated[str, typer.Option(help="Column of scores.")] = "score",
    query: Annotated[str | None, typer.Option(help="Column of queries; without it all rows are one query.")] = None,
    k: Annotated[int, typer.Option("--cutoff", "-k", help="Cutoff.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show every number that libraries print for one ranking, and which of them print it: first as NDCG@10."""
    with _errors():
        from dataclasses import asdict

        from ..evaluation.explain import distinct_numbers, explain_judgments, judgments_of
        from ..report.explained import explanation
        from .inputs import column, read_table

        if (file is None) == (labels is None):
            raise ValueError("give either a file or --labels")
        if file is None:
            values = [_label(part) for part in str(labels).split(",")]
            judgments = judgments_of(values)
            scores: Any = range(len(values), 0, -1)
        else:
            table = read_table(file, text=query)
            qid = None if query is None else column(table, query, file).to_numpy()
            judgments = judgments_of(column(table, label, file).to_numpy(), qid=qid)
            scores = column(table, score, file).to_numpy()
        numbers, conventions = distinct_numbers(judgments, scores, k), explain_judgments(judgments, scores, k)
        if as_json:
            content = {"k": k, "queries": judgments.queries, "numbers": [asdict(number) for number in numbers]}
            _print_json({**content, "conventions": conventions.to_dict("index")})
        else:
            _console().print(explanation(numbers, conventions, judgments.queries))


def _label(text: str) -> float:
    from ..data.text import to_number

    try:
        return to_number(text.encode())
    except ValueError:
        raise ValueError(f"--labels holds {text!r}: give numbers with commas between them, such as 3,2,0,1") from None


@app.command(
    epilog=examples(
        "compare --data valid.txt lgb=model.txt other=scores.npy",
        "compare --data valid.txt a.txt b.txt --html report.html --open",
        "compare --qrels qrels.txt run_a.txt run_b.txt -m ndcg_exp@10",
        "compare --table scores.csv --segments device",
        "compare --data valid.txt --run a=a1.txt,a2.txt,a3.txt b.txt",
    )
)
@takes_sources()
def compare(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="NAME=FILE or FILE: one score per row (CSV, TSV, Parquet, NumPy; FILE:COLUMN where there are several "
            "columns), a LightGBM or XGBoost model, or, with --qrels, a run (TREC's format, or CSV of query, document, "
            "score).",
            show_default=False,
        ),
    ] = None,
    *,
    sources: Sources,
    metric: Metrics = None,
    alpha: Level = 0.05,
    margin: Annotated[float, typer.Option(help="A difference up to this does not matter to you.")] = 0.0,
    seed: Seed = 0,
    unjudged: Unjudged = "irrelevant",
    segments: Segments = None,
    run: Recipes = None,
    vary: Vary = None,
    clusters: Clusters = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model that is deployed: say first whether to replace it, and by which; --margin is tolerated.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.")] = None,
    opened: Opened = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the report to this Markdown file.")] = None,
    per_query: Annotated[
        Path | None,
        typer.Option(
            help="Write the value of every query, model and metric to this .csv, .csv.gz, .parquet or .json file."
        ),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the verdict word for word too.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Print all models, and their means by all metrics.")] = False,
    modules: Imports = None,
    as_json: AsJson = False,
) -> None:
    """Compare models on the same judgments: who is best under which metric, and is a disagreement real."""
    with _errors(modules):
        from ..report.text import decisions_table
        from .inputs import read_comparison
        from .tables import check_table, write_table

        if opened and html is None:
            raise ValueError("--open opens the report: say by --html where it is to be")
        _check_outputs(html, markdown)
        if per_query is not None:
            check_table("--per-query", per_query)
        written = {"--html": html, "--markdown": markdown, "--per-query": per_query}
        if html is not None:
            written |= {f"--html ({what})": html.with_name(f"{html.stem}.{what}") for what in ("json", "queries.csv")}
        check_apart(written, [*sources, *(models or []), *(segments or []), *(run or []), clusters])
        options: Any = {"alpha": alpha, "margin": margin, "seed": seed, "unjudged": unjudged, "vary": vary}
        options |= {"segments": segments or (), "run": run or (), "clusters": clusters, "baseline": baseline}
        comparison = read_comparison(models or [], sources, metric, **options)
        if as_json:
            _print_json(comparison.to_dict())
        else:
            steps = [] if html is not None else [("why, and which queries", "add --html report.html")]
            steps += [] if text else [("the verdict in full", "add --text")]
            steps += [] if every else [("all models, all metrics", "add --all")]
            decided = [] if comparison.content.against is None else [decisions_table(comparison.content)]
            _show(_console(), comparison, *decided, text=text, every=every, steps=steps)
            if comparison.segment_labels:
                _say(_console(), printable(comparison.segments.text))
        if html is not None:
            _say_written(comparison.to_html(html), opened)
        if markdown is not None:
            comparison.to_markdown(markdown)
            typer.echo(f"Report: {markdown}", err=True)
        if per_query is not None:
            write_table(per_query, comparison.frame())
            typer.echo(f"Values by query: {per_query}", err=True)


def _show(
    console: Console, comparison: Any, *further: Any, text: bool = False, every: bool = False, steps: Any = ()
) -> None:
    """Print the answer and how every model stands, further tables, reservations, and what to ask next."""
    from ..report.text import chart_lines, headline_lines, next_lines, notes_lines, whole_leaderboard

    content, wrapped = comparison.content, not sys.stdout.isatty()
    for line in headline_lines(content):
        console.print(line, soft_wrap=wrapped)
    console.print()
    for line in chart_lines(content, console.width, unicode=not console.options.ascii_only, every=every):
        console.print(line, no_wrap=True, crop=False, overflow="ignore")
    console.print()
    for table in (*further, *([whole_leaderboard(content)] if every else [])):
        console.print(table)
    notes = [] if text else notes_lines(content)
    for line in notes:
        console.print(line, soft_wrap=wrapped)
    if text and comparison.primary is not None:
        _say(console, printable(comparison.verdict.text))
    if notes or text:
        console.print()
    for line in next_lines(content, *steps):
        console.print(line, soft_wrap=wrapped)


@app.command(epilog=examples("run experiment.toml", "run experiment.toml --runs 5 --open"))
def run(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The experiment, a TOML file.")],
    directory: Annotated[
        Path | None, typer.Option(help="Where to keep everything, instead of what the file says.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Trainings at a time; by default as many as the CPUs have threads for.",
            show_default=False,
        ),
    ] = None,
    stop_by: Annotated[
        str | None,
        typer.Option(
            help="At which round candidates are compared, instead of what the file says: balanced, each, or a metric. "
            "To change it later needs no training.",
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(
            help="Train each candidate so often, and judge recipes instead of single models; finalists=5 repeats only "
            "those that do best on valid. More can be added later.",
            show_default=False,
        ),
    ] = None,
    vary: Annotated[
        str | None,
        typer.Option(help="What differs between runs: seed, or queries (resampled too).", show_default=False),
    ] = None,
    clusters: Annotated[
        Path | None,
        typer.Option(help="CSV of query ids and clusters: queries of one are not independent.", show_default=False),
    ] = None,
    segments: Annotated[
        Path | None,
        typer.Option(help="CSV of query ids and kinds of queries, each judged by itself.", show_default=False),
    ] = None,
    opened: Opened = False,
    modules: Imports = None,
    as_json: AsJson = False,
) -> None:
    """Train the candidates of an experiment and compare them; what an interrupted run has finished is kept."""
    with _errors(modules, words=str):  # the file has the arguments by their names
        from ..experiment import Experiment
        from ..experiment.labels import cluster_file, segment_file
        from ..experiment.runs import Runs

        experiment = Experiment.from_toml(
            file,
            directory,
            stop_by=stop_by,
            runs=None if runs is None else Runs.from_text(runs),
            vary=vary,
            clusters=None if clusters is None else cluster_file(clusters),
            segments=None if segments is None else segment_file(segments),
        )
        page = None if as_json else _planned_report(experiment.directory or Path())
        result = experiment.run(progress=not as_json, jobs=jobs)
        if as_json:
            _print_json(_outcome(result))
        else:
            _show_experiment(_console(), result)
            if page is not None:
                _say_written(result.comparison.to_html(page), opened)


@app.command(epilog=examples("report runs/grid --open"))
def report(
    directory: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="The directory of an experiment.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to; report.html there if not said.")
    ] = None,
    opened: Opened = False,
    modules: Imports = None,
) -> None:
    """Write the HTML report of an experiment that was run."""
    with _errors(modules):
        target = output or directory / "report.html"
        _check_outputs(target)
        _say_written(_compared_in(directory).to_html(target), opened)


@app.command(epilog=examples("demo", "demo --train a.txt --valid b.txt --test c.txt --open"))
def demo(
    seed: Annotated[int, typer.Option(help="Seed of the data, the trainings and the draws.")] = 7,
    queries: Annotated[int, typer.Option(min=10, help="Queries to simulate.")] = 400,
    rounds: Annotated[int, typer.Option(min=1, help="Boosting rounds of each candidate.")] = 200,
    train: Annotated[
        list[Path] | None,
        typer.Option(exists=True, help="Instead of simulating: LETOR files, or LightGBM's with .query, to train on."),
    ] = None,
    valid: Annotated[Path | None, typer.Option(exists=True, help="With --train: data to choose rounds on.")] = None,
    test: Annotated[Path | None, typer.Option(exists=True, help="With --train: data to compare on.")] = None,
    features: Annotated[
        int | None, typer.Option(help="With --train: number of features, where rows leave out zeros.")
    ] = None,
    directory: Annotated[Path | None, typer.Option(help="Keep everything here; an interrupted run goes on.")] = None,
    opened: Opened = False,
    as_json: AsJson = False,
) -> None:
    """Show where the definitions disagree, then train eight candidates and show which one each would pick.

    First three simulated rankers about which linear and exponential NDCG disagree; then eight candidates of both
    libraries, trained on simulated data or on your own, with their curves while they train; then a report of both.
    """
    with _errors():
        from . import demo as job

        console = _console()
        page = None if as_json else _planned_report(directory or Path(tempfile.mkdtemp(prefix="gainsay-")))
        first = None if train else job.compared_rankers(seed)
        if first is not None and not as_json:
            _say(console, f"1. {job.introduction(seed)}\n")
            _show(console, first)
            _say(console, f"{job.why(first) or ''}\n")

        if train:
            parts, about = _own_data(train, valid, test, features)
        else:
            parts = job.simulated(queries, seed)
            about = f"simulated, {queries} queries, seed {seed}"
        if not as_json:
            names = ("train", "valid", "test")
            sizes = (
                f"{name} {len(part.query_ids)} ({len(part.labels)})" for name, part in zip(names, parts, strict=True)
            )
            number = "" if first is None else "2. Eight candidates, trained now. "
            _say(console, f"{number}Data: {about}; queries (documents): {', '.join(sizes)}")
        result = job.run(*parts, seed=seed, rounds=rounds, directory=directory, progress=not as_json)
        if as_json:
            _print_json({"data": about, **_outcome(result), "rankers": None if first is None else first.to_dict()})
            return
        _say(console, "")
        _show_experiment(console, result)
        if page is not None:
            from ..report.html import write_html

            content = job.reported(result.comparison, first, about, seed)
            _say_written(write_html(content, page), opened)
        if first is not None:
            _say(console, f"\n{job.NOW_YOURS}")


def _own_data(train: list[Path], valid: Path | None, test: Path | None, features: int | None) -> tuple[Any, str]:
    """Read data to train on, to choose rounds on and to compare on."""
    from ..data import RankingData
    from .inputs import read_data

    if valid is None:
        raise ValueError("with --train, give the data to choose rounds on as --valid")
    parts = [read_data(path, features) for path in train]
    held_out = read_data(valid, features or parts[0].features.shape[1])
    about = f"{', '.join(path.name for path in train)} against {valid.name}"
    if test is None:
        about += "; no --test, so compared on the data that chose the rounds, which flatters every candidate a little"
    compared = held_out if test is None else read_data(test, features or parts[0].features.shape[1])
    return (RankingData.concatenate(parts), held_out, compared), about


def _compared_in(directory: Path) -> Comparison:
    """Return the comparison of an experiment that was run; what of it is missing is said."""
    from ..experiment import Experiment

    result = Experiment.load(directory)
    for line in result.missing:
        typer.echo(line, err=True)
    return result.comparison


def _say_written(written: Path, opened: bool) -> None:
    """Say where a report is, and open it where that is wanted."""
    typer.echo(f"Report: {written}", err=True)
    if opened and typer.launch(written.resolve().as_uri()):
        typer.echo("gainsay: warning: there is no browser to open it with", err=True)


def _check_outputs(html: Path | None, markdown: Path | None = None) -> None:
    """Raise where a report that is asked for cannot be made or written: before the work, not after it."""
    if html is not None:
        _need_report()
        _check_report(html)
    if markdown is not None:
        check_output("the Markdown report", markdown)


def _planned_report(directory: Path) -> Path | None:
    """Return where an experiment's report will go, or raise; without the packages that draw it, say what is missing."""
    page = directory / "report.html"
    try:
        _need_report()
    except ImportError as error:
        typer.echo(f"no HTML report: {error}", err=True)
        return None
    if directory.exists():
        _check_report(page)
    return page


def _check_report(page: Path) -> None:
    """Raise where a report, or its data beside it, cannot be written."""
    from ..report.html import data_beside

    check_output("the HTML report", page)
    data_beside(page)


def _need_report() -> None:
    """Raise `ImportError` that names the extra where what draws reports is not installed."""
    from ..report import html  # noqa: F401


def _outcome(result: Any) -> dict[str, Any]:
    """Return the outcome of an experiment as JSON knows it."""
    return {
        **result.comparison.to_dict(),
        "stop_by": result.plan.stop_by,
        "compared": result.compared.to_dict("index"),
        "best_rounds": _nested(result.best_rounds),
        "chosen": result.chosen.to_dict("index"),
        "choice_loss": result.choice_loss.to_dict("records"),
        "stopping_loss": result.stopping_loss.to_dict("records"),
        "runs": result.run_values.reset_index().to_dict("records"),
        "shift": result.shift.to_dict("records"),
        "finalists": result.finalists.to_dict("index"),
        "failures": result.failures,
    }


def _nested(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a DataFrame as rows by index; with several levels (candidate and fold) nested."""
    if frame.index.nlevels == 1:
        return {str(name): row for name, row in frame.to_dict("index").items()}
    outer = frame.index.get_level_values(0).unique()
    return {str(name): _nested(frame.loc[name]) for name in outer}


def _show_experiment(console: Console, result: Any) -> None:
    from ..experiment.wording import rounds_text
    from ..report.text import frame_table

    rounds = frame_table("Best round of each candidate under each metric, chosen on valid", result.best_rounds)
    stopped = result.compared[["stop_by", "rounds"]]
    stopped = stopped.assign(rounds=stopped["rounds"].map(rounds_text))
    _show(console, result.comparison, frame_table("Round at which each model is compared", stopped), rounds)
    if result.comparison.segment_labels:
        _say(console, printable(result.comparison.segments.text))
    for line in result.missing:
        console.print(line, markup=False, soft_wrap=True)
