import re
from pathlib import Path

import pytest
from google.protobuf import text_format
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.collectors.base import HOST_DEVICE, Lane, Record
from stepscope.profiler.step_stats import load_step_stats, parse_step_stats, split_steps, step_stats_from_records
from stepscope.profiler.timeline import chrome_trace
from stepscope.summary.errors import UserError
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats

STATS = StepStats(
    dev_stats=[
        DeviceStepStats(device="/device:GPU:0/stream:7", node_stats=[NodeExecStats(node_name="a:MatMul")]),
        DeviceStepStats(device="/host:CPU", node_stats=[NodeExecStats(node_name="b", all_start_micros=3)]),
    ]
)
UNTRACED = RunMetadata(partition_graphs=[GraphDef()])
MAIN = Lane(HOST_DEVICE, 7, "MainThread")
LOADER = Lane(HOST_DEVICE, 8, "loader")
STEPS = Lane(HOST_DEVICE, 9, "steps")


def as_text(message: Message) -> bytes:
    return text_format.MessageToString(message).encode()


@pytest.mark.parametrize(
    "content",
    [
        STATS.SerializeToString(),
        as_text(STATS),
        RunMetadata(step_stats=STATS).SerializeToString(),
        as_text(RunMetadata(step_stats=STATS)),
        as_text(STATS) + b"added_by_a_newer_writer: 3",
    ],
    ids=["binary StepStats", "text StepStats", "binary RunMetadata", "text RunMetadata", "unknown field"],
)
def test_each_form_is_told_by_content(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "no_telling_name"
    path.write_bytes(content)
    assert load_step_stats(path) == STATS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "names no device"),
        (UNTRACED.SerializeToString(), "names no device"),
        (as_text(UNTRACED), "names no device"),
        (b'{"traceEvents": []}', "holds neither a StepStats nor a RunMetadata"),
        (STATS.SerializeToString()[:-1], "holds neither a StepStats nor a RunMetadata"),
        (b"\x89PNG\r\n\x1a\n", "holds neither a StepStats nor a RunMetadata"),
        (b"\xff\xfe", "holds neither a StepStats nor a RunMetadata"),
    ],
)
def test_anything_else_is_refused_with_a_reason(content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=f"^the file {message}"):
        parse_step_stats(content, name="the file")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape(f"{tmp_path / 'gone'} cannot be read: No such file")):
        load_step_stats(tmp_path / "gone")


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_content_is_read_or_refused(content: bytes) -> None:
    try:
        step_stats = parse_step_stats(content, name="the file")
    except UserError:
        return
    assert all(device.device for device in step_stats.dev_stats)


RECORDS = [
    Record("ProfilerStep#4", "step", STEPS, 1_000_000, 9_500, args={"step": 4}),
    Record("inner (a = b)", "annotation", MAIN, 1_001_999, 2_000),
    Record("outer", "annotation", MAIN, 1_001_999, 6_002, args={"batch": 32, "what": "x = (1)"}),
    Record("load", "annotation", LOADER, 1_000_500, 1),
]


def test_records_become_nodes_by_lane_and_outermost_first() -> None:
    expected = text_format.Parse(
        f"""
        dev_stats {{
          device: "{HOST_DEVICE}"
          node_stats {{
            node_name: "ProfilerStep#4" timeline_label: "ProfilerStep#4 = ProfilerStep#4(step=4)" thread_id: 9
            all_start_micros: 1000 op_end_rel_micros: 9 all_end_rel_micros: 9 scheduled_micros: 1000
            all_start_nanos: 1000000 op_end_rel_nanos: 9500 all_end_rel_nanos: 9500 scheduled_nanos: 1000000
          }}
          node_stats {{
            node_name: "outer" timeline_label: "outer = outer(batch=32, what=x=[1])" thread_id: 7
            all_start_micros: 1001 op_end_rel_micros: 7 all_end_rel_micros: 7 scheduled_micros: 1001
            all_start_nanos: 1001999 op_end_rel_nanos: 6002 all_end_rel_nanos: 6002 scheduled_nanos: 1001999
          }}
          node_stats {{
            node_name: "inner (a = b)" timeline_label: "inner [a = b] = inner_[a_=_b]()" thread_id: 7
            all_start_micros: 1001 op_end_rel_micros: 2 all_end_rel_micros: 2 scheduled_micros: 1001
            all_start_nanos: 1001999 op_end_rel_nanos: 2000 all_end_rel_nanos: 2000 scheduled_nanos: 1001999
          }}
          node_stats {{
            node_name: "load" timeline_label: "load = load()" thread_id: 8
            all_start_micros: 1000 all_end_rel_micros: 0 scheduled_micros: 1000
            all_start_nanos: 1000500 op_end_rel_nanos: 1 all_end_rel_nanos: 1 scheduled_nanos: 1000500
          }}
          thread_names {{ key: 7 value: "MainThread" }}
          thread_names {{ key: 8 value: "loader" }}
          thread_names {{ key: 9 value: "steps" }}
        }}""",
        StepStats(),
    )
    assert step_stats_from_records(RECORDS) == expected


def test_the_timeline_of_records_shows_their_names_in_lanes_of_their_own() -> None:
    events = chrome_trace(step_stats_from_records(RECORDS))["traceEvents"]
    assert [(e["name"], e["tid"], e["args"]["name"]) for e in events if e["ph"] == "X"] == [
        ("ProfilerStep#4", 0, "ProfilerStep#4"),
        ("outer", 1, "outer"),
        ("inner_[a_=_b]", 2, "inner (a = b)"),
        ("load", 3, "load"),
    ]


def test_each_device_of_the_records_is_a_device() -> None:
    kernel = Record("sgemm", "kernel", Lane("/device:GPU:0/stream:7", 7, "stream 7"), 5_000, 1_000)
    devices = step_stats_from_records([*RECORDS, kernel]).dev_stats
    assert [(device.device, len(device.node_stats)) for device in devices] == [
        (HOST_DEVICE, 4),
        ("/device:GPU:0/stream:7", 1),
        ("/device:GPU:0/stream:all", 1),
    ]


def test_records_belong_to_the_step_they_start_in() -> None:
    first = Record("ProfilerStep#1", "step", STEPS, 100, 50, args={"step": 1})
    second = Record("ProfilerStep#2", "step", STEPS, 150, 50, args={"step": 2})
    before = Record("before", "annotation", MAIN, 90, 5)
    across = Record("across", "annotation", MAIN, 149, 30)
    at_start = Record("at start", "annotation", MAIN, 150, 1)
    after = Record("after", "gc", MAIN, 220, 1)
    assert split_steps([first, second, before, across, at_start, after]) == [
        (first, [first, before, across]),
        (second, [second, at_start, after]),
    ]


def test_records_without_a_step_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="none of them is a step"):
        split_steps(RECORDS[1:])
