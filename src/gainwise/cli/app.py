"""The program `gainwise`: how commands are registered, how it starts, and how errors end it."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import sys
import textwrap
import unicodedata
import warnings
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .._common import __version__
from .._common.text import printable
from .inputs import Imports, InputOptions, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ASCII = {"\u2212": "-", "\u2013": "-", "\u2014": "-", "\u2026": "...", "\u2019": "'", "\u2605": "*", "\u00b1": "+-"}
ASCII |= {"\u0394": "d", "\u2192": "->", "\u00b7": ","}
"""Replacements on terminals that support only ASCII. Letters lose their accents, others become a question mark."""

GROUPS = {
    "Judgments": ("data", "qrels", "table", "labels", "group", "label", "query", "column", "features"),
    "Models": (
        "scores",
        "configuration",
        "baseline",
        "candidate",
        "selected",
        "searched",
        "allow_incomplete",
        "allow_misaligned",
        "repeats",
    ),
    "Queries": ("unjudged", "segments", "clusters"),
    "Metrics": ("metric", "gain", "k", "modules"),
    "Output": ("html", "markdown", "open_it", "per_query", "every", "as_json", "json_file", "help"),
}
"""Groups in the help of commands that read judgments. All other options are in the group *Statistics*."""

SHARED_OPTIONS = signature(InputOptions, eval_str=True).parameters
"""Options of commands that read judgments and models."""


class _Command(TyperCommand):
    """A command whose help shows options in groups, and flags without a type. Options replace no earlier value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, or raise an error if an option would replace its earlier value."""
        passed: list[Any] = list(self.make_parser(ctx).parse_args(list(args))[2])
        for param in passed:
            if param.param_type_name == "option" and not (param.multiple or param.is_flag) and passed.count(param) > 1:
                raise typer.BadParameter(f"It must be passed once, got {passed.count(param)} times.", ctx, param)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> Any:
        """Return the options, in the order of the help."""
        params: list[Any] = super().get_params(ctx)
        if any(param.name == "qrels" for param in params):
            groups = {name: group for group, names in GROUPS.items() for name in names}
            for param in params:
                param.rich_help_panel = (
                    None if param.param_type_name == "argument" else groups.get(param.name, "Statistics")
                )
        return _hide_types_of_flags(params)


class _Group(TyperGroup):
    """The program, whose help shows flags without a type."""

    def get_params(self, ctx: Any) -> Any:
        """Return the options."""
        return _hide_types_of_flags(super().get_params(ctx))


def _hide_types_of_flags(params: Any) -> Any:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Compute ranking metrics in every common definition, and compare models under two of them.",
)


def main() -> None:
    """Run the command line. Replace characters that the terminal cannot write by ASCII."""
    codecs.register_error("gainwise.ascii", _replace_by_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="gainwise.ascii")
    app()


def _replace_by_ascii(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)  # the type of errors of an output
    letters = error.object[error.start : error.end]
    plain = (unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() for letter in letters)
    return "".join(ASCII.get(letter) or text or "?" for letter, text in zip(letters, plain, strict=True)), error.end


@app.callback(invoke_without_command=True)
def _show_version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    config: Annotated[bool, typer.Option("--show-config", help="Print versions, CPUs and the compiled core.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if config:
        from .._kernel.config import show_config

        with _report_errors():
            show_config()
        raise typer.Exit


def command(
    *examples: str, imports: bool = True, without: Sequence[str] = ()
) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Register a function as a command of the same name. Its parameters are the options.

    The parameter `inputs` is expanded into the options of `InputOptions`. Errors of the function are printed as
    one line. The function may return the exit code.

    Parameters
    ----------
    *examples : str
        Calls for the end of the help, without the name of the program.
    imports : bool, default True
        Whether the command has the option `--import`.
    without : sequence of str
        Fields of `InputOptions` that the command does not have.
    """

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        own = dict(signature(function, eval_str=True).parameters)
        shared = SHARED_OPTIONS if own.pop("inputs", None) else {}
        fields = {name: parameter for name, parameter in shared.items() if name not in without}
        if imports:
            own["modules"] = Parameter("modules", Parameter.KEYWORD_ONLY, default=None, annotation=Imports)

        @wraps(function)
        def run(**values: Any) -> None:
            for name, parameter in own.items():
                # An old typer with a new click accepts a call without a required option.
                if parameter.default is Parameter.empty and values[name] is None:
                    raise typer.BadParameter(f"--{name} is required.")
            with _report_errors():
                _import_modules(values.pop("modules", None) or [])
                if fields:
                    values["inputs"] = InputOptions(**{name: values.pop(name) for name in fields})
                code = function(**values)
                sys.stdout.flush()  # A full disk is an error of the command.
            if code:
                raise typer.Exit(code)

        options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in [*fields.values(), *own.values()]]
        options.sort(key=lambda option: option.default is not Parameter.empty)  # required options first
        run.__signature__ = Signature(options)  # type: ignore[attr-defined]  # read by typer
        run.__annotations__ = {option.name: option.annotation for option in options}
        # The help breaks lines only at the width of the terminal.
        paragraphs = [" ".join(paragraph.split()) for paragraph in cleandoc(function.__doc__ or "").split("\n\n")]
        epilog = ["Examples:", *(f"gainwise {example}" for example in examples)]
        app.command(cls=_Command, help="\n\n".join(paragraphs), epilog="\n\n".join(epilog))(run)
        return function

    return register


@contextmanager
def _report_errors() -> Iterator[None]:
    """Print an error as one message and exit with 1, 2 (an input file does not exist) or 130 (interrupted)."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default", UserWarning)
            yield
    except (KeyboardInterrupt, ValueError, TypeError, OSError, ImportError, RuntimeError) as error:
        is_interrupt = isinstance(error, KeyboardInterrupt)
        _write_error(f"gainwise: {'interrupted' if is_interrupt else error}")
        for note in getattr(error, "__notes__", ()):  # how to resume an interrupted experiment
            _write_error(note)
        raise typer.Exit(130 if is_interrupt else 2 if isinstance(error, MissingFileError) else 1) from None


def _write_error(text: str) -> None:
    """Write text to the standard error. Lines of a terminal end between words."""
    lines = list(map(printable, text.split("\n")))
    if sys.stderr.isatty():
        width = max(shutil.get_terminal_size().columns, 20)
        options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
        lines = [line for whole in lines for line in textwrap.wrap(whole, width, **options) or [""]]
    typer.echo("\n".join(lines), err=True)


def _show_warning(message: Warning | str, *location: Any, **options: Any) -> None:
    """Print a warning as one line, without its location in the code."""
    _write_error(f"gainwise: warning: {printable(str(message))}")


def _import_modules(names: list[str]) -> None:
    """Import modules, each by its name or by the path of a `.py` file, so that their metrics are registered.

    Names are also searched in the current directory, after the installed modules. The directory of a file stays on the
    import path, because other processes import the module by its name.
    """
    for name in names:
        path = Path(name)
        if path.suffix == ".py":
            sys.path.insert(0, str(path.resolve().parent))
        elif os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            module = import_module(path.stem if path.suffix == ".py" else name)
        except (Exception, SystemExit) as error:
            raise ValueError(f"--import {name}: {type(error).__name__}: {error}") from error
        origin = str(module.__file__)
        if path.suffix == ".py" and Path(origin).resolve() != path.resolve():
            raise ValueError(f"--import {name}: another module has this name ({origin}). Rename the file.")
