"""Where in a graph a tensor is made, by the names that programs, PyTorch and TensorFlow give it."""

from dataclasses import replace

import pytest

from stepscope.dashboard.graphs.model import model_of
from stepscope.dashboard.graphs.tree import tree_of
from stepscope.dashboard.panels.debugger.graph_places import place_of
from stepscope.summary.debugger.model import WatchedTensor
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef

GRAPH = GraphDef(
    node=[
        NodeDef(name="input/x", op="IO Node"),
        NodeDef(name="Net/Sequential[layers]/Linear[0]/weight", op="prim::GetAttr"),
        NodeDef(name="Net/Sequential[layers]/Linear[0]/linear", op="aten::linear", input=["input/x"]),
        NodeDef(name="Net/Sequential[layers]/ReLU[1]/relu", op="aten::relu"),
        NodeDef(name="Net/log", op="aten::log"),
        NodeDef(name="loss/dense/MatMul", op="MatMul"),
    ]
)
TENSOR = WatchedTensor("x", "forward")


@pytest.mark.parametrize(
    ("tensor", "place"),
    [
        (replace(TENSOR, module="layers.0", op_type="aten.linear"), "Net/Sequential[layers]/Linear[0]/linear"),
        (replace(TENSOR, module="layers.0"), "Net/Sequential[layers]/Linear[0]"),
        (replace(TENSOR, module="layers", op_type="aten.log"), "Net/Sequential[layers]"),
        (replace(TENSOR, module="", op_type="aten.log"), "Net/log"),
        (replace(TENSOR, module="", op_type="aten.exp"), "Net"),
        (replace(TENSOR, module="head"), ""),
        (WatchedTensor("loss/dense/MatMul:0", "graph", module="loss"), "loss/dense/MatMul"),
        (WatchedTensor("f/loss/dense/MatMul:0", "graph", module="f"), "loss/dense/MatMul"),
        (WatchedTensor("g/dense/MatMul:0", "graph", module="g"), "loss/dense/MatMul"),
        (WatchedTensor("g/Sum:0", "graph", module="g"), ""),
        (WatchedTensor("MatMul at x.py:1", "eager", op_type="MatMul"), ""),
    ],
)
def test_the_operation_that_makes_a_tensor_is_found_else_its_module(tensor: WatchedTensor, place: str) -> None:
    assert place_of(tree_of(model_of(GRAPH)), tensor) == place
