"""TensorFlow's ``tfprof`` views of a step, and the checks of its advisor.

Times are those of the trace (``all_end_rel``), where tfprof uses ``op_end_rel``; kernels that StepStats repeats count
once. Accelerator time is what ran on a device's streams for a node, like tfprof's devices with ``stream:all``; CPU time
is that of the executors' nodes. tfprof's "code" view needs Python tracebacks, which StepStats does not have; it is
`stepscope.profiler.analysis.code`, for traces that have them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.facts import Facts, facts_of
from stepscope.profiler.analysis.reached_sums import reached_sums
from stepscope.profiler.analysis.reasons import NO_STEP_STATS
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.trace import Trace
from stepscope.summary.listed import listed
from stepscope.summary.proto.graph_pb2 import GraphDef

if TYPE_CHECKING:
    import polars as pl

View = Literal["scope", "graph", "op"]
NO_THREAD: Final = "operations"
"""The lane of a device whose StepStats do not say which thread ran what; see `stepscope.profiler.traces.step_stats`."""
LOW_UTILIZATION: Final = 0.5
_LAYOUT_OPS: Final = frozenset({"Conv2D", "MaxPool", "AvgPool", "FusedBatchNorm", "BiasAdd", "FusedBatchNormV3"})
_UNFUSED_NORM: Final = re.compile(r"batch_?norm.*(rsqrt|moments/mean|batchnorm/mul)$", re.I)
_TOP: Final = 3


@dataclass
class _Node:
    """Facts about a graph node from one trace."""

    op: str = ""
    cpu_ns: int = 0
    accelerator_ns: int = 0
    calls: int = 0
    bytes: int = 0
    inputs: set[str] = field(default_factory=set)


def _nodes(facts: Facts) -> dict[str, _Node]:
    """Return nodes by name: host operators, and what ran on streams for them."""
    nodes: dict[str, _Node] = {}
    trace = facts.trace
    own = _own_times(facts)
    for index in listed(facts.operator_slices):
        arguments = trace.arguments[index]
        name = str(arguments.get("node", arguments.get("name", trace.names[int(trace.name_id[index])])))
        node = nodes.setdefault(name, _Node())
        node.op = str(arguments.get("op", trace.categories[int(trace.category_id[index])]))
        node.calls += 1
        node.cpu_ns += int(own[index])
        size = arguments.get("output bytes", 0)
        node.bytes += size if isinstance(size, int) else 0
        node.inputs |= {
            str(value).removeprefix("^").partition(":")[0]
            for key, value in arguments.items()
            if key.startswith("input")
        }
    device = facts.every_device_activity
    for index, duration in zip(listed(device.slice), listed(device.duration), strict=True):
        arguments = trace.arguments[index]
        name = str(arguments.get("node", trace.names[int(trace.name_id[index])]))
        node = nodes.setdefault(name, _Node(op=str(arguments.get("op", "kernel"))))
        node.accelerator_ns += duration
    return nodes


def _own_times(facts: Facts) -> NDArray[np.int64]:
    """Return durations of slices, int64 ``[n]``, without the operators inside them on the same thread.

    TensorFlow's operators do not nest, but scopes that a program names do. Lanes that are not a thread are unchanged:
    operators inside another slice there ran in parallel with it.
    """
    trace, operators = facts.trace, facts.operator_slices
    own = trace.duration_ns.copy()
    is_operator = np.zeros(len(trace), np.bool_)
    is_operator[operators] = True
    around = facts.nearest(is_operator)[operators]
    threads = np.array([lane.name != NO_THREAD for lane in trace.lanes] or [False], np.bool_)
    inside = (around >= 0) & threads[trace.lane[operators]]
    np.subtract.at(own, around[inside], trace.duration_ns[operators[inside]])
    return own


def tfprof(trace: Trace | Facts, *, view: View = "scope") -> "pl.DataFrame":
    """Return one of tfprof's views, longest total first.

    - scope: a row per name scope and node ("a/b/c" lies in "a/b"); the total includes nested scopes.
    - graph: a row per node; the total adds everything the node needs, along its inputs, each node once.
    - op: a row per op type; totals are the type's own.

    Columns: name (text), op (text, "" for scopes), occurrences, bytes (int64, of outputs), cpu_ns, accelerator_ns,
    self_ns, total_ns (int64; self = cpu + accelerator).
    """
    import polars as pl

    nodes = facts_of(trace).once(_nodes)
    match view:
        case "scope":
            rows = _scopes(nodes)
        case "graph":
            rows = [_row(name, node, total) for (name, node), total in zip(nodes.items(), _needed(nodes), strict=True)]
        case "op":
            rows = _ops(nodes)
        case _:
            assert_never(view)
    integers = ("occurrences", "bytes", "cpu_ns", "accelerator_ns", "self_ns", "total_ns")
    frame = pl.DataFrame(rows, schema={"name": pl.String, "op": pl.String, **dict.fromkeys(integers, pl.Int64)})
    return frame.sort("total_ns", "name", descending=[True, False])


def _row(name: str, node: _Node, total: int) -> dict[str, Any]:
    return {
        "name": name,
        "op": node.op,
        "occurrences": node.calls,
        "bytes": node.bytes,
        "cpu_ns": node.cpu_ns,
        "accelerator_ns": node.accelerator_ns,
        "self_ns": node.cpu_ns + node.accelerator_ns,
        "total_ns": total,
    }


def _scopes(nodes: Mapping[str, _Node]) -> list[dict[str, Any]]:
    totals: dict[str, int] = {}
    for name, node in nodes.items():
        parts = name.split("/")
        for length in range(1, len(parts) + 1):
            scope = "/".join(parts[:length])
            totals[scope] = totals.get(scope, 0) + node.cpu_ns + node.accelerator_ns
    return [_row(scope, nodes.get(scope, _Node()), total) for scope, total in totals.items()]


def _needed(nodes: Mapping[str, _Node]) -> list[int]:
    """Return, for each node, its time and that of all nodes reached through its inputs."""
    numbers = {name: number for number, name in enumerate(nodes)}
    edges = []
    for number, node in enumerate(nodes.values()):
        for name in node.inputs:
            known = name if name in nodes else name.rpartition("/_")[0]
            if known in nodes:
                edges.append((number, numbers[known]))
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    times = np.array([node.cpu_ns + node.accelerator_ns for node in nodes.values()], np.int64)
    needed: list[int] = reached_sums(source, target, times).tolist()
    return needed


def _ops(nodes: Mapping[str, _Node]) -> list[dict[str, Any]]:
    sums: dict[str, _Node] = {}
    for node in nodes.values():
        whole = sums.setdefault(node.op, _Node(op=node.op))
        whole.calls += node.calls
        whole.bytes += node.bytes
        whole.cpu_ns += node.cpu_ns
        whole.accelerator_ns += node.accelerator_ns
    return [_row(op, node, node.cpu_ns + node.accelerator_ns) for op, node in sums.items()]


def advice(trace: Trace | Facts, graph: GraphDef | None = None) -> "pl.DataFrame":
    """Return the checks of tfprof's advisor.

    - accelerator_utilization: accelerator time by the span of the trace, per device; under 0.5 is low;
    - operation: nodes of channels-last layout (NHWC) on a device, and batch normalization that is not fused;
    - expensive_operation: the three op types, and the three nodes, with the most time.

    Layouts are in the graph; without ``graph``, that check finds nothing.

    Columns: checker, subject (text), value (float64: share of the span, or nanoseconds), message (text).
    """
    import polars as pl

    facts = facts_of(trace)
    rows: list[dict[str, Any]] = [*_utilization(facts), *_operations(facts, graph), *_expensive(facts)]
    schema = {"checker": pl.String, "subject": pl.String, "value": pl.Float64, "message": pl.String}
    return pl.DataFrame(rows, schema=schema)


def _utilization(facts: Facts) -> Iterable[dict[str, Any]]:
    device = facts.every_device_activity
    ends = facts.end_ns
    span = int(ends.max() - facts.trace.start_ns.min()) if len(ends) else 0
    for number in sorted(set(device.device.tolist())):
        busy = int(device.duration[device.device == number].sum())
        share = busy / span if span else 0.0
        yield {
            "checker": "accelerator_utilization",
            "subject": f"GPU {number}",
            "value": share,
            "message": f"device is busy {share:.0%} of the time: {'low' if share < LOW_UTILIZATION else 'fine'}",
        }


def _operations(facts: Facts, graph: GraphDef | None) -> Iterable[dict[str, Any]]:
    nodes = facts.once(_nodes)
    layouts = {
        node.name: node.attr["data_format"].s.decode(errors="replace")
        for node in (graph.node if graph is not None else ())
        if "data_format" in node.attr
    }
    for name, node in sorted(nodes.items()):
        if node.op in _LAYOUT_OPS and layouts.get(name) == "NHWC" and node.accelerator_ns:
            message = f"{node.op} runs on the device in NHWC layout; NCHW is usually faster there"
            yield {"checker": "operation", "subject": name, "value": float(node.accelerator_ns), "message": message}
        if _UNFUSED_NORM.search(name):
            message = "batch normalization of several operations; the fused one is faster"
            value = float(node.cpu_ns + node.accelerator_ns)
            yield {"checker": "operation", "subject": name, "value": value, "message": message}


def _expensive(facts: Facts) -> Iterable[dict[str, Any]]:
    nodes = facts.once(_nodes)
    own = [_row(name, node, 0) for name, node in nodes.items()]
    for rows, noun in ((_ops(nodes), "operation type"), (own, "operation")):
        whole = sum(row["self_ns"] for row in rows)
        for row in sorted(rows, key=lambda row: (-row["self_ns"], row["name"]))[:_TOP]:
            share = row["self_ns"] / whole if whole else 0.0
            yield {
                "checker": "expensive_operation",
                "subject": row["name"],
                "value": float(row["self_ns"]),
                "message": f"{noun}, {share:.0%} of the total time",
            }


_VIEWS: Final[Mapping[View, tuple[str, str, str]]] = {
    "scope": (
        "time by name scope (StepStats)",
        "Scopes",
        "A row per name scope and node; the total includes nested scopes.",
    ),
    "graph": (
        "time by node and its inputs (StepStats)",
        "Nodes",
        "A row per node; the total includes everything that the node needs.",
    ),
    "op": ("time by op type (StepStats)", "Op types", "A row per op type."),
}


def _of_view(of: View) -> Analysis:
    about, title, description = _VIEWS[of]
    # Scopes contain each other, so their sums are meaningless.
    adds_up = of != "scope"
    return Analysis(
        f"tfprof_{of}",
        about,
        lambda facts: tfprof(facts, view=of),
        (
            Column("name", "name of the node, the scope or the op type"),
            Column("op", "its op type; empty for scopes", "label"),
            Column("occurrences", "how often it ran", adds_up=adds_up),
            Column("bytes", "bytes of its outputs", adds_up=adds_up),
            Column("cpu_ns", "time on the host", adds_up=adds_up),
            Column("accelerator_ns", "time on streams of devices", adds_up=adds_up, of_devices=True),
            Column("self_ns", "self time, excluding what is nested inside", adds_up=adds_up),
            Column("total_ns", "total time, including what is nested inside or needed"),
        ),
        title=title,
        description=description,
        empty=NO_STEP_STATS,
    )


TFPROF: Final[Mapping[View, Analysis]] = {of: _of_view(of) for of in _VIEWS}
"""tfprof's views."""
ADVICE: Final = Analysis(
    "advice",
    "checks of tfprof's advisor (StepStats)",
    advice,
    (
        Column("checker", "the check", "word"),
        Column("subject", "the subject of the check: a device or an op"),
        Column("value", "the share of the span, or the nanoseconds, stated in the message"),
        Column("message", "what the check found"),
    ),
    title="Advice",
    description="The checks of tfprof's advisor.",
    empty=NO_STEP_STATS,
)
"""Checks of tfprof's advisor."""
