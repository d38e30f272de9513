import gc
import logging
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from google.protobuf import text_format

from stepscope import profiler
from stepscope.profiler import annotate
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.report import analyses, table
from stepscope.profiler.collectors.base import Collected, Record, RecordingClock, stream_lane
from stepscope.profiler.process import _process as running
from stepscope.profiler.profile_context import ProfileContext
from stepscope.profiler.step_profiler import Profiler, merged
from stepscope.profiler.traces import load_trace
from stepscope.summary.errors import UserError
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import StepStats

LAST_AUTO_STEP = 99
MICROSECOND = 1000


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No garbage collection during a recording; afterwards no recording runs, and no scratch directory is left."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    gc.disable()
    yield
    gc.enable()
    assert (running.session, running.host, running.profile) == (None, None, None)
    assert list(scratch.iterdir()) == []


def train(context: ProfileContext, steps: int, first: int = 0) -> None:
    for step in range(first, first + steps):
        with annotate(f"model/layer {step}"):
            pass
        context.step()


def traced(context: ProfileContext) -> tuple[int, ...]:
    """The steps that were traced, each of which has its own scope and no other."""
    assert context.profiler is not None
    operations = context.profiler.profile_operations()
    assert sorted(operations["name"]) == sorted(f"model/layer_{step}" for step in context.profiler.steps)
    return context.profiler.steps


def steps_of(path: Path) -> list[int]:
    return [step.number for step in load_trace(str(path)).steps]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*"))


@pytest.mark.parametrize(
    ("trace_steps", "recorded"),
    [([], ()), ([0], (0,)), (range(2, 9, 3), (2, 5, 8)), ({3, 1}, (1, 3)), ([8, 9, 10, 11], (8, 9))],
)
def test_the_steps_asked_for_are_traced(tmp_path: Path, trace_steps: Any, recorded: tuple[int, ...]) -> None:
    with ProfileContext(tmp_path / "out", trace_steps, [], collectors=[]) as context:
        train(context, 10)
    assert traced(context) == recorded
    assert files(tmp_path / "out") == []


def test_steps_are_chosen_as_tensorflow_does_where_its_graph_is_hardly_covered(tmp_path: Path) -> None:
    # The first step after ten is traced, then those chosen by TensorFlow's random number generator, up to step 99.
    draws = random.Random(111)
    expected = (11, *(step for step in range(12, LAST_AUTO_STEP + 1) if draws.randint(0, 10) < 2))
    with ProfileContext(tmp_path / "out", collectors=[]) as context:
        train(context, 130)
    assert traced(context) == expected
    assert 0.1 < len(expected) / 89 < 0.3
    assert files(tmp_path / "out") == ["profile_100"]
    assert steps_of(tmp_path / "out" / "profile_100") == list(expected)


