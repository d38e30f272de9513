"""Graphs that TensorFlow, Keras and PyTorch wrote, with their known totals."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.dashboard.graphs.costs import costs_of_step_stats
from stepscope.dashboard.graphs.scene import scene_of
from stepscope.dashboard.graphs.sources import GraphCache, OpenGraph, graph_sources
from stepscope.dashboard.panels.graph.choices import first_graph
from stepscope.summary.logdir import Logdir

pytestmark = pytest.mark.peers
Peer = Callable[[str], Path]


def opened(folder: Path) -> dict[str, OpenGraph]:
    cache = GraphCache()
    return {source.id: cache.get(source) for source in graph_sources(Logdir(folder).update())}


def test_a_graph_of_tensorflow_1(peer: Peer) -> None:
    found = opened(peer("tensorflow1/logdir"))
    assert list(found) == [".|graph|__run_graph__"]
    tree = found[".|graph|__run_graph__"].tree()

    assert (len(tree.model), len(tree.model.source), tree.problems) == (229, 344, ())
    # Three dense layers of 784, 256, 128 and 10; Adam's own variables are not trained.
    assert tree.parameters[0] == 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    assert tree.bytes[0] == 4 * tree.parameters[0]
    histogram = Counter(tree.op_histogram(0))
    assert histogram.most_common(3) == [("Const", 60), ("Identity", 32), ("Assign", 22)]
    scene = scene_of(tree, frozenset({"layer0"}))
    assert [(n.id, n.aux) for n in scene.nodes if n.parent == "layer0"] == [
        ("layer0/MatMul", ("layer0/w",)),
        ("layer0/add", ("layer0/b",)),
        ("layer0/Relu", ()),
    ]
    assert {n.structure for n in scene.nodes if n.id in ("layer0", "layer1")} == {
        int(tree.structure[tree.entry_of["layer0"]])
    }
    assert [(e.source, e.target, e.label) for e in scene.edges][:3] == [
        ("x", "layer0/MatMul", "float32 ?×784"),
        ("x", "Reshape", "float32 ?×784"),
        ("y", "SparseSoftmaxCrossEntropyWithLogits", "int64 ?"),
    ]


@pytest.mark.parametrize(("logdir", "nodes"), [("tensorflow1/logdir", 89), ("pack/tensorflow1/logdir", 41)])
def test_costs_of_a_profiled_step_of_tensorflow_1(peer: Peer, logdir: str, nodes: int) -> None:
    snapshot = Logdir(peer(logdir)).update()
    tree = opened(peer(logdir))[".|graph|__run_graph__"].tree()
    costs = costs_of_step_stats(tree, snapshot.runs["."].series["step4"].read(0).step_stats)

    assert costs.matched + costs.unmatched == nodes
    assert all(name.startswith("_") or "/_" in name or ":" in name for name in costs.unmatched_names)
    layer = tree.entry_of["layer0"]
    assert costs.time_ns[layer] == sum(int(costs.time_ns[child]) for child in tree.children(layer))
    assert 0 < costs.time_ns[layer] < costs.time_ns[0]


def test_a_small_graph_of_tensorflow_1(peer: Peer) -> None:
    found = opened(peer("pack/tensorflow1/logdir"))
    assert list(found) == [".|graph|__run_graph__"]
    tree = found[".|graph|__run_graph__"].tree()

    assert (len(tree.model), len(tree.model.source), tree.problems) == (69, 87, ())
    assert (tree.parameters[0], tree.bytes[0]) == (12 * 4 + 4, 4 * (12 * 4 + 4))
    scene = scene_of(tree, frozenset({"layer0"}))
    inside = [(n.id, n.aux) for n in scene.nodes if n.parent == "layer0"]
    assert inside == [("layer0/product", ("w",)), ("layer0/add", ("b",))]
    edges = {(e.source, e.target): e.label for e in scene.edges}
    assert edges["x", "layer0/product"] == "float32 ?×12"
    assert edges["layer0/product", "layer0/add"] == "float32 ?×4"


def test_small_graphs_of_functions_and_layers_of_tensorflow_2(peer: Peer) -> None:
    found = opened(peer("pack/tensorflow2"))
    assert sorted(found) == ["eager|graph|dense", "keras/train|graph|batch_3", "keras/train|graph|keras"]
    assert len(found["eager|graph|dense"].model) == 13
    batch = found["keras/train|graph|batch_3"]
    assert (len(batch.model), len(batch.model.functions), batch.tree().problems) == (189, 4, ())
    layers = found["keras/train|graph|keras"].tree()
    assert [(n.id, n.op) for n in scene_of(layers, frozenset({"sequential"})).nodes] == [
        ("sequential", ""),
        ("sequential/input_layer", "InputLayer"),
        ("sequential/conv", "Conv2D"),
        ("sequential/flat", "Flatten"),
        ("sequential/head", "Dense"),
    ]


def test_graphs_of_functions_and_layers_of_tensorflow_2(peer: Peer) -> None:
    found = opened(peer("tensorflow2"))
    assert sorted(found) == ["eager|graph|func", "keras/train|graph|keras"]

    function = found["eager|graph|func"]
    assert (len(function.model), len(function.model.functions)) == (420, 4)
    tree = function.tree()
    assert len({name.partition("/")[0] for name in function.model.names}) == 108
    assert [tree.paths[entry] for entry in tree.children(0) if tree.kinds[entry] == "series"] == ["graph_[83-88]"]
    assert len(tree.opened.opened) >= 4
    assert all(tree.kinds[entry] == "function" for entry in (int(tree.parent[tree.leaf_of[420]]),))

    layers = found["keras/train|graph|keras"].tree()
    assert [(n.id, n.op) for n in scene_of(layers, frozenset({"sequential"})).nodes] == [
        ("sequential", ""),
        ("sequential/input_layer", "InputLayer"),
        ("sequential/conv", "Conv2D"),
        ("sequential/flat", "Flatten"),
        ("sequential/head", "Dense"),
    ]


@pytest.mark.parametrize(
    ("logdir", "shown"),
    [
        ("tensorflow2", "keras/train|graph|keras"),
        ("pack/tensorflow2", "keras/train|graph|keras"),
        ("pack/tensorflow2/eager", ".|graph|dense"),
    ],
)
def test_the_model_is_shown_first_and_functions_where_there_is_none(peer: Peer, logdir: str, shown: str) -> None:
    assert first_graph(graph_sources(Logdir(peer(logdir)).update())) == shown


@pytest.mark.parametrize(("logdir", "count", "name"), [("torch", 4, "Sequential"), ("pack/torch", 1, "Network")])
def test_graphs_of_torch(peer: Peer, logdir: str, count: int, name: str) -> None:
    found = opened(peer(logdir))
    assert len(found) == count
    for graph in found.values():
        tree = graph.tree()
        assert (len(tree.model), tree.problems) == (20, ())
        scene = scene_of(tree, frozenset({name}))
        assert [(e.source, e.target) for e in scene.edges] == [
            ("input", f"{name}/Conv2d[0]"),
            (f"{name}/Conv2d[0]", f"{name}/ReLU[1]"),
            (f"{name}/ReLU[1]", f"{name}/Flatten[2]"),
            (f"{name}/Flatten[2]", f"{name}/Linear[3]"),
            (f"{name}/Linear[3]", "output"),
        ]
