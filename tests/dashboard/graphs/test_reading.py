import json
from dataclasses import replace

import numpy as np
import pytest

from stepscope.dashboard.graphs import costs as costs_module
from stepscope.dashboard.graphs.cards import card_of
from stepscope.dashboard.graphs.compare import Change, compare
from stepscope.dashboard.graphs.costs import Costs, costs_of_step_stats, costs_of_trace
from stepscope.dashboard.graphs.search import search
from stepscope.dashboard.graphs.tree import Tree
from stepscope.dashboard.graphs.walks import path, trace
from stepscope.profiler.traces import read_trace
from stepscope.summary import listed
from stepscope.summary.proto.step_stats_pb2 import StepStats
from stepscope.summary.safe_regex import PatternError
from tests.dashboard.graphs.build import tree
from tests.instructions import Column, Elements

NET = """
x Placeholder: | FLOAT 2,3
net/w VariableV2: | FLOAT 3,4
net/w/read Identity: net/w | FLOAT 3,4
net/y MatMul: x net/w/read | FLOAT 2,4
net/y/act Relu: net/y | FLOAT 2,4
loss Mean: net/y/act ^x | FLOAT 1
other Neg: x | FLOAT 2,3
"""


def test_a_search_finds_names_and_says_what_to_open() -> None:
    found = search(tree(NET), "W", "text", ("name",), 10)

    assert [(r.id, r.op, r.expand, r.hosts) for r in found.results] == [
        ("net/w", "", ("net",), ()),
        ("net/w/(w)", "VariableV2", ("net", "net/w"), ("net/y/(y)",)),
        ("net/w/read", "Identity", ("net", "net/w"), ("net/y/(y)",)),
    ]
    assert (found.count, found.whole) == (3, True)


def test_a_search_goes_over_operations_and_attributes() -> None:
    net = tree(NET)

    assert [r.id for r in search(net, "^(relu|mean)$", "regex", ("op",), 10).results] == ["net/y/act", "loss"]
    assert [r.id for r in search(net, "shapes=\\[2×4", "regex", ("attribute",), 1).results] == ["net/y/(y)"]
    assert search(net, "shapes=\\[2×4", "regex", ("attribute",), 1).count == 2
    assert [r.id for r in search(net, r"^net/y/\(y\)$", "regex", ("name",), 1).results] == ["net/y/(y)"]
    with pytest.raises(PatternError):
        search(net, "(", "regex", ("name",), 10)


def test_walks_follow_edges_one_way() -> None:
    net = tree(NET)

    inputs = trace(net, net.entry_of["net/y/act"], "inputs")
    assert inputs.nodes == ("x", "net/w/(w)", "net/w/read", "net/y/(y)")
    assert inputs.groups == ("net", "net/w", "net/y")
    assert trace(net, net.entry_of["net"], "outputs").nodes == ("loss",)
    assert trace(net, net.entry_of["x"], "outputs").nodes == ("net/y/(y)", "net/y/act", "loss", "other")


def test_a_path_has_all_ways_and_a_shortest_one() -> None:
    net = tree(NET)
    start, end = net.entry_of["x"], net.entry_of["loss"]

    found = path(net, start, end)
    assert found.nodes == ("x", "net/y/(y)", "net/y/act", "loss")
    assert found.shortest == ("x", "loss")
    assert path(net, start, end, control=False).shortest == ("x", "net/y/(y)", "net/y/act", "loss")
    assert path(net, end, start).total == 0


def test_a_card_tells_what_goes_in_and_out() -> None:
    net = tree(NET)
    card = card_of(net, net.entry_of["net/y/(y)"])

    assert (card.name, card.op, card.kind, card.expand) == ("net/y", "MatMul", "op", ("net", "net/y"))
    assert [(link.node, link.slot, link.label, link.bytes) for link in card.inputs] == [
        ("x", 0, "float32 2×3", 24),
        ("net/w/read", 0, "float32 3×4", 48),
    ]
    assert [(link.node, link.input) for link in card.outputs] == [("net/y/act", 0)]
    assert (card.parameters, card.bytes, card.flops) == (12, 48, 2 * 2 * 4 * 3)
    assert card.aux == ("net/w",)
    assert card.outputs_of == ("float32 2×4",)
    assert sorted(card.attributes) == ["T", "_output_shapes"]


