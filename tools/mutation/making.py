"""Makes mutants with the operators of mutmut."""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING

from mutant import ROOT, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def make_mutants(file: Path, share: float) -> Iterator[Mutant]:
    """Yield a random share of the mutants of a file, at most one per string and none of `__all__`."""
    import libcst
    from mutmut.mutation.file_mutation import create_mutations

    text = file.read_text()
    module, mutations, _, _ = create_mutations(str(file), text)
    tree, seen = ast.parse(text), set()
    original = ast.dump(tree)
    exported = {
        line
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    rng = random.Random(0)
    for mutation in mutations:
        if rng.random() >= share:
            continue
        is_text = isinstance(mutation.original_node, libcst.SimpleString)
        if is_text and not mutation.mutated_node.value.lstrip("rbf").startswith(('"XX', "'XX")):
            continue
        changed = module.deep_replace(mutation.original_node, mutation.mutated_node).code
        if changed in seen:
            continue
        seen.add(changed)
        try:
            if ast.dump(ast.parse(changed)) == original:
                continue
        except SyntaxError:
            continue
        start = next(index for index, (a, b) in enumerate(zip(text, changed, strict=False)) if a != b)
        longest = min(len(text), len(changed)) - start
        suffix = next((n for n in range(longest) if text[-1 - n] != changed[-1 - n]), longest)
        old, new = text[start : len(text) - suffix], changed[start : len(changed) - suffix]
        name, line = str(file.resolve().relative_to(ROOT)), text.count("\n", 0, start) + 1
        if line in exported:
            continue
        yield Mutant(name, line, start, len(text) - suffix, old, new)
