"""The slices of an XSpace: which of its events are shown, and how."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Counter, Lane, LaneKind, Losses, Trace
from stepscope.profiler.traces.build import LATEST_NS, RawSlices, arrange, assemble, intern_used
from stepscope.profiler.traces.derived_lines import KERNEL, LINES, STATS, Kernels, derive
from stepscope.profiler.traces.losses import ARGUMENTS, INTERNAL, TIME_RANGE, LossTally, merged, moment
from stepscope.profiler.traces.wire import XEventColumns, stat_numbers
from stepscope.profiler.traces.xplane_marks import CORRELATION_STAT, FLOWS, Marks
from stepscope.profiler.traces.xplane_planes import MOST_ARGUMENT_BYTES, Line, Plane, XPlaneArguments, arguments_of
from stepscope.summary.distinct import numbered

REGION: Final = "ThreadpoolListener::Region"
_REGION_START: Final = "ThreadpoolListener::StartRegion"
_REGION_STOP: Final = "ThreadpoolListener::StopRegion"
_ALLOCATIONS: Final = frozenset({"MemoryAllocation", "MemoryDeallocation"})
_INTERNAL: Final = _ALLOCATIONS | {
    "PrefetchProduce", "PrefetchConsume", "ParallelInterleaveProduce", "ParallelInterleaveConsume",
    "ParallelInterleaveInitializeInput", "ParallelMapProduce", "ParallelMapConsume", "MapAndBatchProduce",
    "MapAndBatchConsume", "ParseExampleProduce", "ParseExampleConsume", "ParallelBatchProduce",
    "ParallelBatchConsume",
}  # fmt: skip
"""Events used only by TensorFlow's analyses; memory events become counters."""
_CATEGORIES: Final = ("", "kernel", "gpu_memcpy", "gpu_memset", *FLOWS)
_GPU: Final = "/device:GPU:"
_COUNTER_LINE: Final = "_counters_"


def _lane_kind(plane: str, line: str) -> LaneKind:
    if not plane.startswith("/device:"):
        return "host" if plane.startswith("/host:") else "other"
    if "Memcpy" in line and "Compute" not in line:
        return "memcpy"
    return "stream" if line.lower().startswith("stream") else "device"


