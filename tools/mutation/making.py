"""Makes mutants with the operators of mutmut."""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING

from mutant import ROOT, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def mutants_of(file: Path, share: float) -> Iterator[Mutant]:
    """Make mutants of a file, a share of them drawn at random; of a string only one, of `__all__` none."""
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
    drawn = random.Random(0)
    for mutation in mutations:
        if drawn.random() >= share:
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
        start = next(at for at, (a, b) in enumerate(zip(text, changed, strict=False)) if a != b)
        shared = min(len(text), len(changed)) - start
        same = next((at for at in range(shared) if text[-1 - at] != changed[-1 - at]), shared)
        old, new = text[start : len(text) - same], changed[start : len(changed) - same]
        name, line = str(file.resolve().relative_to(ROOT)), text.count("\n", 0, start) + 1
        if line in exported:
            continue
        yield Mutant(name, line, start, len(text) - same, old, new)
