# PyTorch is not analyzed: its classes are Any.
# mypy: disable-error-code="misc,untyped-decorator,name-defined,has-type"
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import nn  # noqa: E402
from torch.utils.tensorboard._pytorch_graph import graph as graph_of_pytorch  # noqa: E402

from stepscope.summary.graphs import graph_of  # noqa: E402
from stepscope.summary.graphs.from_torch import graph_from_torch  # noqa: E402
from stepscope.summary.proto import types_pb2  # noqa: E402
from stepscope.summary.proto.graph_pb2 import GraphDef  # noqa: E402


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)
        self.register_buffer("scale", torch.ones(2))

    def forward(self, x: Any, y: Any = None) -> Any:
        out = self.head(self.body(x)) * self.scale
        return out if y is None else out + y


class Split(nn.Module):
    def forward(self, x: Any) -> Any:
        left, right = x.split(1, 1)
        return right, left.sum()


def rows(graph: GraphDef) -> list[tuple[str, str, list[str]]]:
    return [(node.name, node.op, list(node.input)) for node in graph.node]


def shapes(graph: GraphDef) -> dict[str, list[list[int]]]:
    return {
        node.name: [[dim.size for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape]
        for node in graph.node
        if "_output_shapes" in node.attr
    }


def dangling(graph: GraphDef) -> list[tuple[str, str]]:
    names = {node.name for node in graph.node}
    assert len(names) == len(graph.node)
    return [(n.name, source) for n in graph.node for source in n.input if source.partition(":")[0] not in names]


def module_scopes(graph: Any) -> set[str]:
    """The scopes with a class in their names; PyTorch's writer also gives each parameter a scope of its own."""
    parts = (node.name.split("/") for node in graph.node)
    return {"/".join(p[: i + 1]) for p in parts for i, part in enumerate(p) if part.endswith("]")}


def test_nodes_edges_and_shapes() -> None:
    graph = graph_from_torch(Net(), torch.ones(3, 4))
    assert rows(graph) == [
        ("input/x", "IO Node", []),
        ("Net/scale", "prim::GetAttr", []),
        ("Net/Sequential[body]/Linear[0]/bias", "prim::GetAttr", []),
        ("Net/Sequential[body]/Linear[0]/weight", "prim::GetAttr", []),
        (
            "Net/Sequential[body]/Linear[0]/linear",
            "aten::linear",
            ["input/x", "Net/Sequential[body]/Linear[0]/weight", "Net/Sequential[body]/Linear[0]/bias"],
        ),
        ("Net/Sequential[body]/ReLU[1]/relu", "aten::relu", ["Net/Sequential[body]/Linear[0]/linear"]),
        ("Net/Linear[head]/bias", "prim::GetAttr", []),
        ("Net/Linear[head]/weight", "prim::GetAttr", []),
        (
            "Net/Linear[head]/linear",
            "aten::linear",
            ["Net/Sequential[body]/ReLU[1]/relu", "Net/Linear[head]/weight", "Net/Linear[head]/bias"],
        ),
        ("Net/mul", "aten::mul", ["Net/Linear[head]/linear", "Net/scale"]),
        ("output/output.1", "IO Node", ["Net/mul"]),
    ]
    assert shapes(graph) == {
        "input/x": [[3, 4]],
        "Net/scale": [[2]],
        "Net/Sequential[body]/Linear[0]/bias": [[8]],
        "Net/Sequential[body]/Linear[0]/weight": [[8, 4]],
        "Net/Sequential[body]/Linear[0]/linear": [[3, 8]],
        "Net/Sequential[body]/ReLU[1]/relu": [[3, 8]],
        "Net/Linear[head]/bias": [[2]],
        "Net/Linear[head]/weight": [[2, 8]],
        "Net/Linear[head]/linear": [[3, 2]],
        "Net/mul": [[3, 2]],
        "output/output.1": [[3, 2]],
    }
    assert {node.attr["dtype"].type for node in graph.node} == {types_pb2.DT_FLOAT}


def test_several_outputs_are_one_node_and_constants_are_attributes() -> None:
    graph = graph_from_torch(Split(), torch.ones(3, 2))
    by_name = {node.name: node for node in graph.node}
    assert list(by_name["Split/TupleConstruct"].input) == ["Split/ListUnpack:1", "Split/sum"]
    assert shapes(graph)["Split/ListUnpack"] == [[3, 1], [3, 1]]
    assert (by_name["Split/split"].attr["split_size"].i, by_name["Split/split"].attr["dim"].i) == (1, 1)
    assert dangling(graph) == []


MODELS: list[Callable[[], tuple[Any, tuple[Any, ...]]]] = [
    lambda: (Net(), (torch.ones(3, 4), torch.ones(2))),
    lambda: (nn.LSTM(4, 5, 2), (torch.ones(3, 2, 4),)),
    lambda: (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout()),
        (torch.ones(2, 3, 8, 8),),
    ),
    lambda: (nn.Sequential(nn.Embedding(9, 4), nn.GRU(4, 3)), (torch.arange(6).reshape(2, 3),)),
    lambda: (Split(), (torch.ones(3, 2),)),
]