def test_a_card_of_a_group_tells_what_is_inside() -> None:
    net = tree(NET)
    card = card_of(net, net.entry_of["net"])

    assert [(m.id, m.kind, m.count) for m in card.members] == [("net/w", "group", 2), ("net/y", "group", 2)]
    assert {o.op: o.count for o in card.ops} == {"Identity": 1, "MatMul": 1, "Relu": 1, "VariableV2": 1}
    assert (card.count, card.parameters, card.flops) == (4, 12, 2 * 2 * 4 * 3 + 8)
    assert [(link.node, link.inside) for link in card.inputs] == [("x", "net/y/(y)")]
    assert card.problems == ()


def test_a_card_tells_what_is_wrong() -> None:
    net = tree("g/a Add: gone lost\nb Neg: gone")

    assert [(p.kind, p.count) for p in card_of(net, net.entry_of["g"]).problems] == [("dangling input", 2)]


def rows(net: Tree, costs: Costs) -> dict[str, tuple[int, int, int, int]]:
    return {
        net.paths[entry]: tuple(int(c[entry]) for c in (costs.time_ns, costs.bytes, costs.ran, costs.calls))  # type: ignore[misc]
        for entry in np.flatnonzero(costs.calls).tolist()
    }


def test_step_stats_are_joined_as_in_tensorboard() -> None:
    net = tree(NET)
    stats = StepStats()
    device = stats.dev_stats.add(device="/device:CPU:0")
    for name, start, length, held in (("net/y", 10, 5, 100), ("net/y", 20, 5, 60), ("net/y/(y)", 30, 1, 0)):
        device.node_stats.add(node_name=name, all_start_micros=start, all_end_rel_micros=length).memory.add(
            total_bytes=held
        )
    device.node_stats.add(node_name="net/y/act", all_start_micros=40, all_end_rel_micros=2).memory.add(total_bytes=-7)
    device.node_stats.add(node_name="_SOURCE", all_start_micros=1, all_end_rel_micros=1)
    costs = costs_of_step_stats(net, stats)

    assert rows(net, costs) == {
        "": (23_000, 100, 2, 4),
        "net": (23_000, 100, 2, 4),
        "net/y": (23_000, 100, 2, 4),
        "net/y/(y)": (21_000, 100, 1, 3),
        "net/y/act": (2_000, 0, 1, 1),
    }
    assert (costs.matched, costs.unmatched, costs.unmatched_names) == (4, 1, ("_SOURCE",))
    assert costs_of_step_stats(net, stats, ["/device:GPU:0"]).matched == 0


def test_slices_of_a_trace_are_joined_by_name_note_or_operation() -> None:
    net = tree(NET)
    slices = [
        {"name": "net/y", "dur": 3},
        {"name": "net/y", "dur": 4},
        {"name": "fusion.1", "dur": 5, "args": {"tf_op": "net/y/act:Relu"}},
        {"name": "Neg", "dur": 6},
        {"name": "wait", "dur": 9},
    ]
    events = [{"ph": "X", "pid": 1, "tid": 1, "ts": 100 * i, **event} for i, event in enumerate(slices)]
    costs = costs_of_trace(net, read_trace(json.dumps({"traceEvents": events}).encode(), name="t.trace.json"))

    assert rows(net, costs) == {
        "": (18_000, 0, 3, 4),
        "net": (12_000, 0, 2, 3),
        "net/y": (12_000, 0, 2, 3),
        "net/y/(y)": (7_000, 0, 1, 2),
        "net/y/act": (5_000, 0, 1, 1),
        "other": (6_000, 0, 1, 1),
    }
    assert (costs.matched, costs.unmatched_names) == (4, ("wait",))