def test_nothing_is_traced_in_the_warm_up(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", dump_steps=[10, 11], collectors=[]) as context:
        train(context, 11)
        assert traced(context) == ()
        train(context, 1)
        assert context.profiler is not None
        assert context.profiler.steps == (11,)
    assert files(tmp_path / "out") == ["profile_10", "profile_11"]


def test_a_dump_has_what_was_traced_so_far_in_one_trace(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", [1, 2, 4], [2, 3, 5], collectors=[]) as context:
        train(context, 6)
    assert {name: steps_of(tmp_path / "out" / name) for name in files(tmp_path / "out")} == {
        "profile_2": [1, 2],
        "profile_3": [1, 2],
        "profile_5": [1, 2, 4],
    }
    trace = load_trace(str(tmp_path / "out" / "profile_5"))
    assert [lane.name for lane in trace.lanes] == ["steps", "MainThread"]
    assert sorted(trace.names[number] for number in trace.name_id) == [
        *(f"ProfilerStep#{step}" for step in (1, 2, 4)),
        *(f"model/layer {step}" for step in (1, 2, 4)),
    ]
    assert trace.losses.counts == {}


def test_a_dump_of_an_earlier_run_stays(tmp_path: Path) -> None:
    for _ in range(2):
        with ProfileContext(tmp_path / "out", [0], [0], collectors=[]) as context:
            train(context, 1)
    assert files(tmp_path / "out") == ["profile_0", "profile_0.2"]


def test_all_analyses_can_be_made_of_a_dump(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", [0, 1], [1], collectors=[]) as context:
        train(context, 2)
    facts = Facts(load_trace(str(tmp_path / "out" / "profile_1")))
    tables = {name: table(facts, name) for name in analyses("trace")}
    assert sorted(tables["tfprof_op"]["op"]) == ["model/layer_0", "model/layer_1"]
    assert tables["steps"].height == 2


def test_what_is_asked_for_while_a_step_runs_is_that_step(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", trace_steps=[], dump_steps=[], collectors=[]) as context:
        train(context, 2)
        context.trace_next_step()
        train(context, 1, first=2)
        context.dump_next_step()
        train(context, 2, first=3)
        context.trace_next_step()
        context.trace_next_step()
        context.dump_next_step()
        train(context, 1, first=5)
    assert traced(context) == (2, 5)
    assert {name: steps_of(tmp_path / "out" / name) for name in files(tmp_path / "out")} == {
        "profile_3": [2],
        "profile_5": [2, 5],
    }


def test_what_is_asked_for_before_the_block_is_its_first_step(tmp_path: Path) -> None:
    context = ProfileContext(tmp_path / "out", trace_steps=[], dump_steps=[], collectors=[])
    context.trace_next_step()
    with context:
        train(context, 2)
    assert traced(context) == (0,)


def test_a_loop_counts_the_batches_with_the_waiting_for_them(tmp_path: Path) -> None:
    def batches() -> Iterator[int]:
        for batch in range(3):
            with annotate(f"load {batch}"):
                pass
            yield batch

    with ProfileContext(tmp_path / "out", [0, 2, 3], [], collectors=[]) as context:
        seen = []
        for batch in context.loop(batches()):
            with annotate(f"train {batch}"):
                seen.append(batch)
    assert seen == [0, 1, 2]
    assert context.profiler is not None
    assert context.profiler.steps == (0, 2)
    assert sorted(context.profiler.profile_graph()["name"]) == ["load 0", "load 2", "train 0", "train 2"]


def test_views_are_taken_of_all_that_was_traced_so_far(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", [1], [6], collectors=[]) as context:
        context.add_auto_profiling("op", None, [3, 6])
        context.add_auto_profiling("scope", {"max_depth": 1}, [6])
        context.add_auto_profiling("graph", {"order_by": "name"}, [6])
        context.add_auto_profiling("advise", None, [6])
        train(context, 8)
    assert traced(context) == (1, 3, 6)
    assert [(step, sorted(view["op"])) for step, view in context.get_profiles("op").items()] == [
        (3, ["model/layer_1", "model/layer_3"]),
        (6, ["model/layer_1", "model/layer_3", "model/layer_6"]),
    ]
    assert context.get_profiles("scope")[6]["name"].to_list() == ["model"]
    assert context.get_profiles("graph")[6]["name"].to_list() == ["model/layer 1", "model/layer 3", "model/layer 6"]
    assert set(context.get_profiles("advise")[6]["checker"]) == {"expensive_operation"}

    # The dump of a step matches the view of that step.
    dumped = Profiler()
    dumped.add_step(0, RunMetadata.FromString((tmp_path / "out" / "profile_6").read_bytes()))
    assert dumped.profile_operations().equals(context.get_profiles("op")[6])


def test_views_may_be_asked_for_while_their_step_runs(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", [], [], collectors=[]) as context:
        train(context, 1)
        context.add_auto_profiling("op", None, [1])
        train(context, 1, first=1)
    assert list(context.get_profiles("op")) == [1]
    assert traced(context) == (1,)


def test_a_view_that_was_not_taken(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", [], [], collectors=[]) as context:
        context.add_auto_profiling("op", None, [5])
        train(context, 2)
        for command in ("op", "scope"):
            with pytest.raises(ValueError, match=f"no profile of '{command}' was taken: ask for it with add_auto"):
                context.get_profiles(command)


def test_no_more_than_a_hundred_steps_are_traced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    message = "trace_steps must be 100 steps at most, got 101: all that is traced is held in memory"
    with pytest.raises(ValueError, match=message):
        ProfileContext(tmp_path / "out", range(101))
    with ProfileContext(tmp_path / "out", range(100), [], collectors=[]) as context:
        context.add_auto_profiling("op", None, [100])
        train(context, 103)
        assert context.profiler is not None
        assert context.profiler.steps == tuple(range(100))
        context.trace_next_step()
    assert caplog.messages == [f"step {step} is not traced: the limit of 100 steps is reached" for step in (100, 103)]
    assert list(context.get_profiles("op")) == [100]


def test_a_step_that_the_block_leaves_is_not_traced(tmp_path: Path) -> None:
    def fail() -> None:
        with context:
            train(context, 1)
            with annotate("half"):
                raise RuntimeError("training broke")

    context = ProfileContext(tmp_path / "out", [0, 1], [1], collectors=[])
    with pytest.raises(RuntimeError, match="training broke"):
        fail()
    assert traced(context) == (0,)
    assert files(tmp_path / "out") == []


def test_the_block_may_be_entered_again_and_counts_on(tmp_path: Path) -> None:
    context = ProfileContext(tmp_path / "out", [1, 2], [], collectors=[])
    for _ in range(2):
        with context:
            train(context, 2)
    assert context.profiler is not None
    assert context.profiler.steps == (1, 2)


def test_steps_outside_of_the_block_are_an_error(tmp_path: Path) -> None:
    context = ProfileContext(tmp_path / "out", [0], collectors=[])
    with pytest.raises(RuntimeError, match="must be called inside the context"):
        context.step()
    with context, pytest.raises(RuntimeError, match="is already active"), context:
        pass


def test_disabled_it_does_nothing(tmp_path: Path) -> None:
    with ProfileContext("", range(200), [0], enabled=False, debug=True) as context:
        context.add_auto_profiling("code", {"nonsense": 1}, [0])  # type: ignore[arg-type]
        context.trace_next_step()
        context.dump_next_step()
        train(context, 3)
        assert list(context.loop("ab")) == ["a", "b"]
        assert running.session is None
    context.step()
    assert context.profiler is None
    assert files(tmp_path) == ["scratch"]


def test_debugging_writes_each_traced_step_as_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), ProfileContext(tmp_path, [1], [2], debug=True, collectors=[]) as context:
        context.add_auto_profiling("op", None, [2])
        train(context, 4)
    assert files(tmp_path) == ["profile_2", "run_meta_1", "run_meta_2", "scratch"]
    run_metadata = text_format.Parse((tmp_path / "run_meta_1").read_text(), RunMetadata())
    (device,) = run_metadata.step_stats.dev_stats
    assert [node.node_name for node in device.node_stats] == ["ProfilerStep#1", "model/layer 1"]
    assert caplog.messages == [
        "tracing step 1",
        "tracing step 2",
        f"wrote 2 traced steps into {tmp_path / 'profile_2'}",
        "took a profile 'op' after step 2",
    ]


def test_another_recording_and_the_context_do_not_disturb_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ProfileContext(tmp_path / "out", [1, 3], [], collectors=[]) as context:
        context.add_auto_profiling("op", None, [3])
        context.add_auto_profiling("graph", {"step": 1}, [3])
        with profiler.Profile(tmp_path / "own", collectors=[]) as own:
            train(context, 2)
            profiler.step()
            with annotate("own"):
                pass
        train(context, 2, first=2)
    assert traced(context) == (3,)
    assert own.recording is not None
    assert own.recording.steps == (0, 1)
    refused, no_view = caplog.messages
    assert refused.startswith("step 1 is not recorded: a recording is already running")
    assert no_view == "no profile 'graph' is taken after step 3: step must be one of the traced steps [3], got 1"
    assert list(context.get_profiles("op")) == [3]


def test_a_directory_that_takes_nothing_costs_the_dumps_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "out").write_text("a file")
    with ProfileContext(tmp_path / "out", [0], [0], debug=True, collectors=[]) as context:
        train(context, 2)
    assert traced(context) == (0,)
    assert [message.split(":")[0] for message in caplog.messages if "cannot" in message or "no profile" in message] == [
        f"step 0 cannot be written into {tmp_path / 'out'}",
        f"no profile can be written into {tmp_path / 'out'}",
    ]


@pytest.mark.parametrize(
    ("cmd", "options", "message"),
    [
        ("code", None, r"cmd must be one of scope, graph, op, advise; got 'code'. StepStats have no call stacks: "),
        ("python", None, "cmd must be one of scope, graph, op, advise; got 'python'"),
        ("op", {"min_mikros": 1}, "options must be of min_micros, .*; got 'min_mikros'"),
        ("op", {"min_micros": "1"}, "the option min_micros must be a whole number, got '1'"),
        ("op", {"order_by": "time"}, "the option order_by must be one of name, micros, .*; got 'time'"),
        (
            "op",
            {"show_name_regexes": "a.*"},
            "the option show_name_regexes must be a list of regular expressions, got 'a",
        ),
        (
            "op",
            {"hide_name_regexes": ["("]},
            r"the option hide_name_regexes has '\(', which is not a regular expression",
        ),
    ],
)
def test_wrong_profiles_are_refused_before_the_training(tmp_path: Path, cmd: Any, options: Any, message: str) -> None:
    context = ProfileContext(tmp_path, collectors=[])
    with pytest.raises(ValueError, match=message):
        context.add_auto_profiling(cmd, options, [1])


def test_other_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="profile_dir must be a directory for the profiles, got ''"):
        ProfileContext("")
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        ProfileContext(tmp_path, trace_steps=["1"])  # type: ignore[list-item]
    with pytest.raises(UserError, match="there is no collector 'torhc'"):
        ProfileContext(tmp_path, collectors=["torhc"])


class Device:
    """A collector that reports a kernel of 2 microseconds."""

    def start(self, clock: RecordingClock) -> None:
        self.clock = clock

    def stop(self) -> Collected:
        end = self.clock.now() + self.clock.wall_offset_ns
        return Collected([Record("gemm", "kernel", stream_lane(0, 7), end, 2000)])


def test_what_devices_do_is_in_the_views(tmp_path: Path) -> None:
    with ProfileContext(tmp_path / "out", [0, 1], [1], collectors=[Device()]) as context:
        context.add_auto_profiling("graph", {"min_accelerator_micros": 1}, [1])
        context.add_auto_profiling("advise", None, [1])
        train(context, 2)
    view = context.get_profiles("graph")[1]
    assert view.select("name", "accelerator_ns", "cpu_ns").rows() == [("gemm", 4000, 0)]
    advice = context.get_profiles("advise")[1]
    assert advice.filter(checker="accelerator_utilization")["subject"].to_list() == ["GPU 0"]
    trace = load_trace(str(tmp_path / "out" / "profile_1"))
    assert [lane.name for lane in trace.lanes if lane.kind == "stream"] == ["stream 7"]


def step_stats(text: str) -> RunMetadata:
    """Nodes of one CPU from lines of name, op, start and end in microseconds, and bytes of its output."""
    message = StepStats()
    device = message.dev_stats.add(device="/device:CPU:0")
    for line in text.split(";"):
        name, op, start, end, size = line.split()
        node = device.node_stats.add(node_name=name, timeline_label=f"{name} = {op}()")
        node.all_start_micros, node.all_end_rel_micros = int(start), int(end) - int(start)
        node.output.add().tensor_description.allocation_description.requested_bytes = int(size)
    return RunMetadata(step_stats=message)


@pytest.fixture
def two_steps() -> Profiler:
    steps = Profiler()
    steps.add_step(5, step_stats("in/read Read 0 40 8; net/a/mul MatMul 50 150 16; net/a/add Add 160 170 32"))
    steps.add_step(9, step_stats("net/a/mul MatMul 300 500 16; net/b/mul MatMul 500 560 64"))
    return steps


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        (None, [("net/a/mul", 300), ("net/b/mul", 60), ("in/read", 40), ("net/a/add", 10)]),
        ({"step": 9}, [("net/a/mul", 200), ("net/b/mul", 60)]),
        ({"step": -1, "min_micros": 40}, [("net/a/mul", 300), ("net/b/mul", 60), ("in/read", 40)]),
        ({"min_cpu_micros": 61}, [("net/a/mul", 300)]),
        ({"min_accelerator_micros": 1}, []),
        ({"min_bytes": 32}, [("net/a/mul", 300), ("net/b/mul", 60), ("net/a/add", 10)]),
        ({"min_occurrence": 2}, [("net/a/mul", 300)]),
        ({"show_name_regexes": ["net/.*"], "hide_name_regexes": [".*/mul"]}, [("net/a/add", 10)]),
        ({"show_name_regexes": ["net"]}, []),
        ({"order_by": "bytes"}, [("net/b/mul", 60), ("net/a/mul", 300), ("net/a/add", 10), ("in/read", 40)]),
        ({"order_by": "name"}, [("in/read", 40), ("net/a/add", 10), ("net/a/mul", 300), ("net/b/mul", 60)]),
    ],
)
def test_options_choose_rows_and_their_order(two_steps: Profiler, options: Any, rows: list[tuple[str, int]]) -> None:
    view = two_steps.profile_graph(options)
    assert view.select("name", pl.col("self_ns") // MICROSECOND).rows() == rows


def test_scopes_and_operations_of_several_steps(two_steps: Profiler) -> None:
    scopes = two_steps.profile_name_scope({"max_depth": 2, "min_micros": 50})
    assert scopes.select("name", pl.col("total_ns") // MICROSECOND).rows() == [
        ("net", 370),
        ("net/a", 310),
        ("net/b", 60),
    ]
    operations = two_steps.profile_operations()
    assert operations.select("op", "occurrences", pl.col("total_ns") // MICROSECOND).rows() == [
        ("MatMul", 3, 360),
        ("Read", 1, 40),
        ("Add", 1, 10),
    ]
    assert two_steps.advise().filter(checker="expensive_operation")["subject"].to_list() == [
        *("MatMul", "Read", "Add"),
        *("net/a/mul", "net/b/mul", "in/read"),
    ]


def test_views_of_nothing_are_empty() -> None:
    nothing = Profiler()
    assert nothing.steps == ()
    for command in ("scope", "graph", "op", "advise"):
        assert nothing.profile(command).is_empty()
    with pytest.raises(ValueError, match=r"step must be one of the traced steps \[\], got 3"):
        nothing.profile_graph({"step": 3})


def test_a_step_may_be_added_in_parts() -> None:
    steps = Profiler()
    steps.add_step(1, step_stats("a Op 0 1 0"))
    steps.add_step(1, step_stats("b Op 2 3 0"))
    (device,) = steps.run_metadata().step_stats.dev_stats
    assert [node.node_name for node in device.node_stats] == ["a", "b"]


def test_merging_joins_devices_and_keeps_all_else() -> None:
    first, second = step_stats("a Op 0 1 0"), step_stats("b Op 2 3 0")
    first.step_stats.dev_stats[0].thread_names[1] = "main"
    second.step_stats.dev_stats[0].thread_names[2] = "other"
    second.step_stats.dev_stats.add(device="/device:GPU:0/stream:7").node_stats.add(node_name="k")
    first.partition_graphs.add().node.add(name="x")
    second.partition_graphs.add().node.add(name="y")
    before = first.SerializeToString(deterministic=True)
    whole = merged([first, second])
    assert [
        (device.device, [node.node_name for node in device.node_stats], dict(device.thread_names))
        for device in whole.step_stats.dev_stats
    ] == [("/device:CPU:0", ["a", "b"], {1: "main", 2: "other"}), ("/device:GPU:0/stream:7", ["k"], {})]
    assert [graph.node[0].name for graph in whole.partition_graphs] == ["x", "y"]
    assert first.SerializeToString(deterministic=True) == before
    assert merged([]) == RunMetadata()