class XPlaneSlices:
    """Slices of all lines, collected as they are read."""

    def __init__(self, data: bytes, tally: LossTally) -> None:
        self._data = data
        self._tally = tally
        self._planes: list[Plane] = []
        self._lanes: list[Lane] = []
        self._texts: dict[str, int] = {}
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._buffer = np.frombuffer(data, np.uint8)
        self._marks = Marks(self._buffer)
        self.slices = 0
        self._kernels: list[tuple[NDArray[np.int64], ...]] = []
        """Kernels of the plane being read: starts, ends and `STATS`, with their correlation numbers last."""
        self._lines_of_plane: set[str] = set()
        """Names of the lines of that plane."""
        self._derivable: list[_KernelsOfPlane] = []
        self._counters: dict[tuple[str, str, str], tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def add_line(self, plane: Plane, plane_number: int, line: Line) -> None:
        """Add the events of a line."""
        if not self._planes or self._planes[-1] is not plane:
            self._planes.append(plane)
        events = line.events
        timed = events.occurrences < 0
        self._tally.add("event without a time", int(np.count_nonzero(~timed)), f"in “{line.name}” of {plane.name}")
        # Picoseconds are added before they are rounded, as two half nanoseconds make a whole one.
        start = line.timestamp_ns + (events.offset_ps + 500) // 1000
        duration = (events.offset_ps + events.duration_ps + 500) // 1000 - (events.offset_ps + 500) // 1000
        fitting = timed & (np.abs(events.offset_ps) < 1 << 61) & (events.duration_ps < 1 << 61)
        fitting &= (start >= -LATEST_NS) & (start <= LATEST_NS) & (abs(line.timestamp_ns) <= LATEST_NS)
        out = np.flatnonzero(timed & ~fitting)
        if len(out):
            self._tally.add(TIME_RANGE, len(out), f"event {out[0]} of “{line.name}” of {plane.name}")
        metadata = self._metadata(plane, events.metadata_id)
        shown = fitting & (metadata.shown[metadata.number])
        self._count_internal(plane, line, events, metadata, fitting & ~shown, start)
        if line.name == _COUNTER_LINE or line.name.startswith("counters_"):
            self._add_counters(plane, events, metadata, fitting, start)
            return
        kept = np.flatnonzero(shown)
        long = int(np.count_nonzero(events.length[kept] > MOST_ARGUMENT_BYTES))
        self._tally.add(ARGUMENTS, long, f"an event of “{line.name}” of {plane.name}")
        lane = len(self._lanes)
        self._lanes.append(
            Lane(
                plane.name,
                line.name or f"line {line.number}",
                plane_number,
                line.number & 0xFFFFFFFF,
                _lane_kind(plane.name, line.name),
                0,
            )
        )
        self._marks.note(plane, events, kept, self.slices)
        self._note_kernels(plane, line, events, kept, start, duration)
        self._add(
            lane,
            start[kept],
            duration[kept],
            metadata.name[metadata.number[kept]],
            events.start[kept],
            events.length[kept],
        )
        self._add_regions(lane, events, metadata, fitting, start)

    def _add(
        self,
        lane: int,
        start: NDArray[np.int64],
        duration: NDArray[np.int64],
        name: NDArray[np.int32],
        at: NDArray[np.int64],
        length: NDArray[np.int64],
    ) -> None:
        self.slices += len(start)
        self._parts.append(
            {
                "start": start,
                "duration": duration,
                "name": name.astype(np.int32),
                "category": self._categories(name, self._lanes[lane].kind),
                "lane": np.full(len(start), lane, np.int32),
                "at": at,
                "length": length.astype(np.int32),
                "plane": np.full(len(start), len(self._planes) - 1, np.int32),
            }
        )

    def _categories(self, name: NDArray[np.int32], kind: LaneKind) -> NDArray[np.int32]:
        """Return categories: on a stream, a copy if named like one, else a kernel; elsewhere the format has none."""
        if kind not in ("stream", "memcpy"):
            return np.zeros(len(name), np.int32)
        used, _, number = numbered(name)
        texts = list(self._texts)
        kinds = [3 if "memset" in (text := texts[one].lower()) else 2 if "memcpy" in text else 1 for one in used]
        return np.array(kinds, np.int32)[number]

    def _metadata(self, plane: Plane, ids: NDArray[np.int64]) -> "_MetadataOfLine":
        used, _, number = numbered(ids)
        names, shown, raw = [], [], []
        for metadata_id in used.tolist():
            metadata = plane.event_metadata.get(metadata_id)
            raw.append("" if metadata is None else metadata.name)
            names.append(self._text("" if metadata is None else metadata.display_name or metadata.name))
            shown.append(raw[-1] not in _INTERNAL)
        return _MetadataOfLine(number, np.array(names, np.int32), np.array(shown, np.bool_), raw)

    def _count_internal(
        self,
        plane: Plane,
        line: Line,
        events: XEventColumns,
        metadata: "_MetadataOfLine",
        hidden: NDArray[np.bool_],
        start: NDArray[np.int64],
    ) -> None:
        """Count events that are not shown; memory events become counters."""
        for event in np.flatnonzero(hidden).tolist():
            name = metadata.raw[int(metadata.number[event])]
            if name not in _ALLOCATIONS:
                self._tally.add(INTERNAL, 1, f"“{name}” on {plane.name}, {line.name} at {moment(int(start[event]))}")
                continue
            arguments = arguments_of(plane, self._encoded(events, event))
            allocator = f"memory of {arguments.get('allocator_name', 'an allocator')}"
            for key, series in (
                ("bytes_allocated", "allocated"),
                ("bytes_reserved", "reserved"),
                ("bytes_available", "available"),
            ):
                if isinstance(arguments.get(key), int):
                    times, values = self._counters[plane.name, allocator, series]
                    times.append(int(start[event]))
                    values.append(float(arguments[key]))

    def _add_counters(
        self,
        plane: Plane,
        events: XEventColumns,
        metadata: "_MetadataOfLine",
        fitting: NDArray[np.bool_],
        start: NDArray[np.int64],
    ) -> None:
        for event in np.flatnonzero(fitting).tolist():
            for series, value in arguments_of(plane, self._encoded(events, event)).items():
                if isinstance(value, int | float) and np.isfinite(value):
                    times, values = self._counters[plane.name, metadata.raw[int(metadata.number[event])], series]
                    times.append(int(start[event]))
                    values.append(float(value))

    def _encoded(self, events: XEventColumns, event: int) -> bytes:
        return self._data[int(events.start[event]) : int(events.start[event] + events.length[event])]

    def _note_kernels(
        self,
        plane: Plane,
        line: Line,
        events: XEventColumns,
        kept: NDArray[np.int64],
        start: NDArray[np.int64],
        duration: NDArray[np.int64],
    ) -> None:
        """Record the kernels from which lines of a GPU are derived, but not where the file has these lines already."""
        self._lines_of_plane.add(line.name)
        numbers = {name: number for number, name in plane.stat_names.items()}
        chosen = kept[events.stats[kept]]
        if not plane.name.startswith(_GPU) or KERNEL not in numbers or not len(chosen):
            return
        wanted = [numbers.get(name, -1) for name in (*STATS, CORRELATION_STAT)]
        values, present = stat_numbers(self._buffer, events.start[chosen], events.length[chosen], wanted)
        kernel = present[:, 0]
        said = np.where(present, values, -1)[kernel]
        begin = start[chosen][kernel]
        self._kernels.append((begin, begin + duration[chosen][kernel], said[:, 1:-1], said[:, -1]))

    def end_plane(self, plane: Plane, number: int) -> None:
        """Record that all lines of a plane have been added."""
        if self._kernels:
            columns = [np.concatenate(column) for column in zip(*self._kernels, strict=True)]
            self._derivable.append(_KernelsOfPlane(plane, number, frozenset(self._lines_of_plane), *columns))
        self._kernels, self._lines_of_plane = [], set()

    def _add_derived(
        self, made: "_KernelsOfPlane", all_starts: NDArray[np.int64], all_durations: NDArray[np.int64]
    ) -> None:
        """Add lanes for the modules, operations and name scopes that the kernels of a plane name."""
        steps = self._marks.steps_launching(made.correlation, all_starts, all_durations)
        derived = derive(Kernels(made.start_ns, made.end_ns, made.texts, steps), made.plane.stat_names)
        for number, name in enumerate(LINES):
            slices = [each for each in derived if each.line == name]
            if not slices or name in made.known:
                continue
            # Of kind "other", so that no analysis counts the kernels' time twice.
            self._lanes.append(Lane(made.plane.name, name, made.number, f"derived {number}", "other", 0))
            start = np.array([each.start_ns for each in slices], np.int64)
            end = np.array([each.end_ns for each in slices], np.int64)
            names = np.array([self._text(each.name) for each in slices], np.int32)
            nowhere = np.full(len(slices), -1, np.int64)
            self._add(len(self._lanes) - 1, start, end - start, names, nowhere, np.zeros(len(slices), np.int64))

    def _add_regions(
        self,
        lane: int,
        events: XEventColumns,
        metadata: "_MetadataOfLine",
        fitting: NDArray[np.bool_],
        start: NDArray[np.int64],
    ) -> None:
        """Add a slice from each start of a region to the stop that follows it on the thread."""
        kinds = np.array(
            [1 if raw == _REGION_START else 2 if raw == _REGION_STOP else 0 for raw in metadata.raw], np.int8
        )
        marks = np.flatnonzero(fitting & (kinds[metadata.number] > 0)) if len(kinds) else np.empty(0, np.int64)
        marks = marks[np.argsort(start[marks], kind="stable")]
        kind = kinds[metadata.number[marks]] if len(marks) else np.empty(0, np.int8)
        first = np.flatnonzero((kind[:-1] == 1) & (kind[1:] == 2))
        begins, ends = marks[first], marks[first + 1]
        count = len(begins)
        name = np.full(count, self._text(REGION) if count else 0, np.int32)
        nowhere = np.full(count, -1, np.int64)
        self._add(lane, start[begins], start[ends] - start[begins], name, nowhere, np.zeros(count, np.int64))

    def trace(self, *, notes: tuple[str, ...], metadata: Mapping[str, Any], epoch_ns: int | None) -> Trace:
        """Return the trace of everything that was added."""
        if self._derivable:
            read = [np.concatenate([part[key] for part in self._parts]) for key in ("start", "duration")]
            for kernels in self._derivable:
                self._add_derived(kernels, *read)
        columns = {
            key: np.concatenate([part[key] for part in self._parts] or [np.empty(0, dtype)])
            for key, dtype in _COLUMNS.items()
        }
        name_id, names = intern_used(columns["name"], list(self._texts))
        of_flows = np.array([_CATEGORIES.index(name) for name in FLOWS], np.int32)
        category_id, categories = intern_used(np.concatenate([columns["category"], of_flows]), _CATEGORIES)
        # Derived lanes come last, but belong with the other lanes of their planes.
        lanes = sorted(range(len(self._lanes)), key=lambda lane: self._lanes[lane].pid)
        lane = np.argsort(lanes).astype(np.int32)[columns["lane"]] if lanes else columns["lane"]
        raw = RawSlices(columns["start"], columns["duration"], lane, name_id, category_id[: -len(FLOWS)])
        arranged = arrange(raw, [self._lanes[lane] for lane in lanes])
        order = arranged.order
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return assemble(
            arranged,
            names=names,
            categories=categories,
            arguments=XPlaneArguments(
                self._data, self._planes, columns["plane"][order], columns["at"][order], columns["length"][order]
            ),
            flows=self._marks.flows(place, columns["start"], category_id[-len(FLOWS) :].tolist()),
            counters=tuple(
                _counter(process, name, series, times, values)
                for (process, name, series), (times, values) in self._counters.items()
            ),
            steps=self._marks.steps(place, arranged, names),
            losses=merged(Losses(notes=notes), self._tally.losses()),
            metadata=metadata,
            epoch_ns=epoch_ns,
        )


class _KernelsOfPlane(NamedTuple):
    """Kernels of a GPU, from which lines are derived."""

    plane: Plane
    number: int
    known: frozenset[str]
    """Names of the lines that the file itself has."""
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    texts: NDArray[np.int64]
    correlation: NDArray[np.int64]


@dataclass(frozen=True)
class _MetadataOfLine:
    """The metadata used by the events of a line."""

    number: NDArray[np.int64]
    """For each event, an index into the other columns."""
    name: NDArray[np.int32]
    shown: NDArray[np.bool_]
    raw: list[str]


_COLUMNS: Final[Mapping[str, Any]] = {
    "start": np.int64,
    "duration": np.int64,
    "name": np.int32,
    "category": np.int32,
    "lane": np.int32,
    "at": np.int64,
    "length": np.int32,
    "plane": np.int32,
}


def _counter(process: str, name: str, series: str, times: list[int], values: list[float]) -> Counter:
    order = np.argsort(np.array(times, np.int64), kind="stable")
    return Counter(process, name, series, np.array(times, np.int64)[order], np.array(values, np.float64)[order])
