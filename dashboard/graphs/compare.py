"""Comparison of two graphs, node by node: added, removed, and changed nodes."""

from dataclasses import dataclass

from stepscope.dashboard.graphs.attributes import attribute_of
from stepscope.dashboard.graphs.tree import Tree
from stepscope.summary.listed import listed
from stepscope.summary.proto.graph_pb2 import NodeDef


@dataclass(frozen=True)
class Change:
    """An attribute of a node that differs; "op", "device" and "inputs" are called so, others "attr.name"."""

    node: str
    attribute: str
    before: str | None
    """As a short text; None if the node did not have it."""
    after: str | None


@dataclass(frozen=True)
class Comparison:
    """What differs between two graphs; of each list, at most as many as requested."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Change, ...]
    added_count: int
    removed_count: int
    changed_count: int
    """Number of nodes in both graphs that differ."""
    same_count: int


def compare(before: Tree, after: Tree, limit: int = 5_000) -> Comparison:
    """Compare nodes by name, those in the bodies of called functions as "call/node"; the results are paths of entries.

    Added and changed nodes have paths in ``after``, removed nodes in ``before``.
    """
    first, second = _nodes(before), _nodes(after)
    paths = {name: after.paths[entry] for name, entry in zip(after.model.names, listed(after.leaf_of), strict=True)}
    gone = {name: before.paths[entry] for name, entry in zip(before.model.names, listed(before.leaf_of), strict=True)}
    added = [name for name in second if name not in first]
    removed = [name for name in first if name not in second]
    changes: list[Change] = []
    changed = 0
    for name, node in first.items():
        other = second.get(name)
        if other is None or node.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True):
            continue
        found = _changes(paths[name], node, other)
        changed += bool(found)
        if len(changes) < limit:
            changes += found
    return Comparison(
        added=tuple([paths[name] for name in added[:limit]]),
        removed=tuple([gone[name] for name in removed[:limit]]),
        changed=tuple(changes[:limit]),
        added_count=len(added),
        removed_count=len(removed),
        changed_count=changed,
        same_count=len(first) - len(removed) - changed,
    )


def _nodes(tree: Tree) -> dict[str, NodeDef]:
    # A single call for a million nodes would block all other threads.
    return {name: node for name, node in zip(tree.model.names, tree.model.messages, strict=True)}  # noqa: C416


def _changes(name: str, before: NodeDef, after: NodeDef) -> list[Change]:
    plain = (
        ("op", before.op, after.op),
        ("device", before.device, after.device),
        ("inputs", ", ".join(before.input), ", ".join(after.input)),
    )
    found = [Change(name, attribute, old, new) for attribute, old, new in plain if old != new]
    for attribute in sorted({*before.attr, *after.attr}):
        old = before.attr.get(attribute)
        new = after.attr.get(attribute)
        if old is not None and new is not None and old == new:
            continue
        found.append(
            Change(
                name,
                f"attr.{attribute}",
                None if old is None else attribute_of(old).text,
                None if new is None else attribute_of(new).text,
            )
        )
    return found
