"""Auxiliary nodes and their hosts: constants, variables, their reads and initialization, and summaries.

An auxiliary node is shown as part of its *hosts*, which are nodes that are not auxiliary. A node with a single host
is part of it, so that its other edges become the host's. A node with several hosts has edges only to them and to other
auxiliary nodes; it is repeated at each, as TensorBoard repeats a constant, and its edges are not drawn.
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final

from stepscope.dashboard.graphs.neighbors import Neighbors
from stepscope.dashboard.graphs.records import GraphModel

MOST_HOSTS: Final = 64
"""Maximum number of hosts; a node with more is shown on its own."""
_ROUNDS: Final = 10

VARIABLES: Final = frozenset(
    ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable", "TemporaryVariable", "prim::GetAttr", "Parameter")
)
CONSTANTS: Final = frozenset(("Const", "HostConst", "prim::Constant", "Constant"))
_LISTS: Final = frozenset(("prim::ListConstruct", "prim::TupleConstruct"))
_READS: Final = frozenset(("ReadVariableOp",))
_COPIES: Final = frozenset(("Identity",))
_ASSIGNMENTS: Final = frozenset(("Assign", "AssignVariableOp"))
_CHECKS: Final = frozenset(("VarIsInitializedOp", "IsVariableInitialized"))
_SUMMARY: Final = re.compile(r".*Summary(V\d)?|SummaryWriter|Create\w*Summary\w*|Flush\w*Summary\w*")
_KEPT: Final = frozenset(("Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg", "_Retval", "IO Node"))


class Part(Enum):
    """The role of an auxiliary node."""

    CONSTANT = "constant"
    VARIABLE = "variable"
    READ = "read"
    INITIALIZER = "initializer"
    ASSIGNMENT = "assignment"
    SUMMARY = "summary"
    NOTHING = "no operation"


def fold(model: GraphModel) -> dict[int, tuple[int, ...]]:
    """Return auxiliary nodes and their hosts, in graph order.

    "NoOp" nodes that only wait for auxiliary nodes may have no hosts: they belong to the scope that contains them.
    """
    folding = _Folding(model)
    parts = folding.parts()
    for _ in range(_ROUNDS):
        hosts = folding.hosts(parts)
        wrong = [node for node, found in hosts.items() if not folding.holds(node, found, hosts, parts)]
        if not wrong:
            return dict(sorted(hosts.items()))
        for node in wrong:
            del parts[node]
    # Nodes in such deep dependencies stay visible, except for plain constants.
    constants: dict[int, Part] = {
        node: part for node, part in parts.items() if part is Part.CONSTANT and not folding.sources[node]
    }
    hosts = folding.hosts(constants)
    return {node: found for node, found in sorted(hosts.items()) if folding.holds(node, found, hosts, constants)}


class _Folding:
    def __init__(self, model: GraphModel) -> None:
        data = ~model.control
        count = len(model)
        self._ops = model.ops
        self._inputs = Neighbors(model.target[data], model.source[data], count)
        self._outputs = Neighbors(model.source[data], model.target[data], count)
        self.sources: Final = Neighbors(model.target, model.source, count)
        self._targets: Final = Neighbors(model.source, model.target, count)

    def parts(self) -> dict[int, Part]:
        """Return the nodes that may be folded, by operation and inputs."""
        parts: dict[int, Part] = {}
        later: list[int] = []
        assignments: list[int] = []
        kinds = {op: _part_of(op) for op in set(self._ops)}
        for node, op in enumerate(self._ops):
            part = kinds[op]
            if part is Part.ASSIGNMENT:
                assignments.append(node)
            elif part in (Part.CONSTANT, Part.VARIABLE):
                if not self._inputs[node]:
                    parts[node] = part
                elif op in _LISTS:
                    later.append(node)
            elif part is Part.READ:
                later.append(node)
            elif part is not None:
                parts[node] = part
        for node in later:
            inputs = self._inputs[node]
            if self._ops[node] in _LISTS:
                if all(parts.get(i) is Part.CONSTANT for i in inputs):
                    parts[node] = Part.CONSTANT
            elif len(inputs) == 1 and (self._ops[node] in _READS or parts.get(inputs[0]) is Part.VARIABLE):
                parts[node] = Part.READ
        self._add_assignments(assignments, parts)
        return parts

    def _add_assignments(self, assignments: Iterable[int], parts: dict[int, Part]) -> None:
        """Add initial values of variables: assignments of values that are computed for nothing else."""
        for node in assignments:
            inputs = self._inputs[node]
            if not inputs or parts.get(inputs[0]) is not Part.VARIABLE:
                continue
            if self._ops[node] in _CHECKS:
                parts[node] = Part.ASSIGNMENT
                continue
            found = self._only_for(node, inputs[1:], parts)
            if found is not None:
                parts[node] = Part.ASSIGNMENT
                parts.update(dict.fromkeys(found, Part.INITIALIZER))

    def _only_for(self, assignment: int, inputs: list[int], parts: dict[int, Part]) -> list[int] | None:
        """Return everything upstream of ``inputs``; None if some of it is also computed for anything else."""
        found: dict[int, None] = {}
        waiting = list(inputs)
        while waiting:
            node = waiting.pop()
            if node in parts or node in found:
                continue
            if self._ops[node] in _KEPT or not all(
                user == assignment or user in found or user in parts or self._ops[user] in _ASSIGNMENTS
                for user in self._targets[node]
            ):
                return None
            found[node] = None
            waiting += self._inputs[node]
        return list(found)

    def hosts(self, parts: dict[int, Part]) -> dict[int, tuple[int, ...]]:
        """Return the hosts of each node, also through other auxiliary nodes; nodes without hosts are left out."""
        found: dict[int, tuple[int, ...]] = {}
        open_: set[int] = set()
        for first in parts:
            stack = [first]
            while stack:
                node = stack[-1]
                if node in found:
                    stack.pop()
                    continue
                direct, others = self._next(node, parts)
                missing = [o for o in others if o not in found and o not in open_]
                if node not in open_:
                    open_.add(node)
                    if missing:
                        stack += missing
                        continue
                open_.discard(node)
                stack.pop()
                merged = dict.fromkeys(direct)
                for other in others:
                    merged.update(dict.fromkeys(found.get(other, ())))
                    if len(merged) > MOST_HOSTS:
                        break
                found[node] = tuple(sorted(merged))
        return found

    def _next(self, node: int, parts: dict[int, Part]) -> tuple[list[int], list[int]]:
        """Return the direct hosts of the node, and the auxiliary nodes whose hosts it shares."""
        part = parts[node]
        if part is Part.ASSIGNMENT or (part is Part.READ and not self._targets[node]):
            variable = self._inputs[node][0]
            return ([], [variable]) if variable in parts else ([variable], [])
        if part is Part.SUMMARY:
            near = [i for i in self._inputs[node] if parts.get(i) is not Part.CONSTANT]
        else:
            near = self._targets[node]
        direct = [other for other in near if other not in parts]
        others = [other for other in near if other in parts]
        if part in (Part.VARIABLE, Part.READ, Part.INITIALIZER):
            # Neither an initial value nor a summary shows what a variable is for.
            others = [o for o in others if parts[o] in (Part.READ, Part.INITIALIZER) and self._targets[o]] + (
                [o for o in others if parts[o] is Part.ASSIGNMENT] if part is Part.INITIALIZER else []
            )
        return direct, others

    def holds(
        self, node: int, hosts: tuple[int, ...], all_hosts: dict[int, tuple[int, ...]], parts: dict[int, Part]
    ) -> bool:
        """Return whether showing the node only at its hosts loses nothing."""
        if len(hosts) == 1:
            return True
        if len(hosts) > MOST_HOSTS or (not hosts and parts[node] is not Part.NOTHING):
            return False
        if parts[node] is Part.SUMMARY and any(i not in all_hosts for i in self._inputs[node]):
            return False
        return all(other in all_hosts or other in hosts for other in (*self.sources[node], *self._targets[node]))


def _part_of(op: str) -> Part | None:
    if op in CONSTANTS or op in _LISTS:
        return Part.CONSTANT
    if op in VARIABLES:
        return Part.VARIABLE
    if op in _READS or op in _COPIES:
        return Part.READ
    if op in _ASSIGNMENTS or op in _CHECKS:
        return Part.ASSIGNMENT
    if op == "NoOp":
        return Part.NOTHING
    return Part.SUMMARY if _SUMMARY.fullmatch(op) else None