@pytest.mark.parametrize(
    ("most_decoded", "expected", "unmatched"),
    [
        (100, {"net/y/(y)": 500, "other": 1_010, "net/y/act": 1_110_000}, ()),
        (5, {"net/y/(y)": 500, "other": 10, "net/y/act": 1_110_000}, ("gemm",)),
    ],
)
def test_kernels_with_one_name_count_for_the_nodes_in_their_notes(
    monkeypatch: pytest.MonkeyPatch, most_decoded: int, expected: dict[str, int], unmatched: tuple[str, ...]
) -> None:
    """Those beyond the maximum count only if all others with their name have one node."""
    monkeypatch.setattr(costs_module, "_MOST_DECODED", most_decoded)
    net = tree(NET)
    kernels = [
        ("gemm", 100, "net/y:MatMul"),
        ("gemm", 10, "other:Neg"),
        ("gemm", 400, "net/y:MatMul"),
        ("gemm", 1_000, "other:Neg"),
        ("relu", 10_000, "net/y/act:Relu"),
        ("relu", 100_000, "net/y/act:Relu"),
        ("relu", 1_000_000, "net/y/act:Relu"),
    ]
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": 10_000_000 * i, "name": name, "dur": duration, "args": {"tf_op": note}}
        for i, (name, duration, note) in enumerate(kernels)
    ]
    costs = costs_of_trace(net, read_trace(json.dumps({"traceEvents": events}).encode(), name="t.trace.json"))

    assert {path: int(costs.time_ns[net.entry_of[path]]) // 1_000 for path in expected} == expected
    assert (costs.matched, costs.unmatched_names) == (len(kernels) - len(unmatched), unmatched)


def test_kernels_count_though_others_with_their_name_have_no_note_and_another_name_is_frequent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(costs_module, "_MOST_DECODED", 6)
    slices = [*[("loop", {})] * 8, ("gemm", {}), ("gemm", {"tf_op": "other:Neg"}), ("gemm", {"tf_op": "net/y:MatMul"})]
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": 10 * i, "name": name, "dur": 1, "args": args}
        for i, (name, args) in enumerate(slices)
    ]
    costs = costs_of_trace(tree(NET), read_trace(json.dumps({"traceEvents": events}).encode(), name="t.trace.json"))
    assert (costs.matched, costs.unmatched, costs.unmatched_names) == (2, 9, ("loop", "gemm"))


@pytest.mark.parametrize(("note", "matched"), [({}, 2), ({"tf_op": "unknown:Neg"}, 1)])
def test_a_slice_without_a_note_leaves_the_node_of_its_name_to_those_that_are_not_decoded(
    monkeypatch: pytest.MonkeyPatch, note: dict[str, str], matched: int
) -> None:
    monkeypatch.setattr(costs_module, "_MOST_DECODED", 2)
    slices = [("gemm", note), ("gemm", {"tf_op": "other:Neg"}), ("gemm", {"tf_op": "other:Neg"})]
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": 10 * i, "name": name, "dur": 1, "args": args}
        for i, (name, args) in enumerate(slices)
    ]
    costs = costs_of_trace(tree(NET), read_trace(json.dumps({"traceEvents": events}).encode(), name="t.trace.json"))
    assert (costs.matched, costs.unmatched, costs.unmatched_names) == (matched, 3 - matched, ("gemm",))


def test_graphs_are_compared_node_by_node() -> None:
    after = NET.replace("other Neg: x | FLOAT 2,3", "new Neg: x | FLOAT 2,3").replace("loss Mean:", "loss Sum:")
    found = compare(tree(NET), tree(after.replace("act Relu: net/y | FLOAT 2,4", "act Relu: x | DOUBLE 2,4")))

    assert (found.added, found.removed) == (("new",), ("other",))
    assert found.changed == (
        Change("net/y/act", "inputs", "net/y", "x"),
        Change("net/y/act", "attr.T", "float32", "float64"),
        Change("loss", "op", "Mean", "Sum"),
    )
    assert (found.added_count, found.removed_count, found.changed_count, found.same_count) == (1, 1, 2, 4)


def test_graphs_are_compared_without_a_long_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a graph of a million nodes, each such call kept everybody waiting for a second."""
    monkeypatch.setattr(listed, "_PIECE", 3)
    plain = tree(NET)
    names, entries = Elements(*plain.model.names), Column.of(plain.leaf_of)
    watched = replace(plain, opened=replace(plain.opened, model=replace(plain.model, names=names)), leaf_of=entries)
    assert compare(watched, watched) == compare(plain, plain)
    assert names.taken_at_once == set()
    assert entries.lists == 2 * [3, 3, 1]