@pytest.mark.parametrize("made", MODELS)
def test_the_same_operations_and_modules_as_pytorchs_writer(made: Callable[[], Any]) -> None:
    model, inputs = made()
    ours = graph_from_torch(model, inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, _ = graph_of_pytorch(model, inputs)
    assert {node.op for node in ours.node} == {node.op for node in theirs.node}
    assert module_scopes(ours) == module_scopes(theirs)
    assert dangling(ours) == []


def test_a_constant_without_elements_is_shown_whatever_its_shape() -> None:
    empty = torch.empty(1 << 40, 0)

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + empty.sum()

    graph = graph_from_torch(Model(), torch.ones(2))
    values = [node.attr["value"].s for node in graph.node if node.op == "prim::Constant"]
    assert b"float32[1099511627776, 0] []" in values


def test_attention_that_pytorchs_writer_cannot_trace_is_shown_in_detail() -> None:
    # In evaluation mode, a whole layer is one operation if no gradient is wanted, so PyTorch's two traces differ.
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
    with torch.no_grad():
        graph = graph_from_torch(encoder, torch.ones(2, 3, 8))
    assert "aten::_transformer_encoder_layer_fwd" not in {node.op for node in graph.node}
    attention = "TransformerEncoder/ModuleList[layers]/TransformerEncoderLayer[1]/MultiheadAttention[self_attn]"
    assert attention in {node.name.rpartition("/")[0] for node in graph.node}
    assert dangling(graph) == []
    assert torch.backends.mha.get_fastpath_enabled()


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("replaced", torch.zeros(1))
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.replaced = self.replaced + 1
        return self.norm(x) + torch.rand(4) + self.calls


def test_the_model_and_the_random_state_stay_as_they_were() -> None:
    model = Counter()
    model.norm.eval()
    x = torch.ones(2, 4, requires_grad=True)
    state = {name: (value, value.clone()) for name, value in model.named_buffers()}
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph_from_torch(model, x)
    assert torch.equal(torch.rand(1), expected)
    assert (model.training, model.norm.training) == (True, False)
    for name, value in model.named_buffers():
        assert value is state[name][0]
        assert torch.equal(value, state[name][1])
    assert x.grad is None
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_module_that_is_called_twice_is_there_twice_with_one_weight() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.layer(self.layer(x))

    graph = graph_from_torch(Twice(), torch.ones(1, 4))
    first = ["input/x", "Twice/Linear[layer]/weight", "Twice/Linear[layer]/bias"]
    assert [row for row in rows(graph) if row[1] == "aten::linear"] == [
        ("Twice/Linear[layer]/linear", "aten::linear", first),
        ("Twice/Linear[layer]/linear_1", "aten::linear", ["Twice/Linear[layer]/linear", *first[1:]]),
    ]


def test_inputs_as_list_dict_of_keywords_and_dict_as_argument() -> None:
    class Lookup(nn.Module):
        def forward(self, batch: Any) -> Any:
            return batch["a"] + batch["b"]

    x, y = torch.ones(3, 4), torch.ones(2)
    by_list = graph_from_torch(Net(), [x, y])
    assert [row[0] for row in rows(by_list) if row[1] == "IO Node"] == ["input/x", "input/y", "output/output.1"]
    assert graph_from_torch(Net(), {"y": y, "x": x}) == by_list
    graph = graph_from_torch(Lookup(), {"a": y, "b": y})
    assert [row[1] for row in rows(graph)].count("aten::add") == 1


def test_a_compiled_module_is_the_module_that_was_compiled() -> None:
    net = Net()
    assert graph_of(torch.compile(net), torch.ones(3, 4)) == graph_from_torch(net, torch.ones(3, 4))


@torch.jit.script
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):
            x = doubled(self.layer(x))
        for turn in range(3):
            x = x + turn
        return x


