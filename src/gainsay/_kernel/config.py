"""Versions, CPUs, and the path of evaluation."""

from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple, overload

from .._common import __version__
from .library import find_library, sort_addresses

MODULES = ("numpy", "pandas", "scipy", "lightgbm", "xgboost", "catboost", "sklearn", "dask", "pyarrow", "matplotlib")


def cpus() -> int:
    """Return the number of CPUs that the process can use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows.
        return os.cpu_count() or 1


class EvaluationPath(NamedTuple):
    """The path of evaluation and the reason for it."""

    path: Literal["compiled", "numpy"]
    reason: str


def find_path() -> EvaluationPath:
    """Return the path of this process. Metrics that the core does not support are always evaluated by NumPy."""
    library, reason = find_library()
    if library is None:
        return EvaluationPath("numpy", reason)
    if sort_addresses() is None:
        return EvaluationPath("numpy", f"{reason}, but the core does not find the sort functions of this NumPy")
    return EvaluationPath("compiled", reason)


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...


def show_config(mode: Literal["stdout", "dicts"] = "stdout") -> dict[str, Any] | None:
    """Show versions, CPUs, and whether the compiled core or NumPy evaluates metrics.

    Both return the same values to the last bit, but the core is faster. It is missing if gainsay was installed from
    source without a C++ compiler. Set the environment variable `GAINSAY_KERNEL=0` to disable it.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Whether to print the information or to return it as a dict.

    Returns
    -------
    dict or None
        With ``"dicts"``: ``gainsay`` (version), ``kernel`` (``path``, ``"compiled"`` or ``"numpy"``, and ``reason``),
        ``cpus`` (number of CPUs available to this process), ``python``, ``platform``, and ``libraries`` (versions of
        the installed libraries by module).

    Raises
    ------
    ValueError
        If the mode is unknown, or `GAINSAY_KERNEL` is the path of a file that is not a compiled core.

    Examples
    --------
    >>> import gainsay as gs
    >>> sorted(gs.show_config("dicts"))
    ['cpus', 'gainsay', 'kernel', 'libraries', 'platform', 'python']
    >>> gs.show_config("dicts")["kernel"]["path"] in ("compiled", "numpy")
    True
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f'mode must be "stdout" or "dicts", got {mode!r}')
    import platform
    from importlib.metadata import packages_distributions, version

    kernel, distributions = find_path(), packages_distributions()
    libraries = {name: version(distributions[name][0]) for name in MODULES if name in distributions}
    facts = {"cpus": cpus(), "python": platform.python_version(), "platform": platform.platform()}
    if mode == "dicts":
        return {"gainsay": __version__, "kernel": kernel._asdict(), **facts, "libraries": libraries}
    evaluates = "with its compiled core" if kernel.path == "compiled" else "in NumPy"
    lines = {"gainsay": __version__, "evaluates": f"{evaluates}: {kernel.reason}", **facts, **libraries}
    print("\n".join(f"{name:12}{value}" for name, value in lines.items()))
    return None
