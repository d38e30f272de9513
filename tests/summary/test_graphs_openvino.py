from pathlib import Path

import pytest

from stepscope.summary.graphs import graph_of
from stepscope.summary.graphs.from_openvino import graph_from_openvino
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.graph_pb2 import GraphDef

PERCEPTRON = """<?xml version="1.0"?>
<net name="net" version="11">
  <layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
      <data shape="?,3" element_type="f32"/>
      <output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>3</dim></port></output>
    </layer>
    <layer id="1" name="head/weight" type="Const" version="opset1">
      <data element_type="f32" shape="4, 3" offset="0" size="48"/>
      <output><port id="0" precision="FP32"><dim>4</dim><dim>3</dim></port></output>
    </layer>
    <layer id="2" name="head/matmul" type="MatMul" version="opset1">
      <data transpose_a="false" transpose_b="true"/>
      <input><port id="0"><dim>-1</dim><dim>3</dim></port><port id="1"><dim>4</dim><dim>3</dim></port></input>
      <output><port id="2" precision="FP32"><dim>-1</dim><dim>4</dim></port></output>
    </layer>
    <layer id="3" name="split" type="Split" version="opset1">
      <data num_splits="2"/>
      <input><port id="0"/></input>
      <output>
        <port id="1" precision="FP16"><dim>-1</dim><dim>2</dim></port>
        <port id="2" precision="FP16"><dim>-1</dim><dim>2</dim></port>
      </output>
    </layer>
    <layer id="4" name="split" type="Result" version="opset1"><input><port id="0"/></input></layer>
  </layers>
  <edges>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
    <edge from-layer="3" from-port="2" to-layer="4" to-port="0"/>
  </edges>
</net>
"""

LOOP = """<net name="net" version="10">
  <layers>
    <layer id="0" name="x" type="Parameter"><output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
    <layer id="1" name="loop" type="TensorIterator">
      <input><port id="0"/></input><output><port id="1" precision="I64"><dim>2</dim></port></output>
      <port_map><input external_port_id="0" internal_layer_id="7"/>
                <output external_port_id="1" internal_layer_id="9"/></port_map>
      <body>
        <layers>
          <layer id="7" name="in" type="Parameter"><output><port id="0"/></output></layer>
          <layer id="8" name="neg" type="Negative"><input><port id="0"/></input><output><port id="1"/></output></layer>
          <layer id="9" name="out" type="Result"><input><port id="0"/></input></layer>
        </layers>
        <edges><edge from-layer="7" from-port="0" to-layer="8" to-port="0"/>
               <edge from-layer="8" from-port="1" to-layer="9" to-port="0"/></edges>
      </body>
    </layer>
  </layers>
  <edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>
</net>
"""


def rows(graph: GraphDef) -> list[tuple[str, str, list[str]]]:
    return [(node.name, node.op, list(node.input)) for node in graph.node]


def test_layers_edges_shapes_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "net.xml"
    path.write_text(PERCEPTRON)
    graph = graph_from_openvino(path)
    assert rows(graph) == [
        ("x", "Parameter", []),
        ("head/weight", "Const", []),
        ("head/matmul", "MatMul", ["x", "head/weight"]),
        ("split", "Split", ["head/matmul"]),
        ("split_1", "Result", ["split:1"]),
    ]
    matmul, split = graph.node[2:4]
    assert [[dim.size for dim in shape.dim] for shape in split.attr["_output_shapes"].list.shape] == [[-1, 2], [-1, 2]]
    assert (matmul.attr["transpose_a"].b, matmul.attr["transpose_b"].b, split.attr["num_splits"].i) == (False, True, 2)
    assert (matmul.attr["dtype"].type, split.attr["dtype"].type) == (types_pb2.DT_FLOAT, types_pb2.DT_HALF)
    assert list(graph.node[1].attr["shape"].list.i) == [4, 3]
    assert graph_from_openvino(PERCEPTRON.encode()) == graph_of(str(path)) == graph


def test_the_body_of_a_loop_is_a_scope() -> None:
    assert rows(graph_from_openvino(LOOP.encode())) == [
        ("x", "Parameter", []),
        ("loop/body/in", "Parameter", ["x"]),
        ("loop/body/neg", "Negative", ["loop/body/in"]),
        ("loop/body/out", "Result", ["loop/body/neg"]),
        ("loop", "TensorIterator", ["x", "loop/body/neg"]),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected the XML of an OpenVINO model"),
        (b"<net><layers>", "expected the XML of an OpenVINO model"),
        (b"<net></net>", "<net> with <layers>, got <net>"),
        (b"<html><layers/></html>", "<net> with <layers>, got <html>"),
        (b'<?xml version="1.0" encoding="no-such"?><net/>', "expected the XML of an OpenVINO model"),
        (b'<!DOCTYPE n [<!ENTITY a "aa">]><net><layers/></net>', "a document type, which no model has"),
        (
            b"<net>" + b"<layers><layer><body>" * 80 + b"</body></layer></layers>" * 80 + b"</net>",
            "nested more than 64 levels deep",
        ),
    ],
)
def test_what_is_no_model(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_from_openvino(content)


def test_neither_path_nor_bytes() -> None:
    with pytest.raises(TypeError, match=r"expected the path or the bytes of an OpenVINO \.xml file, got int"):
        graph_from_openvino(3)  # type: ignore[arg-type]