def test_scripts_with_conditions_loops_and_functions() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(Branches())
    graph = graph_from_torch(script, torch.ones(2, 4))
    found = {row for name, op, sources in rows(graph) if op != "prim::Constant" for row in [(name, op, *sources)]}
    assert {
        ("Branches/If/then/doubled/mul", "aten::mul"),
        ("Branches/Linear[layer]/linear", "aten::linear"),
        ("Branches/If", "prim::If"),
        ("Branches/Loop/body/add", "aten::add"),
        ("Branches/Loop", "prim::Loop"),
    } <= {row[:2] for row in found}
    condition = next(row for row in found if row[0] == "Branches/If")
    assert condition[-2:] == ("Branches/If/then/doubled/mul", "input/x")
    assert ("output/output.1", "IO Node", "Branches/Loop") in found
    assert shapes(graph)["input/x"] == [[2, 4]]
    assert dangling(graph) == []
    assert dangling(graph_from_torch(script)) == []
    assert graph_from_torch(script, {"x": torch.ones(2, 4)}) == graph
    assert rows(graph_from_torch(doubled, torch.ones(2)))[-1] == ("output/output.1", "IO Node", ["doubled/mul"])


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: Any) -> Any:
        hidden = self.body(x)
        return {"hidden": hidden, "both": (hidden, hidden.sum())}


def test_what_cannot_be_traced_is_exported() -> None:
    # Tensors and tuples in one dict: torch.jit.trace has no type for that.
    model = Named().train()
    graph = graph_from_torch(model, torch.ones(2, 4))
    assert [row for row in rows(graph) if row[1] != "prim::GetAttr"] == [
        ("input/x", "IO Node", []),
        (
            "Named/Sequential[body]/Linear[0]/linear",
            "aten.linear.default",
            ["input/x", "Named/Sequential[body]/Linear[0]/weight", "Named/Sequential[body]/Linear[0]/bias"],
        ),
        ("Named/Sequential[body]/ReLU[1]/relu", "aten.relu.default", ["Named/Sequential[body]/Linear[0]/linear"]),
        ("Named/sum_1", "aten.sum.default", ["Named/Sequential[body]/ReLU[1]/relu"]),
        ("output/output.1", "IO Node", ["Named/Sequential[body]/ReLU[1]/relu"]),
        ("output/output.2", "IO Node", ["Named/sum_1"]),
    ]
    assert shapes(graph)["Named/Sequential[body]/Linear[0]/weight"] == [[4, 4]]
    assert model.training
    assert all(module.training for module in model.modules())


def test_an_exported_program_keeps_the_names_of_open_sizes() -> None:
    size = torch.export.Dim("batch", min=2)
    program = torch.export.export(Net().eval(), (torch.ones(3, 4),), dynamic_shapes={"x": {0: size}})
    (node,) = [node for node in graph_of(program).node if node.name == "input/x"]
    first, second = node.attr["_output_shapes"].list.shape[0].dim
    assert (first.size, bool(first.name), second.size) == (-1, True, 4)


