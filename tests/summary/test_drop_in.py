"""What programs that use PyTorch's, tensorboardX's and TensorFlow's writers also do with them."""

import random
import re
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
import tensorboardX
import torch

from stepscope.summary import GlobalSummaryWriter, SummaryWriter, open_logdir, v2
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.types_pb2 import DT_BFLOAT16
from stepscope.summary.series import Series
from stepscope.summary.v2 import hp

REPOSITORY = Path(__file__).resolve().parents[2]


def series_of(folder: Path) -> dict[str, Series]:
    return dict(open_logdir(folder).runs["."].series)


def test_attributes_of_pytorchs_writer(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    theirs = tensorboardX.SummaryWriter(str(tmp_path / "theirs"))
    np.testing.assert_allclose(writer.default_bins, theirs.default_bins, rtol=1e-12)
    theirs.close()
    writer.add_scalars("main", {"key": 1.0})
    assert writer.all_writers is not None
    assert {folder: type(each) for folder, each in writer.all_writers.items()} == {
        str(tmp_path): SummaryWriter,
        str(tmp_path / "main_key"): EventFileWriter,
    }
    event = Event(step=7, summary=Summary(value=[Summary.Value(tag="t", simple_value=1)]))
    writer.file_writer.add_event(event)
    writer.file_writer.add_event(event, 8)
    writer.close()
    assert [writer.file_writer, writer.all_writers] == [None, None]
    assert series_of(tmp_path)["t"].steps.tolist() == [7, 8]


def test_a_list_of_images(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_images("i", [torch.zeros(3, 4, 5), np.ones((3, 4, 5))], 1, dataformats="CHW")
    images = series_of(tmp_path)["i"].read(0)
    assert (images.width, images.height, len(images.encoded)) == (5, 4, 2)


def test_bfloat16_keeps_its_type(tmp_path: Path) -> None:
    values = torch.tensor([[1.0, -2.5], [3.140625, float("inf")]], dtype=torch.bfloat16)
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", values)
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    (path,) = tmp_path.iterdir()
    ((stored,),) = [event.summary.value for event in EventFileLoader(str(path)).Load() if event.summary.value]
    assert stored.tensor.dtype == DT_BFLOAT16
    assert len(stored.tensor.tensor_content) == 8
    assert series_of(tmp_path)["t"].read(0).array.tolist() == values.float().tolist()


@pytest.mark.parametrize(("clips", "most"), [(0, 3), (2, 0)])
def test_audio_without_clips(tmp_path: Path, clips: int, most: int) -> None:
    with v2.create_file_writer(str(tmp_path)).as_default():
        assert v2.audio("a", np.zeros((clips, 10, 1), np.float32), 8000, step=1, max_outputs=most)
    assert series_of(tmp_path)["a"].read(0).clips == ()


def test_samples_of_domains() -> None:
    ours: list[Any] = [hp.IntInterval(2, 9), hp.RealInterval(0.5, 1.5), hp.Discrete(["b", "a", "c"])]
    from tensorboard.plugins.hparams import summary_v2 as api

    theirs = [api.IntInterval(2, 9), api.RealInterval(0.5, 1.5), api.Discrete(["b", "a", "c"])]
    for one, other in zip(ours, theirs, strict=True):
        assert one.sample_uniform(random.Random(3)) == other.sample_uniform(random.Random(3))
        one.sample_uniform()


def test_the_global_writer_counts_the_steps_of_all_processes(tmp_path: Path) -> None:
    script = (
        "import multiprocessing, sys; from stepscope.summary import GlobalSummaryWriter\n"
        "writer = GlobalSummaryWriter(sys.argv[1])\n"
        "def work(number): writer.add_scalar('t', number); writer.add_text('note', 'x')\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool: pool.map(work, range(20), chunksize=1)\n"
        "writer.add_scalar('t', 20.0); writer.close()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    from stepscope.summary.logdir import Logdir

    series = Logdir(tmp_path, keep_superseded=True).update().runs["."].series
    assert sorted(series["t"].steps.tolist()) == list(range(21))
    assert sorted(series["note/text_summary"].steps.tolist()) == list(range(20))


def test_the_global_writer_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer = GlobalSummaryWriter.getSummaryWriter()
    assert GlobalSummaryWriter.getSummaryWriter() is writer
    writer.close()
    with pytest.raises(ValueError, match="the global writer is closed"):
        writer.add_scalar("t", 1.0)
    another = GlobalSummaryWriter.getSummaryWriter()
    assert another is not writer
    another.close()


def test_an_interrupted_call_of_the_global_writer_leaves_no_answer_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = GlobalSummaryWriter(tmp_path)
    for value in range(3):
        writer.add_scalar("first", value)

    def interrupt(connection: Connection) -> None:
        assert connection.poll(60)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "recv", interrupt)
        with pytest.raises(KeyboardInterrupt):
            writer.add_scalar("first", 3)
    writer.add_scalar("second", 4)
    writer.close()
    assert {tag: found.steps.tolist() for tag, found in series_of(tmp_path).items()} == {
        "first": [0, 1, 2],
        "second": [0],
    }


class Cache:
    """An object that no tracer knows, and whose text shows whole tensors."""

    def __init__(self, keys: Any) -> None:
        self.keys = keys

    def __repr__(self) -> str:
        return f"Cache({self.keys})"


class Cached(torch.nn.Module):  # type: ignore[misc]
    """Returns a cache beside its output if so configured, as language models do."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.linear = torch.nn.Linear(200, 2)

    def forward(self, x: Any) -> Any:
        output = self.linear(x)
        return (output, Cache(x)) if self.config.use_cache else (output,)


class Around(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Any:
        return self.model(x)


class Frozen(NamedTuple):
    use_cache: bool


def test_a_model_with_a_cache_is_traced_without_it(tmp_path: Path) -> None:
    model = Cached(SimpleNamespace(use_cache=True))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.zeros(1, 200))
        writer.add_graph(Around(model), torch.zeros(1, 200))
    assert model.config.use_cache is True
    last = series_of(tmp_path)["__run_graph__"].read(0)
    assert [node.name for node in last.node if node.op == "IO Node"] == ["input/x", "output/output.1"]


def test_what_cannot_be_traced_is_told_without_its_numbers(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(RuntimeError) as refused:
        writer.add_graph(Cached(Frozen(use_cache=True)), torch.zeros(1, 200))
    assert isinstance(refused.value, ValueError)
    reported = str(refused.value)
    assert reported.startswith(
        "Cached can be called, but not traced, because it does or returns something that neither tracer supports. "
    )
    assert "tensor(" not in reported
    assert len(reported) < 400


def test_a_wrong_input_is_a_runtime_error_as_with_pytorch(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(RuntimeError, match="cannot be called with the given input"):
        writer.add_graph(torch.nn.Linear(2, 3), torch.zeros(1, 5))


class Symbolic:
    """A tensor without a value, as inside a `tf.function`."""

    __module__ = "tensorflow.python.framework.ops"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NotImplementedError("Cannot convert a symbolic tf.Tensor (x:0) to a numpy array.")


def test_a_call_inside_a_tf_function_says_what_to_do(tmp_path: Path) -> None:
    reported = "has no value while tf.function traces: log it from eager code, with tf.py_function, or with tf.summary"
    with v2.create_file_writer(str(tmp_path)).as_default(), SummaryWriter(tmp_path / "torch") as writer:
        calls: dict[str, Callable[[], Any]] = {
            "the scalar 't'": lambda: v2.scalar("t", Symbolic(), step=1),
            "a step": lambda: v2.scalar("t", 1.0, step=Symbolic()),
            "the text 't'": lambda: v2.text("t", Symbolic(), step=1),
            "the tensor 't'": lambda: v2.write("t", Symbolic(), step=1),
            "the histogram 't'": lambda: writer.add_histogram("t", Symbolic()),
            "the text 't/text_summary'": lambda: writer.add_text("t", cast(Any, Symbolic())),
        }
        for name, call in calls.items():
            with pytest.raises(TypeError, match=f"^{re.escape(f'{name} {reported}')}$"):
                call()
