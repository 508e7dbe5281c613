"""Check the structure of the package: no long functions, no import cycles. `make lint` runs it.

    python tools/structure.py

Lines of code exclude docstrings, comments and blank lines. Imports include those for types only and those in functions.
An exception that is no longer needed is an error.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import grimp
import scipy.sparse
import scipy.sparse.csgraph

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[1] / "src"
MAX_LINES = 60
LONG_FUNCTIONS: set[str] = set()
CYCLES: set[frozenset[str]] = set()
LAZY_IMPORTS = [
    ("gainwise.comparison.comparison", "gainwise.report"),
]
"""Methods of a comparison draw and write reports, as methods of a DataFrame do."""
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def find_long_functions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the name and the size of each function of more than `MAX_LINES` lines of code."""
    tree = ast.parse(text)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in NO_CODE]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = len(lines & set(range(node.lineno, (node.end_lineno or node.lineno) + 1)))
            if size > MAX_LINES:
                yield node.name, size


def find_cycles(package: str) -> set[frozenset[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    graph = grimp.build_graph(package, cache_dir=None)
    modules = sorted(graph.modules - {package})  # The package imports its subpackages on first use.
    index = {module: number for number, module in enumerate(modules)}
    imports = [
        (index[importer], index[imported])
        for importer in modules
        for imported in graph.find_modules_directly_imported_by(importer) & index.keys()
        if not any(importer == lazy and imported.startswith(target) for lazy, target in LAZY_IMPORTS)
    ]
    rows, columns = zip(*imports, strict=True)
    matrix = scipy.sparse.coo_array(([True] * len(imports), (rows, columns)), shape=(len(modules), len(modules)))
    _, labels = scipy.sparse.csgraph.connected_components(matrix, connection="strong")
    groups = [frozenset(module for module in modules if labels[index[module]] == label) for label in set(labels)]
    return {group for group in groups if len(group) > 1}


def main() -> int:
    """Print the differences from the exceptions above. Return 1 if there are any."""
    long_functions = {
        f"{path.relative_to(SOURCE).as_posix()}:{name}": size
        for path in sorted(SOURCE.rglob("*.py"))
        for name, size in find_long_functions(path.read_text(encoding="utf-8"))
    }
    cycles = find_cycles("gainwise")
    problems = [
        *(f"{name}: {long_functions[name]} lines. Split it." for name in long_functions.keys() - LONG_FUNCTIONS),
        *(f"{name}: not long. Remove it from LONG_FUNCTIONS." for name in LONG_FUNCTIONS - long_functions.keys()),
        *(f"{', '.join(sorted(group))}: import cycle. Break it." for group in cycles - CYCLES),
        *(f"{', '.join(sorted(group))}: not a cycle. Remove it from CYCLES." for group in CYCLES - cycles),
    ]
    print("\n".join(sorted(problems)) or f"No new function over {MAX_LINES} lines of code, no new import cycle.")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
