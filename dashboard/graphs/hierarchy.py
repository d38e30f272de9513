"""Groups of nodes by name: scopes, and series of similar members (TensorBoard's ``hierarchy.ts``)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.unique_names import unique_name
from stepscope.summary.distinct import distinct_rows
from stepscope.summary.listed import listed

Kind: TypeAlias = Literal["op", "group", "series", "function"]

LEAST_SERIES: Final = 5
"""Minimum number of similar siblings to fold into a series."""
CROWD: Final = 10_000
"""Number of siblings above which all are folded, similar or not: too many to draw, with no group to collapse."""
CROWD_PART: Final = 500
_DEEPEST: Final = 256
"""Maximum depth of scopes; deeper ones are part of the label."""
_NUMBERED: Final = re.compile(r"(?P<prefix>.*?)(?P<number>\d{1,9})(?P<suffix>\]?)", re.DOTALL)


@dataclass
class Groups:
    """A tree under construction; entry 0 is the root, and parents precede their children."""

    paths: list[str] = field(default_factory=lambda: [""])
    labels: list[str] = field(default_factory=lambda: [""])
    parents: list[int] = field(default_factory=lambda: [-1])
    nodes: list[int] = field(default_factory=lambda: [-1])
    """The node of an operation or a function call; -1 for other groups."""
    kinds: list[Kind] = field(default_factory=lambda: ["group"])
    children: list[list[int] | tuple[()]] = field(default_factory=lambda: [()])
    """A list only for entries with children: garbage collection of millions of lists would block everything else."""
    by_path: dict[str, int] = field(default_factory=lambda: {"": 0})
    numbers: dict[str, int] = field(default_factory=dict)
    """The last number appended to each path that was taken."""

    def add(self, path: str, label: str, parent: int, node: int, kind: Kind) -> int:
        """Add an entry under a path; a number is appended if the path is taken."""
        unique = unique_name(path, self.by_path, self.numbers)
        entry = len(self.paths)
        self.by_path[unique] = entry
        self.paths.append(unique)
        self.labels.append(label)
        self.parents.append(parent)
        self.nodes.append(node)
        self.kinds.append(kind)
        self.children.append(())
        siblings = self.children[parent]
        if isinstance(siblings, list):
            siblings.append(entry)
        else:
            self.children[parent] = [entry]
        return entry


def grouped(names: Sequence[str], opened: frozenset[int], bare: frozenset[int]) -> tuple[Groups, list[int]]:
    """Return the scopes of names, and the entry of each node.

    A node whose name is also a scope is called "(name)" inside it, as in TensorBoard. A function call with its body
    included (``opened``) is a group of the kind "function"; if all its edges lead into the body (``bare``), it has no
    entry of its own inside.
    """
    groups = Groups()
    scopes = {""}
    for name in names:
        scope = _scope_of(name)
        while scope not in scopes:
            scopes.add(scope)
            scope = scope.rpartition("/")[0]
    calls = {names[node]: node for node in opened}
    entry_of: list[int] = []
    for node, name in enumerate(names):
        scope = _scope_of(name)
        label = name[len(scope) + 1 :] if scope else name
        if name in scopes:
            inside = _scope(groups, name, calls)
            path = f"{name}/({label})"
            while path in scopes:
                path += "'"
            entry_of.append(inside if node in bare else groups.add(path, f"({label})", inside, node, "op"))
        else:
            entry_of.append(groups.add(name, label, _scope(groups, scope, calls), node, "op"))
    return groups, entry_of


def _scope_of(name: str) -> str:
    """Return all parts of a name except the last, at most `_DEEPEST` parts."""
    scope = name.rpartition("/")[0]
    return scope if scope.count("/") < _DEEPEST else "/".join(scope.split("/", _DEEPEST)[:_DEEPEST])


def _scope(groups: Groups, path: str, calls: dict[str, int]) -> int:
    found = groups.by_path.get(path)
    if found is not None:
        return found
    missing = [path]
    parent_path = path.rpartition("/")[0]
    while parent_path not in groups.by_path:
        missing.append(parent_path)
        parent_path = parent_path.rpartition("/")[0]
    entry = groups.by_path[parent_path]
    for name in reversed(missing):
        call = calls.get(name, -1)
        label = name.rpartition("/")[2]
        entry = groups.add(name, label, entry, call, "function" if call >= 0 else "group")
    return entry


def sibling_edges(
    parents: NDArray[np.int64], source: NDArray[np.int64], target: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where edges between entries cross their closest common group, without duplicates.

    Returns:
        The group, and the two children of it that the edge connects; ordered by group. Edges within one entry and
        between an entry and its content are left out.
    """
    depth, above = np.zeros(len(parents), np.int64), parents
    while (inside := above >= 0).any():
        depth += inside
        above = np.where(inside, parents[above], -1)
    a, b = source.copy(), target.copy()
    for _ in range(int(depth.max(initial=0)) + 1):
        deeper_a, deeper_b = depth[a] > depth[b], depth[b] > depth[a]
        if not (deeper_a.any() or deeper_b.any()):
            break
        a[deeper_a] = parents[a[deeper_a]]
        b[deeper_b] = parents[b[deeper_b]]
    while len(a):
        apart = (a != b) & (parents[a] != parents[b])
        if not apart.any():
            break
        a[apart], b[apart] = parents[a[apart]], parents[b[apart]]
    different = a != b
    a, b = a[different], b[different]
    first = distinct_rows(parents[a], a, b).first
    return parents[a[first]], a[first], b[first]


