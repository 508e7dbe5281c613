"""The files of the room import each other in one direction, lazily and for types too."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import gainsay.experiment

ROOM = Path(gainsay.experiment.__file__).parent


def imported(path):
    """The files of the room that one of them imports."""
    found = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)]
    return {(node.module or alias.name).split(".")[0] for node in found if node.level == 1 for alias in node.names}


def test_no_circles():
    graph = {path.stem: imported(path) for path in ROOM.glob("*.py")}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError, which names a circle
    assert set(order) == set(graph)
    assert order.index("trainings") < order.index("storage") < order.index("result") < order.index("run")