def test_inputs_that_do_not_fit_raise_with_pytorchs_error() -> None:
    model = Net()
    with pytest.raises(
        ValueError, match=r"Net cannot be called with the given input_to_model: mat1 and mat2"
    ) as caught:
        graph_from_torch(model, torch.ones(3, 5))
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert model.training
    reason = r" \(a dict is one argument unless its keys are parameters of forward, which has none named z\)$"
    with pytest.raises(ValueError, match=f"^Net cannot be called with the given input_to_model: .*{reason}"):
        graph_from_torch(model, {"z": torch.ones(3, 4)})


def test_what_neither_traces_nor_exports_says_both() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(Branches())

    class Even(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.script = script

        def forward(self, x: Any) -> Any:
            return {"a": self.script(x)}

    class Odd(Even):
        def forward(self, x: Any) -> Any:
            return {"a": self.script(x), "b": (x, x)}

    # Only a trace that is not strict follows this call.
    names = [node.name for node in graph_from_torch(Even(), torch.ones(2, 4)).node if node.op == "IO Node"]
    assert names == ["input/x", "output/output.1"]
    message = (
        "Odd can be called, but not traced, because it does or returns something that neither tracer supports. "
        "torch.jit.trace says: "
        "Tracer cannot infer type of {'a':... torch.export says: "
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as caught:
        graph_from_torch(Odd(), torch.ones(2, 4))
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("model", [nn.Linear(2, 2), 3, torch.ones(2), nn.Linear])
def test_what_is_no_model_with_inputs(model: Any) -> None:
    with pytest.raises(TypeError, match=r"input_to_model must be|expected a PyTorch module"):
        graph_from_torch(model)


def test_lazy_modules_must_have_been_called() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    with pytest.raises(ValueError, match=r"Sequential has lazy modules, .* call it once before its graph is written"):
        graph_from_torch(model, torch.ones(2, 4))
    assert nn.parameter.is_lazy(model[0].weight)
    model(torch.ones(2, 4))
    assert shapes(graph_from_torch(model, torch.ones(2, 4)))["Sequential/Linear[0]/weight"] == [[3, 4]]


def test_models_without_values_and_in_inference_mode() -> None:
    graph = graph_from_torch(nn.Linear(4, 3, device="meta"), torch.ones(2, 4, device="meta"))
    assert shapes(graph)["Linear/linear"] == [[2, 3]]
    with torch.inference_mode():
        model = nn.Sequential(nn.Linear(4, 4, dtype=torch.bfloat16), nn.BatchNorm1d(4, dtype=torch.bfloat16))
        graph = graph_from_torch(model, torch.ones(2, 4, dtype=torch.bfloat16))
    (linear,) = [node for node in graph.node if node.op == "aten::linear"]
    assert linear.attr["dtype"].type == types_pb2.DT_BFLOAT16


def test_verbose_prints_the_traced_graph(capsys: pytest.CaptureFixture[str]) -> None:
    graph_from_torch(Net(), torch.ones(3, 4), verbose=True)
    assert "aten::linear" in capsys.readouterr().out


def test_a_strict_trace_and_a_loose_one() -> None:
    class Naming(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"x": x, "next": x + 1}

    traced = graph_from_torch(Naming(), torch.ones(2), use_strict_trace=False)
    assert {"aten::add", "prim::DictConstruct"} <= {node.op for node in traced.node}
    exported = graph_from_torch(Naming(), torch.ones(2))
    assert "aten.add.Tensor" in {node.op for node in exported.node}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU here")
def test_a_model_on_a_gpu_with_its_random_state() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout()).cuda()
    state = torch.cuda.get_rng_state()
    assert dangling(graph_from_torch(model, torch.ones(2, 4, device="cuda"))) == []
    assert torch.equal(torch.cuda.get_rng_state(), state)
