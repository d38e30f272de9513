"""Until the loops are compiled, plain Python finds what they would find."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.summary import SummaryWriter, scan, scan_kernel
from stepscope.summary.kernels import Group
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.proto.types_pb2 import DT_FLOAT
from stepscope.summary.records import frame
from stepscope.summary.scan import ROW, Outcome, Scanner
from tools.event_file_cases import damaged, random_file


@contextmanager
def compiling() -> Iterator[threading.Event]:
    """Makes the loops look as if another process were compiling them until the event is set."""
    group, done = Group("event files", ()), threading.Event()
    group.compiled_elsewhere(done)
    with patch.object(scan, "KERNELS", group):
        yield done


def test_the_little_that_comes_after_the_first_pass_is_read_without_the_loops(tmp_path: Path) -> None:
    with patch.object(scan, "KERNELS", Group("event files", ())) as group:
        group.spare(1 << 16)
        with patch.object(scan_kernel, "scan", side_effect=AssertionError), SummaryWriter(tmp_path) as writer:
            writer.add_scalar("loss", 0.5, 3)
            writer.flush()
            assert open_logdir(tmp_path).runs["."].series["loss"].values.tolist() == [0.5]
        group.spare(1)
        assert open_logdir(tmp_path).runs["."].series["loss"].values.tolist() == [0.5]
        assert not group.spared


def found(scanner: Scanner, content: bytes, pieces: list[int]) -> list[Any]:
    """All that the scan reports for a file that arrives in pieces, with room for few rows at a time."""
    taken: list[Any] = []
    begin, room = 0, 7
    for end in [*pieces, len(content)]:
        while True:
            rows = np.zeros(room, ROW)
            outcome, position, count = scanner.scan(np.frombuffer(content[:end], np.uint8), begin, 0, rows)
            taken.append(rows[:count])
            begin, room = position, room if count else 2 * room
            if outcome is not Outcome.ROWS_FULL:
                break
    rows = np.concatenate(taken)
    columns = ("wall_time", "step", "value", "offset", "length", "tag", "index", "form")
    reported = [rows[name].tobytes() for name in columns] + [
        column.tobytes() for column in scanner.split_by_tag(rows)[1:]
    ]
    return [outcome, position, scanner.needed, scanner.records, scanner.tags, scanner.damages, *reported]


def some_file(random: Random) -> tuple[bytes, list[int]]:
    content = b"".join(random_file(random, 20) for _ in range(3))
    if random.random() < 0.7:
        content = damaged(content, random)
    return content, sorted(random.randrange(len(content) + 1) for _ in range(random.randrange(3)))


@given(random=st.randoms(use_true_random=True))
def test_any_file(random: Random) -> None:
    content, pieces = some_file(random)
    with compiling():
        plain = found(Scanner(), content, pieces)
    assert plain == found(Scanner(), content, pieces)


@given(random=st.randoms(use_true_random=True))
def test_the_loops_go_on_where_the_plain_scan_was(random: Random) -> None:
    content, _ = some_file(random)
    scanner = Scanner()
    with compiling():
        found(scanner, content, [])
    known = Scanner()
    found(known, content, [])
    again = damaged(content, random)
    assert found(scanner, again, []) == found(known, again, [])


def test_a_number_is_a_tensor_of_one_element_whatever_its_rank() -> None:
    shapes: tuple[list[int], ...] = ([], [1], [1, 1], [2], [1] * 33)
    values = [
        Summary.Value(
            tag="t",
            tensor=TensorProto(dtype=DT_FLOAT, float_val=[0.5], tensor_shape={"dim": [{"size": n} for n in shape]}),
        )
        for shape in shapes
    ]
    content = frame(Event(step=1, summary=Summary(value=values)).SerializeToString())
    rows = np.zeros((2, 9), ROW)
    with compiling():
        Scanner().scan(np.frombuffer(content, np.uint8), 0, 0, rows[0])
    Scanner().scan(np.frombuffer(content, np.uint8), 0, 0, rows[1])
    assert rows["form"][:, :5].tolist() == [[0, 0, 0, 1, 1]] * 2


def test_more_tags_than_the_tables_have_room_for() -> None:
    values = [Summary.Value(tag=f"layer {number} " + "x" * 40, simple_value=1.0) for number in range(700)]
    content = frame(Event(step=1, summary=Summary(value=values)).SerializeToString())
    rows = np.zeros(2_000, ROW)
    scanner = Scanner()
    with compiling():
        scanner.scan(np.frombuffer(content, np.uint8), 0, 0, rows)
    assert scanner.scan(np.frombuffer(content, np.uint8), 0, 0, rows)[2] == 700
    assert scanner.tags == [value.tag.encode() for value in values]
    assert rows["tag"][:700].tolist() == list(range(700))
