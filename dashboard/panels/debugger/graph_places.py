"""Where in a graph of the log directory a tensor is created.

Recordings name modules as the program does ("layers.0") and operations as PyTorch does ("aten.log"); graphs have
scopes ("Net/Sequential[layers]/Linear[0]") and operations ("aten::log"). TensorFlow dumps use the names of the graph
itself.
"""

import re
from collections.abc import Sequence
from typing import Final

from stepscope.dashboard.graphs.sources import GraphSource, graph_sources
from stepscope.dashboard.graphs.tree import Tree
from stepscope.summary.debugger.model import WatchedTensor
from stepscope.summary.snapshot import Snapshot

_ATTRIBUTE: Final = re.compile(r".*\[(.+)\]")
"""A PyTorch scope: the class, and the attribute name of the module."""


def graph_for(snapshot: Snapshot, run: str) -> GraphSource | None:
    """Return the graph to look up a run's tensors in: the run's own before others, operations before layers.

    Graphs of other runs are used if the run has none: programs often write a graph only once.
    """
    known = [graph for graph in graph_sources(snapshot) if graph.kind != "profile"]
    return min(known, key=lambda graph: (graph.run != run, graph.kind != "op"), default=None)


def place_of(tree: Tree, tensor: WatchedTensor) -> str:
    """Return the path of the operation that creates a tensor, else of its module; empty if the graph has neither."""
    if tensor.phase == "eager":
        return ""
    return _of_dump(tree, tensor) if tensor.phase == "graph" else _of_module(tree, tensor)


def _of_dump(tree: Tree, tensor: WatchedTensor) -> str:
    full = tensor.name.rpartition(":")[0]
    operation = full.removeprefix(f"{tensor.module}/")
    for name in (operation, full):
        if tree.entry_of.get(name):
            return name
    # The bodies of functions are below their calls.
    return next((path for path in tree.paths if path.endswith(f"/{operation}")), "")


def _of_module(tree: Tree, tensor: WatchedTensor) -> str:
    wanted = tensor.module.split(".") if tensor.module else []
    entries = range(1, len(tree.paths))
    modules = dict.fromkeys(entry for entry in entries if _is_module(tree.paths[entry], wanted))
    if not modules:
        return ""
    operation = _plain(tensor.op_type)
    for entry in entries if operation else ():
        node = int(tree.node[entry])
        if int(tree.parent[entry]) in modules and node >= 0 and _plain(tree.model.ops[node]) == operation:
            return tree.paths[entry]
    return tree.paths[max(modules, key=lambda entry: int(tree.count[entry]))]


def _is_module(path: str, wanted: Sequence[str]) -> bool:
    parts = [found[1] if (found := _ATTRIBUTE.fullmatch(part)) else part for part in path.split("/") if part]
    # The model itself is outermost, and has no name in the program.
    return parts == wanted or parts[1:] == wanted or (bool(wanted) and parts[-1:] == [".".join(wanted)])


def _plain(operation: str) -> str:
    """Return an operation's name without the library's name: "log" for "aten.log" and "aten::log"."""
    return re.split(r"[.:]+", operation)[-1].lower()
