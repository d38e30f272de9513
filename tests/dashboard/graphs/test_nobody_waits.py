"""Graphs of a million nodes are opened in small pieces of work: one call for all of it makes everybody wait."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stepscope.dashboard.graphs import sources
from stepscope.dashboard.graphs.neighbors import Neighbors
from stepscope.summary import listed
from tests.dashboard.graphs.build import function, graph
from tests.instructions import Column


def test_neighbors_are_listed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "_PIECE", 3)
    far = Column.of(np.arange(7) % 4)
    neighbors = Neighbors(np.array([0, 1, 0, 1, 0, 1, 0]), far, 2)
    assert [neighbors[node] for node in (0, 1)] == [[0, 2, 0, 2], [1, 3, 1]]
    assert far.lists == [3, 3, 1]


def test_a_graphs_size_is_that_of_its_nodes_one_by_one() -> None:
    nodes = graph("a Const: | FLOAT 1\nb Neg: a").node
    body = function("double", ["x"], {"r": "y:z:0"}, "y Add: x x")
    # Unlike a GraphDef, it cannot be asked for its total size.
    whole: Any = SimpleNamespace(node=nodes, library=SimpleNamespace(function=[body]))
    assert sources._size(whole) == sum(node.ByteSize() for node in (*nodes, *body.node_def))
