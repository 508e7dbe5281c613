"""A mutant: one small change of one file, and the two ways to put it in the place of the code."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """The characters from `start` to `end` of a file replaced by `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    @property
    def module(self) -> str:
        """The name of the module that is changed."""
        return ".".join(Path(self.file).with_suffix("").parts[1:])

    def source(self) -> str:
        """Return the changed file."""
        text = (ROOT / self.file).read_text()
        if text[self.start : self.end] != self.old:
            raise ValueError(f"{self.file} has changed since its mutants were made: make them anew")
        return text[: self.start] + self.new + text[self.end :]

    def statement(self) -> set[int]:
        """Return the lines of the innermost statement that is changed; of a compound one, those of its head."""
        found, fewest = {self.line}, sys.maxsize
        for node in ast.walk(ast.parse((ROOT / self.file).read_text())):
            if isinstance(node, ast.stmt) and node.end_lineno is not None:
                body = getattr(node, "body", None)
                last = max(node.lineno, body[0].lineno - 1 if body else node.end_lineno)
                if node.lineno <= self.line <= last and last - node.lineno < fewest:
                    fewest, found = last - node.lineno, set(range(node.lineno, last + 1))
        return found

    def swap(self) -> bool:
        """Give the one function that is changed its new code; say no where that is not all that changes."""
        path = ROOT / self.file
        before = list(_functions(compile(path.read_text(), str(path), "exec")))
        after = list(_functions(compile(self.source(), str(path), "exec")))
        if [name for name, _ in before] != [name for name, _ in after]:
            return False
        changed = [after[at] for at, (_, code) in enumerate(before) if not _same(code, after[at][1])]
        if len(changed) != 1:
            return False
        name, code = changed[0]
        try:
            _live(self.module, name).__code__ = code
        except (LookupError, ValueError):
            return False
        return True


class Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports a mutant in the place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(ROOT / mutant.file))
        self._text = mutant.source()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Answer for the changed module only."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed text."""
        return compile(self._text, self.path, "exec")


def _functions(code: CodeType, prefix: str = "") -> Iterator[tuple[str, CodeType]]:
    """Yield the outermost functions and the methods of a module's code."""
    for const in code.co_consts:
        if isinstance(const, CodeType) and not const.co_name.startswith("<"):
            if const.co_flags & inspect.CO_OPTIMIZED:
                yield prefix + const.co_name, const
            else:
                yield from _functions(const, f"{prefix}{const.co_name}.")


def _same(code: CodeType, other: CodeType) -> bool:
    """Tell whether two pieces of code do the same, wherever they stand in the file."""
    bare = [c.replace(co_firstlineno=1, co_linetable=b"", co_consts=(), co_exceptiontable=b"") for c in (code, other)]
    if bare[0] != bare[1] or len(code.co_consts) != len(other.co_consts):
        return False
    return all(
        _same(one, two) if isinstance(one, CodeType) and isinstance(two, CodeType) else repr(one) == repr(two)
        for one, two in zip(code.co_consts, other.co_consts, strict=True)
    )


def _live(module: str, name: str) -> FunctionType:
    """Return the function behind a qualified name, below its decorators."""
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = vars(found)[part]
    while not isinstance(found, FunctionType):
        inner = next((kind for kind in ("__func__", "fget", "func", "__wrapped__") if hasattr(found, kind)), None)
        if inner is None:
            raise LookupError(name)
        found = getattr(found, inner)
    unwrapped: FunctionType = inspect.unwrap(found)
    return unwrapped
