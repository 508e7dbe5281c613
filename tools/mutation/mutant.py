"""A mutant: one small change of one file, and two ways to apply it to imported code."""

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
    """Replacement of the characters from `start` to `end` of a file by `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    @property
    def module(self) -> str:
        """The name of the changed module."""
        return ".".join(Path(self.file).with_suffix("").parts[1:])

    def build_source(self) -> str:
        """Return the changed file."""
        text = (ROOT / self.file).read_text()
        if text[self.start : self.end] != self.old:
            raise ValueError(f"{self.file} has changed since its mutants were made. Make them again.")
        return text[: self.start] + self.new + text[self.end :]

    def find_statement(self) -> set[int]:
        """Return the lines of the innermost changed statement, only the head of a compound statement."""
        lines, fewest = {self.line}, sys.maxsize
        for node in ast.walk(ast.parse((ROOT / self.file).read_text())):
            if isinstance(node, ast.stmt) and node.end_lineno is not None:
                body = getattr(node, "body", None)
                last = max(node.lineno, body[0].lineno - 1 if body else node.end_lineno)
                if node.lineno <= self.line <= last and last - node.lineno < fewest:
                    fewest, lines = last - node.lineno, set(range(node.lineno, last + 1))
        return lines

    def replace_function(self) -> bool:
        """Replace the code of the changed function. Return False if anything else changes."""
        path = ROOT / self.file
        before = list(_list_functions(compile(path.read_text(), str(path), "exec")))
        after = list(_list_functions(compile(self.build_source(), str(path), "exec")))
        if [name for name, _ in before] != [name for name, _ in after]:
            return False
        changed = [new for (_, code), new in zip(before, after, strict=True) if not _is_same(code, new[1])]
        if len(changed) != 1:
            return False
        name, code = changed[0]
        try:
            _find_function(self.module, name).__code__ = code
        except (LookupError, ValueError):
            return False
        return True


class MutantImporter(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports a mutant instead of its module."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(ROOT / mutant.file))
        self._text = mutant.build_source()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Return a spec for the changed module only."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed text."""
        return compile(self._text, self.path, "exec")


def _list_functions(code: CodeType, prefix: str = "") -> Iterator[tuple[str, CodeType]]:
    """Yield the outermost functions and the methods of a module."""
    for const in code.co_consts:
        if isinstance(const, CodeType) and not const.co_name.startswith("<"):
            if const.co_flags & inspect.CO_OPTIMIZED:
                yield prefix + const.co_name, const
            else:
                yield from _list_functions(const, f"{prefix}{const.co_name}.")


def _is_same(code: CodeType, other: CodeType) -> bool:
    """Return whether two pieces of code do the same, at any position in the file."""
    bare = [c.replace(co_firstlineno=1, co_linetable=b"", co_consts=(), co_exceptiontable=b"") for c in (code, other)]
    if bare[0] != bare[1] or len(code.co_consts) != len(other.co_consts):
        return False
    return all(
        _is_same(first, second)
        if isinstance(first, CodeType) and isinstance(second, CodeType)
        else repr(first) == repr(second)
        for first, second in zip(code.co_consts, other.co_consts, strict=True)
    )


def _find_function(module: str, name: str) -> FunctionType:
    """Return the function with a qualified name, without its decorators."""
    value: Any = sys.modules[module]
    for part in name.split("."):
        value = vars(value)[part]
    while not isinstance(value, FunctionType):
        inner = next((kind for kind in ("__func__", "fget", "func", "__wrapped__") if hasattr(value, kind)), None)
        if inner is None:
            raise LookupError(name)
        value = getattr(value, inner)
    unwrapped: FunctionType = inspect.unwrap(value)
    return unwrapped
