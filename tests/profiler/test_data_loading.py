import copy
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from stepscope import profiler
from stepscope.profiler.collectors.base import Collected, RecordingClock
from stepscope.profiler.collectors.data_loading import DATA_LOADING_LANE, DataLoadingCollector, data_loading
from stepscope.profiler.process import _process
from stepscope.profiler.traces import load_trace


class Recorded:
    """What a collector records inside the ``with`` block."""

    def __init__(self, **options: int) -> None:
        self.collector = DataLoadingCollector(**options)

    def __enter__(self) -> "Recorded":
        self.began = time.time_ns()
        self.collector.start(RecordingClock(time))
        return self

    def __exit__(self, *error: object) -> None:
        self.collected: Collected = self.collector.stop()
        args = [dict(record.args) for record in self.collected.records]
        self.threads = {each.pop("thread") for each in args}
        self.slices = list(zip([record.name for record in self.collected.records], args, strict=True))


class Squares(IterableDataset[int]):  # type: ignore[misc] # untyped
    """An iterable data set, whose number of batches is not known in advance."""

    def __iter__(self) -> Iterator[int]:
        return iter([0, 1, 4, 9])


def test_every_wait_is_a_slice_on_a_lane_of_its_own() -> None:
    with Recorded() as recorded:
        assert list(data_loading("abc", name="letters")) == ["a", "b", "c"]
    assert recorded.slices == [
        ("letters", {"index": 0}),
        ("letters", {"index": 1}),
        ("letters", {"index": 2}),
        ("letters (end)", {"index": 3}),
    ]
    records = recorded.collected.records
    assert {(record.category, record.lane) for record in records} == {("data_loading", DATA_LOADING_LANE)}
    assert recorded.threads == {threading.get_native_id()}
    assert all(one.start_ns + one.duration_ns <= next_.start_ns for one, next_ in pairwise(records))
    assert recorded.began - 1_000_000 <= records[0].start_ns
    assert records[-1].start_ns + records[-1].duration_ns <= time.time_ns() + 1_000_000


def test_the_time_inside_next_is_what_lasts() -> None:
    times: list[int] = []

    def batches() -> Iterator[int]:
        times.append(time.perf_counter_ns())
        yield 1
        times.append(time.perf_counter_ns())

    with Recorded() as recorded:
        for _ in data_loading(batches()):
            times.append(time.perf_counter_ns())
            worked = time.perf_counter_ns() + 1_000_000
            while time.perf_counter_ns() < worked:
                pass
    first, last = recorded.collected.records
    inside, outside, inside_again = times
    offset = recorded.collector._wall_offset_ns
    assert first.start_ns <= inside + offset <= first.start_ns + first.duration_ns <= outside + offset
    assert outside + 1_000_000 + offset <= last.start_ns <= inside_again + offset


def test_what_is_wrapped_keeps_its_length_and_attributes() -> None:
    loader = DataLoader([1, 2, 3], batch_size=2)
    batches = data_loading(loader)
    assert len(batches) == 2
    assert batches.batch_size == 2
    assert [batch.tolist() for batch in batches] == [[1, 2], [3]]
    assert [batch.tolist() for batch in batches] == [[1, 2], [3]]
    assert bool(data_loading([])) is False
    assert len(copy.copy(data_loading([1, 2]))) == 2
    with pytest.raises(TypeError, match="has no len"):
        len(data_loading(iter([1])))
    assert list(data_loading(iter([1]))) == [1]
    with pytest.raises(AttributeError, match="nothing"):
        _ = data_loading([1]).nothing


def test_an_error_passes_through_and_is_named() -> None:
    def batches() -> Iterator[int]:
        yield 1
        raise RuntimeError("disk on fire")

    with Recorded() as recorded, pytest.raises(RuntimeError, match="disk on fire"):
        list(data_loading(batches()))
    assert recorded.slices == [
        ("data loading", {"index": 0}),
        ("data loading", {"index": 1, "error": "RuntimeError"}),
    ]


@pytest.mark.parametrize("workers", [0, 1])
def test_loaders_of_pytorch_are_recorded_as_they_are(workers: int) -> None:
    original = _BaseDataLoaderIter.__next__
    with Recorded() as recorded:
        batches = [batch.tolist() for batch in DataLoader(Squares(), batch_size=2, num_workers=workers)]
    assert batches == [[0, 1], [4, 9]]
    assert recorded.slices == [
        ("DataLoader", {"index": 0, "workers": workers}),
        ("DataLoader", {"index": 1, "workers": workers}),
        ("DataLoader (end)", {"index": 2, "workers": workers}),
    ]
    assert _BaseDataLoaderIter.__next__ is original


def test_a_loader_that_is_wrapped_is_recorded_once_by_its_name() -> None:
    with Recorded() as recorded:
        list(data_loading(DataLoader(Squares(), batch_size=4), name="train"))
    assert recorded.slices == [
        ("train", {"index": 0, "workers": 0}),
        ("train (end)", {"index": 1, "workers": 0}),
    ]


def test_a_loop_may_begin_before_a_recording_and_outlast_it() -> None:
    batches = iter(DataLoader(torch.arange(3)))
    letters = iter(data_loading("abc"))
    next(batches)
    next(letters)
    with Recorded() as recorded:
        next(batches)
        next(letters)
    assert (next(batches).tolist(), next(letters)) == ([2], "c")
    assert recorded.slices == [("DataLoader", {"index": 1, "workers": 0}), ("data loading", {"index": 1})]


def test_what_others_patch_meanwhile_is_left_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    original = _BaseDataLoaderIter.__next__
    try:
        with Recorded() as recorded:
            ours = _BaseDataLoaderIter.__next__

            def theirs(iterator: Any) -> Any:
                return ours(iterator)

            _BaseDataLoaderIter.__next__ = theirs
        assert _BaseDataLoaderIter.__next__ is theirs
        assert [batch.tolist() for batch in DataLoader(Squares(), batch_size=4)] == [[0, 1, 4, 9]]
        assert recorded.collected.records == []
    finally:
        _BaseDataLoaderIter.__next__ = original


def test_slices_beyond_the_limit_are_counted() -> None:
    with Recorded(max_slices=2) as recorded:
        list(data_loading("abc"))
    assert [args["index"] for _, args in recorded.slices] == [0, 1]
    assert recorded.collected.notes == ("2 waits for data were dropped beyond the limit of 2",)


def test_one_collector_serves_one_recording_after_another() -> None:
    recorded = Recorded()
    for _ in range(2):
        with recorded:
            list(data_loading("a"))
        assert recorded.slices == [("data loading", {"index": 0}), ("data loading (end)", {"index": 1})]


def test_a_recording_without_the_collector_has_what_is_wrapped(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=[]) as profile:
        list(data_loading("a"))
        list(DataLoader(Squares()))
    assert profile.recording is not None
    trace = load_trace(str(profile.recording.trace_path))
    loading = trace.category_id == trace.categories.index("data_loading")
    names = [trace.names[name] for name in trace.name_id[loading]]
    assert names == ["data loading", "data loading (end)"]


def test_without_a_recording_nothing_is_kept() -> None:
    assert _process.host is None
    assert list(data_loading("abc")) == ["a", "b", "c"]