def structure_classes(
    groups: Groups, ops: Sequence[str], edges: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
) -> list[int]:
    """Return equal numbers for similar subtrees: operations by kind, groups by the classes of their members and
    edges.
    """
    numbers: dict[object, int] = {}
    classes = [0] * len(groups.paths)
    inside: dict[int, list[tuple[int, int]]] = {}
    for group, a, b in zip(*(listed(column) for column in edges), strict=True):
        inside.setdefault(group, []).append((a, b))
    for entry in range(len(groups.paths) - 1, -1, -1):
        node = groups.nodes[entry]
        if groups.kinds[entry] == "op":
            key: object = ops[node]
        else:
            members = tuple(sorted([classes[child] for child in groups.children[entry]]))
            links = tuple(sorted([(classes[a], classes[b]) for a, b in inside.get(entry, ())]))
            key = (ops[node] if node >= 0 else "", members, links)
        classes[entry] = numbers.setdefault(key, len(numbers) + 1)
    return classes


def fold_series(groups: Groups, classes: list[int], skipped: Sequence[bool]) -> None:
    """Put runs of `LEAST_SERIES` or more similar siblings, numbered without a gap, into entries of the kind "series".

    A member without a number counts as number 0, as in TensorBoard. ``classes`` grows with the entries; ``skipped``
    marks entries to leave out of series.
    """
    numbers: dict[int, int] = {}
    following = max(classes, default=0) + 1
    for group in range(len(groups.paths)):
        children = groups.children[group]
        if len(children) < LEAST_SERIES:
            continue
        scope = f"{groups.paths[group]}/" if group else ""
        series_of: dict[int, int] = {}
        for prefix, suffix, members in _runs(groups, classes, children, skipped):
            label = f"{prefix.removesuffix('[') if suffix else prefix}[{members[0][0]}-{members[-1][0]}]"
            series = groups.add(f"{scope}{label}", label, group, -1, "series")
            groups.children[series] = [entry for _, entry in members]
            for _, entry in members:
                groups.parents[entry] = series
                series_of[entry] = series
            of = classes[members[0][1]]
            if of not in numbers:
                numbers[of] = following
                following += 1
            classes.append(numbers[of])
        if series_of:
            # Each series takes the place of its first member.
            own = [series_of.get(entry, entry) for entry in children if groups.kinds[entry] != "series"]
            groups.children[group] = list(dict.fromkeys(own))


def fold_crowds(groups: Groups, classes: list[int], most: int = CROWD, part: int = CROWD_PART) -> None:
    """Put the members of groups with more than ``most`` into entries of the kind "series", ``part`` in each.

    The order is preserved, and there are as many levels as necessary. ``classes`` grows with the entries; each of these
    series has a class of its own.
    """
    for group in range(len(groups.paths)):
        scope = f"{groups.paths[group]}/" if group else ""
        while len(children := groups.children[group]) > most:
            parts = [list(children[begin : begin + part]) for begin in range(0, len(children), part)]
            groups.children[group] = ()
            for members in parts:
                label = f"{groups.labels[members[0]]} … {groups.labels[members[-1]]}"
                entry = groups.add(f"{scope}{label}", label, group, -1, "series")
                groups.children[entry] = members
                for member in members:
                    groups.parents[member] = entry
                classes.append(-entry)


def _runs(
    groups: Groups, classes: Sequence[int], children: Sequence[int], skipped: Sequence[bool]
) -> list[tuple[str, str, list[tuple[int, int]]]]:
    """Return the prefix, suffix and (number, entry) of the members of each series among siblings."""
    clusters: dict[tuple[int, str, str], dict[int, int]] = {}
    plain: dict[tuple[int, str], int] = {}
    for entry in children:
        if skipped[entry]:
            continue
        match = _NUMBERED.fullmatch(groups.labels[entry])
        if match is None:
            plain.setdefault((classes[entry], groups.labels[entry]), entry)
            continue
        number = match["number"]
        if number != "0" and number.startswith("0"):
            number = number.lstrip("0") or "0"
        clusters.setdefault((classes[entry], match["prefix"], match["suffix"]), {}).setdefault(int(number), entry)
    found = []
    for (of, prefix, suffix), members in clusters.items():
        if prefix and not suffix and 0 not in members and (of, prefix.rstrip("_")) in plain:
            members[0] = plain.pop((of, prefix.rstrip("_")))
        run: list[tuple[int, int]] = []
        for number in [*sorted(members), -1]:
            if run and number != run[-1][0] + 1:
                if len(run) >= LEAST_SERIES:
                    found.append((prefix, suffix, run))
                run = []
            run.append((number, members.get(number, -1)))
    return found
