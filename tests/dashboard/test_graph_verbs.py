import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO
from urllib.request import urlopen

import pytest

from stepscope.dashboard.cli.main import main
from stepscope.summary.graphs.files import binary_of, text_of
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef, SavedModel

REPOSITORY = Path(__file__).resolve().parents[2]
GRAPH = GraphDef(node=[NodeDef(name="a", op="Const"), NodeDef(name="b", op="Neg", input=["a"])])
MODELS = [GRAPH, MetaGraphDef(graph_def=GRAPH), SavedModel(meta_graphs=[MetaGraphDef(graph_def=GRAPH)])]
DENSE = '{"class_name": "Dense", "config": {"name": "d"}}'
KERAS_JSON = f'{{"class_name": "Sequential", "config": {{"name": "s", "layers": [{DENSE}]}}}}'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.pb"
    path.write_bytes(binary_of(GRAPH))
    return path


def test_a_graph_goes_into_the_run_of_its_files_name(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logdir = tmp_path / "logs"
    assert main(["graph", str(model), "--logdir", str(logdir)]) == 0
    assert capsys.readouterr().out == (
        f"Wrote a graph of 2 nodes to {logdir / 'net'}\nOpen it with: stepscope --logdir {logdir}\n"
    )
    assert open_logdir(logdir).runs["net"].series["__run_graph__"].read(0) == GRAPH


def test_without_a_log_directory_the_graph_is_served_and_nothing_stays(model: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "stepscope", "graph", str(model), "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=REPOSITORY) as server:
        assert server.stdout is not None
        url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        assert "1 run, 1 tag, 1 event file" in next(line for line in server.stdout if "event file" in line)
        with urlopen(f"{url}api/graph/graphs") as answer:
            assert [graph["run"] for graph in json.load(answer)] == ["net"]
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0
    assert list(scratch.glob("stepscope-graph-*")) == []


def test_a_graph_joins_the_run_that_is_named(model: Path, tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    for _ in range(2):
        assert main(["graph", str(model), "--logdir", str(logdir), "--run", "resnet/seed_0"]) == 0
    runs = open_logdir(logdir).runs
    assert list(runs) == ["resnet/seed_0"]
    assert len(runs["resnet/seed_0"].series["__run_graph__"].steps) == 2


@pytest.mark.parametrize("message", MODELS, ids=lambda message: type(message).__name__)
def test_of_a_file_that_ends_too_soon_the_whole_nodes_are_written(
    message: GraphDef, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.pb"
    path.write_bytes(binary_of(message)[:-2])
    assert main(["graph", str(path), "--logdir", str(tmp_path / "logs")]) == 0
    said = f"{path} ends in the middle of a node; the 1 complete node before it is shown.\nWrote a graph of 1 node to"
    assert capsys.readouterr().out.startswith(said)
    shown = open_logdir(tmp_path / "logs").runs["cut"].series["__run_graph__"].read(0)
    assert shown == GraphDef(node=GRAPH.node[:1])


def test_a_keras_models_layers_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.json"
    path.write_text(KERAS_JSON)
    assert main(["graph", str(path), "--logdir", str(tmp_path / "logs")]) == 0
    assert "Wrote a graph of 1 node to" in capsys.readouterr().out
    series = open_logdir(tmp_path / "logs").runs["model"].series["keras"]
    assert (series.kind, series.read(0).json) == ("graph_keras_model", KERAS_JSON)


@pytest.mark.parametrize("name", ["../other", "/tmp/run", "a/../../b", "", "a\0b"])
def test_a_run_outside_the_log_directory(
    name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", str(model), "--logdir", str(tmp_path / "logs"), "--run", name]) == 2
    assert "expected a path below the log directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [model]


def test_a_log_directory_that_cannot_be_written(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", str(model), "--logdir", str(model)]) == 2
    assert capsys.readouterr().err.startswith(f"stepscope: --logdir {model} cannot be written: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x02}q\x00.", "holds pickled Python objects"),
        (b"", "is not an ONNX model"),
        (b'{"config": {"layers": [3]}}', "cannot be shown: expected the layer of a Keras layer"),
    ],
)
def test_a_file_without_a_graph_writes_nothing(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    assert main(["graph", str(path), "--logdir", str(tmp_path / "logs")]) == 2
    assert f"{path} {message}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("message", MODELS, ids=lambda message: type(message).__name__)
def test_to_text_and_back(message: GraphDef, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary, text, again = (tmp_path / name for name in ("in.pb", "out.pbtxt", "again.pb"))
    binary.write_bytes(binary_of(message))
    assert main(["pb2text", str(binary), str(text)]) == 0
    assert main(["text2pb", str(text), str(again)]) == 0
    assert text.read_text() == text_of(message)
    assert again.read_bytes() == binary.read_bytes()
    kind = type(message).__name__
    assert capsys.readouterr().err == f"Wrote {text}: {kind} of 2 nodes.\nWrote {again}: {kind} of 2 nodes.\n"


@pytest.mark.parametrize("verb", ["pb2text", "text2pb"])
@pytest.mark.parametrize(
    ("source", "output", "reason"),
    [
        (
            "net.pb",
            "run/events.out.tfevents.1",
            "has the name of an event file; expected another name, such as graph.pb",
        ),
        ("net.pb", "net.pb", "is the input itself, which may hold more than is converted; choose another name"),
        ("saved", "saved/saved_model.pb", "is the input itself, which may hold more than is converted; choose another"),
    ],
)
def test_event_files_and_the_input_are_not_overwritten(
    verb: str, source: str, output: str, reason: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for other in ("run/events.out.tfevents.1", "saved/saved_model.pb"):
        (tmp_path / other).parent.mkdir()
        (tmp_path / other).write_bytes(model.read_bytes())
    assert main([verb, str(tmp_path / source), str(tmp_path / output)]) == 2
    assert capsys.readouterr().err.startswith(f"stepscope: {tmp_path / output} {reason}")
    assert (tmp_path / output).read_bytes() == binary_of(GRAPH)


def test_standard_output_holds_nothing_else(model: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["pb2text", str(model)]) == 0
    written = capfdbinary.readouterr()
    assert written.out == text_of(GRAPH).encode()
    assert written.err == b"Wrote standard output: GraphDef of 2 nodes.\n"
    assert main(["text2pb", str(model), "-"]) == 0
    assert capfdbinary.readouterr().out == binary_of(GRAPH)


@pytest.mark.parametrize("verb", ["pb2text", "text2pb"])
def test_a_reader_that_has_enough_ends_the_output_quietly(verb: str, model: Path, closed_pipe: BinaryIO) -> None:
    command = [sys.executable, "-m", "stepscope", verb, str(model)]
    ended = subprocess.run(command, stdout=closed_pipe, stderr=subprocess.PIPE, cwd=REPOSITORY, check=False)
    assert (ended.stderr, ended.returncode) == (b"Wrote standard output: GraphDef of 2 nodes.\n", 0)


def test_what_text_cannot_hold_is_said(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_bytes(binary_of(GRAPH) + b"\xc2\x3e\x03new")
    assert main(["pb2text", str(model), str(tmp_path / "out.pbtxt")]) == 0
    assert "Left out 1 field that this version does not know: text protobuf cannot hold them.\n" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("verb", ["pb2text", "text2pb"])
def test_files_that_cannot_be_converted(
    verb: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.pb"
    cut.write_bytes(binary_of(GRAPH)[:-1])
    assert main([verb, str(cut), str(tmp_path / "out")]) == 2
    assert f"stepscope: {cut} is not a GraphDef, MetaGraphDef or SavedModel" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([verb, str(model), str(tmp_path / "none" / "out")]) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
