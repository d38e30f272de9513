"""Recordings that `stepscope.debug` wrote into a run, read back as `DebugData`."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.counts import counted
from stepscope.summary.debugger.model import (
    COLUMN,
    FIGURES,
    Alert,
    Frame,
    Observations,
    Phase,
    SourceFile,
    WatchedTensor,
)
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.debug import (
    ALERTS_TAG,
    CATALOG_PLUGIN,
    CATALOG_TAG,
    CAUGHT_TAG,
    RING_TAG,
    STEPS_TAG,
    HealthColumns,
    value_tag,
)
from stepscope.summary.names import readable_name
from stepscope.summary.proto.debug_pb2 import DebugAlerts, DebugCatalog, DebugTensor
from stepscope.summary.series import Run, Series

MOST_ALERTS: Final = 10_000
MOST_TENSORS: Final = 1_000_000
MOST_NAME_CHARACTERS: Final = 100 << 20
"""Maximum total length of all tensor names."""
MOST_NOTES: Final = 1_000
MOST_SOURCES: Final = 10_000
MOST_DIMENSIONS: Final = 100
LONGEST_STACK: Final = 1_000
_OBSERVED_TAGS: Final = (STEPS_TAG, RING_TAG, CAUGHT_TAG)
_NOT_FINITE: Final = [COLUMN[figure] for figure in ("nan", "positive_infinity", "negative_infinity")]
_PHASES: Final = frozenset(get_args(Phase))

_Item = TypeVar("_Item")
_Key = tuple[int, int]
"""A recording and a number within it."""


@dataclass(frozen=True)
class _Points:
    """The data read so far from each point of a tag."""

    epoch: tuple[bytes, int]
    items: tuple[Any, ...]
    """None for a point that cannot be read."""
    failures: Counter[str]


class _Header(NamedTuple):
    """The data kept for a point with observations."""

    recording: int
    tensors: int
    observations: int


@dataclass(frozen=True)
class _Catalog:
    """All catalogs of a run, joined."""

    source: str
    tensors: tuple[WatchedTensor, ...]
    numbers: Mapping[_Key, int]
    """The joined number of each recording's tensor."""
    devices: tuple[str, ...]
    """The names of the devices of values; the first is empty."""
    device_places: Mapping[_Key, int]
    """The device index of each recording's tensor, if known: ranks have the same tensors on different devices."""
    stacks: tuple[tuple[Frame, ...], ...]
    sources: tuple[SourceFile, ...]
    notes: tuple[str, ...]
    recordings: int
    lost: int
    """The number of tensors that have figures but no description."""


@dataclass(frozen=True)
class RecordedData:
    """A recording as `stepscope.summary.debugger.model.DebugData`; made by `read_recording`.

    Health figures are read from the files on demand, one step at a time.
    """

    run: Run
    _points: Mapping[str, _Points] = field(repr=False)

    @property
    def source(self) -> str:
        """A description of the program that wrote it."""
        return self._catalog.source

    @property
    def tensors(self) -> Sequence[WatchedTensor]:
        """All tensors, in the order of their first observation."""
        return self._catalog.tensors

    @property
    def sources(self) -> Sequence[SourceFile]:
        """The source files that were kept."""
        return self._catalog.sources

    def stack(self, number: int) -> Sequence[Frame]:
        """Return a stack, outermost call first; empty if it was not kept."""
        return self._catalog.stacks[number] if 0 <= number < len(self._catalog.stacks) else ()

    @property
    def observation_count(self) -> int:
        """The number of observations."""
        return int(self._layout.ends[-1]) if len(self._layout.ends) else 0

    @property
    def point_ends(self) -> NDArray[np.int64]:
        """The number of observations up to the end of each recorded step, in order; each step is read in one piece."""
        return self._layout.ends

    def observations(self, begin: int, end: int) -> Observations:
        """Return a range of observations, in order: by step, and within a step as they were made.

        Observations found to be damaged when read have no figures.
        """
        begin, end = max(begin, 0), min(end, self.observation_count)
        layout = self._layout
        tensors, steps, wall_times, figures, devices = [], [], [], [], []
        first = int(np.searchsorted(layout.ends, begin, "right"))
        last = int(np.searchsorted(layout.ends, end, "left"))
        for place in range(first, min(last + 1, len(layout.ends)) if begin < end else first):
            check_cancelled()
            found, measured, where = self._read(place)
            start = int(layout.ends[place]) - len(found)
            piece = slice(max(begin - start, 0), max(end - start, 0))
            tensors.append(found[piece])
            figures.append(measured[piece])
            devices.append(where[piece])
            steps.append(np.full(len(tensors[-1]), layout.steps[place]))
            wall_times.append(np.full(len(tensors[-1]), layout.wall_times[place]))
        if not tensors:
            return Observations.none()
        return Observations(
            np.concatenate(tensors),
            np.concatenate(steps),
            np.concatenate(wall_times),
            np.concatenate(figures),
            devices=np.concatenate(devices),
        )

    @property
    def devices(self) -> Sequence[str]:
        """The device names; "" for an unknown device."""
        return self._catalog.devices

    def value(self, number: int) -> NDArray[np.generic] | None:
        """Return the observed value itself; None if it was not kept.

        Raises:
            PayloadError: the value is damaged.
        """
        found = self.observations(number, number + 1)
        if len(found) != 1 or not 0 <= found.tensors[0] < len(self.tensors):
            return None
        tensor = self.tensors[found.tensors[0]]
        series = self.run.series.get(value_tag(tensor.phase, tensor.name))
        if series is None:
            return None
        # Steps may be out of order if several processes wrote at once.
        places = np.flatnonzero(series.steps == found.steps[0])
        if not len(places):
            return None
        nearest = places[np.argmin(np.abs(series.wall_times[places] - found.wall_times[0]))]
        payload = series.read(int(nearest))
        return cast("NDArray[np.generic]", payload.array)

    def first_bad_inside(self, number: int) -> int | None:
        """Return the first nonfinite observation, in the same step, inside the module that produced an observation."""
        layout = self._layout
        place = int(np.searchsorted(layout.ends, number, "right"))
        if not 0 <= number < self.observation_count:
            return None
        numbers, figures, _ = self._read(place)
        begin = int(layout.ends[place]) - len(numbers)
        module = self.tensors[int(numbers[number - begin])]
        if module.phase != "forward" or module.op_type == "input" or "." in module.op_type:
            return None
        bad = np.flatnonzero((figures[: number - begin, _NOT_FINITE] > 0).any(axis=1))
        for row in bad.tolist():
            if _is_inside(self.tensors[int(numbers[row])], module):
                return begin + row
        return None

    @cached_property
    def alerts(self) -> Sequence[Alert]:
        """The findings of the recorder's rules while it recorded, in order."""
        series = self.run.series.get(ALERTS_TAG)
        if series is None:
            return ()
        alerts: list[Alert] = []
        points = zip(self._points[ALERTS_TAG].items, series.steps, series.wall_times, strict=True)
        for message, step, wall_time in points:
            if message is not None:
                alerts.extend(self._alerts_of(message, int(step), float(wall_time)))
            if len(alerts) >= MOST_ALERTS:
                break
        return tuple(alerts[:MOST_ALERTS])

    @property
    def problems(self) -> Sequence[str]:
        """Content that is missing or damaged, or could not be observed, one sentence each."""
        found = [*self._catalog.notes]
        for tag, points in self._points.items():
            what = tag.rpartition("/")[2]
            for reason, count in points.failures.items():
                found.append(f"{count} of {len(points.items)} records of {what} cannot be read: {reason}")
        if self._catalog.lost:
            found.append(
                f"{counted(self._catalog.lost, 'tensor has', 'tensors have')} figures, but the record that says what "
                "they are is missing"
            )
        if self._catalog.recordings > 1:
            found.append(
                f"the run has {self._catalog.recordings} recordings: it was resumed, or several ranks wrote it"
            )
        if len(self._catalog.tensors) >= MOST_TENSORS:
            found.append(f"only the first {MOST_TENSORS} tensors are used")
        return tuple(found)

    @cached_property
    def _catalog(self) -> _Catalog:
        messages = self._points[CATALOG_TAG].items if CATALOG_TAG in self._points else ()
        headers = [h for tag in _OBSERVED_TAGS if tag in self._points for h in self._points[tag].items if h is not None]
        return _joined([message for message in messages if message is not None], headers)

    @cached_property
    def _layout(self) -> "_Layout":
        return _layout_of(self.run, self._points)

    def _read(self, place: int) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        """Return the numbers, figures and devices of one point, as many as its header states."""
        layout = self._layout
        tag, index = _OBSERVED_TAGS[layout.tags[place]], int(layout.indexes[place])
        header: _Header = self._points[tag].items[index]
        try:
            columns: HealthColumns = self.run.series[tag].read(index)
            numbers, figures = columns.decode()
            if (columns.recording, columns.tensors, len(numbers)) != header:
                raise PayloadError("the file changed")
        except PayloadError:
            nothing = np.zeros(header.observations, np.int32)
            return nothing, np.full((header.observations, len(FIGURES)), np.nan), nothing
        # Tensors beyond `MOST_TENSORS` are not in the table.
        own, joined, devices = self._numbers.get(header.recording, _NO_NUMBERS)
        at = np.searchsorted(own[:-1], numbers)
        known = own[at] == numbers
        return joined[at] * known, np.where(known[:, np.newaxis], figures, np.nan), devices[at] * known

    @cached_property
    def _numbers(self) -> Mapping[int, "_Numbers"]:
        """The tensors of each recording."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        catalog = self._catalog
        for (recording, own), number in catalog.numbers.items():
            found.setdefault(recording, []).append((own, number, catalog.device_places.get((recording, own), 0)))
        return {recording: _numbers_of(rows) for recording, rows in found.items()}

    def _alerts_of(self, message: DebugAlerts, step: int, wall_time: float) -> Iterator[Alert]:
        for alert in message.alerts:
            number = self._catalog.numbers.get((message.recording, alert.tensor)) if alert.HasField("tensor") else None
            observation = None if number is None else self._observation(number, step)
            figures = dict(alert.figures)
            rule, message_text = readable_name(alert.rule), readable_name(alert.message)
            yield Alert(rule, step, number, message_text, observation, wall_time, figures)

    def _observation(self, tensor: int, step: int) -> int | None:
        layout = self._layout
        for place in range(*np.searchsorted(layout.steps, [step, step + 1])):
            rows = np.flatnonzero(self._read(place)[0] == tensor)
            if len(rows):
                header_count = int(layout.ends[place]) - (int(layout.ends[place - 1]) if place else 0)
                return int(layout.ends[place]) - header_count + int(rows[0])
        return None


class _Numbers(NamedTuple):
    """The tensors of a recording, by ascending number there."""

    own: NDArray[np.int64]
    """The number in the recording."""
    joined: NDArray[np.int32]
    """The number here."""
    devices: NDArray[np.int32]
    """The device index."""


def _numbers_of(rows: list[tuple[int, int, int]]) -> _Numbers:
    own, joined, devices = zip(*sorted(rows), strict=True)
    return _Numbers(np.array(own, np.int64), np.array(joined, np.int32), np.array(devices, np.int32))


_NO_NUMBERS: Final = _numbers_of([(-1, 0, 0)])
"""No tensor has this number."""


def _is_inside(tensor: WatchedTensor, module: WatchedTensor) -> bool:
    """Return whether a value was made inside a module: by a module or operation that it runs."""
    if tensor.phase != "forward" or tensor.op_type == "input":
        return False
    if tensor.module == module.module:
        return "." in tensor.op_type
    return not module.module or tensor.module.startswith(f"{module.module}.")


@dataclass(frozen=True)
class _Layout:
    """The locations of observations: one row per point, ordered by step and time."""

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    tags: NDArray[np.int64]
    """The index of the tag in `_OBSERVED_TAGS`."""
    indexes: NDArray[np.int64]
    """The index of the point in its series."""
    ends: NDArray[np.int64]
    """The number of observations up to the end of the point."""


def may_have_recording(kinds: frozenset[str], tags: frozenset[str]) -> bool:
    """Return whether `stepscope.debug` may have written into a run with some of these kinds and tags."""
    return CATALOG_PLUGIN in kinds or not tags.isdisjoint(_OBSERVED_TAGS)


def has_recording(run: Run) -> bool:
    """Return whether `stepscope.debug` wrote into the run."""
    return CATALOG_PLUGIN in run.kinds or any(tag in run.series for tag in _OBSERVED_TAGS)


def read_recording(run: Run, previous: RecordedData | None = None) -> RecordedData:
    """Return the recording in a run; list its contents now, and read figures later.

    Args:
        run: a run of any snapshot.
        previous: the previous result for the same run; data that is still valid is reused, so that a run that grows by
            one step costs one step.
    """
    points: dict[str, _Points] = {}
    for tag, keep in _KEPT.items():
        series = run.series.get(tag)
        if series is not None:
            points[tag] = _read_points(series, keep, previous._points.get(tag) if previous else None)
    return RecordedData(run, points)


def _read_points(series: Series, keep: Callable[[Any], Any], before: _Points | None) -> _Points:
    if before is None or before.epoch != series.epoch or len(before.items) > len(series):
        before = _Points(series.epoch, (), Counter())
    items: list[Any] = []
    failures = Counter(before.failures)
    for index in range(len(before.items), len(series)):
        check_cancelled()
        try:
            items.append(keep(series.read(index)))
        except (PayloadError, _UnexpectedError) as error:
            failures[str(error)] += 1
            items.append(None)
    return replace(before, items=(*before.items, *items), failures=failures)


class _UnexpectedError(Exception):
    """A value under one of the recorder's tags is of an unexpected kind."""


def _only(kind: type[_Item], keep: Callable[[_Item], Any]) -> Callable[[Any], Any]:
    def kept(payload: Any) -> Any:
        if not isinstance(payload, kind):
            raise _UnexpectedError(f"expected {kind.__name__}, got {type(payload).__name__}")
        return keep(payload)

    return kept


def _header(columns: HealthColumns) -> _Header:
    return _Header(columns.recording, columns.tensors, columns.count)


_KEPT: Final[Mapping[str, Callable[[Any], Any]]] = {
    CATALOG_TAG: _only(DebugCatalog, lambda catalog: catalog),
    **dict.fromkeys(_OBSERVED_TAGS, _only(HealthColumns, _header)),
    ALERTS_TAG: _only(DebugAlerts, lambda alerts: alerts),
}
"""The recorder's tags, and the data kept from each of their points."""


def _joined(catalogs: Sequence[DebugCatalog], headers: Sequence[_Header]) -> _Catalog:
    """Join catalogs; tensors with the same name and phase are one tensor across all recordings."""
    places: dict[tuple[str, str], int] = {}
    numbers: dict[_Key, int] = {}
    found: list[tuple[int, DebugTensor]] = []
    frames: dict[_Key, Frame] = {}
    stack_numbers: dict[_Key, int] = {}
    stacks: list[tuple[Frame, ...]] = []
    sources: dict[tuple[str, str], SourceFile] = {}
    notes: dict[str, None] = {}
    devices: dict[str, int] = {"": 0}
    device_places: dict[_Key, int] = {}
    characters = left_out = more_sources = more_notes = 0
    for catalog in catalogs:
        recording = catalog.recording
        for frame in catalog.frames:
            path, function, code = map(readable_name, (frame.path, frame.function, frame.code))
            frames[recording, frame.number] = Frame(path, frame.line, function, code)
        for stack in catalog.stacks:
            stack_numbers[recording, stack.number] = len(stacks)
            innermost = list(stack.frames)[-LONGEST_STACK:]
            stacks.append(tuple(frames[recording, n] for n in innermost if (recording, n) in frames))
        for tensor in catalog.tensors:
            name = readable_name(tensor.name)
            if len(places) < MOST_TENSORS and characters < MOST_NAME_CHARACTERS:
                place = places.setdefault((name, tensor.phase), len(places))
                numbers[recording, tensor.number] = place
                if tensor.device:
                    device = readable_name(tensor.device)
                    device_places[recording, tensor.number] = devices.setdefault(device, len(devices))
                if place == len(found):
                    found.append((recording, tensor))
                    characters += len(name) + len(tensor.module) + len(tensor.op_type)
            elif (name, tensor.phase) in places:
                numbers[recording, tensor.number] = places[name, tensor.phase]
            else:
                left_out += 1
        for source in catalog.sources:
            key = readable_name(source.host), readable_name(source.path)
            if key not in sources and len(sources) < MOST_SOURCES:
                sources[key] = SourceFile(key[1], tuple(source.text.splitlines()), key[0])
            elif key not in sources:
                more_sources += 1
        for note in catalog.notes:
            if len(notes) < MOST_NOTES:
                notes[readable_name(note)] = None
            else:
                more_notes += 1
    if left_out:
        notes[
            f"{counted(left_out, 'tensor is', 'tensors are')} left out: there are more than {MOST_TENSORS:,}, or their "
            "names are too long"
        ] = None
    if more_sources:
        files = counted(more_sources, "source file is", "source files are")
        notes[f"{files} left out: there are more than {MOST_SOURCES:,}"] = None
    if more_notes:
        further = counted(more_notes, "further note is", "further notes are")
        notes[f"{further} left out"] = None
    tensors = [_watched(recording, tensor, numbers, stack_numbers) for recording, tensor in found]
    lost = 0
    for header in {header.recording: header for header in sorted(headers) if header.observations}.values():
        for own in range(header.tensors):
            if len(tensors) >= MOST_TENSORS:
                break
            if (header.recording, own) not in numbers:
                lost += 1
                numbers[header.recording, own] = len(tensors)
                tensors.append(WatchedTensor(f"tensor {own} of recording {header.recording:016x}", "forward"))
    named = [catalog.source for catalog in catalogs if catalog.source]
    recordings = len({catalog.recording for catalog in catalogs})
    return _Catalog(
        readable_name(named[0]) if named else "stepscope.debug",
        tuple(tensors),
        numbers,
        tuple(devices),
        device_places,
        tuple(stacks),
        tuple(sources.values()),
        tuple(notes),
        recordings,
        lost,
    )


def _watched(
    recording: int, tensor: DebugTensor, numbers: Mapping[_Key, int], stacks: Mapping[_Key, int]
) -> WatchedTensor:
    phase = tensor.phase if tensor.phase in _PHASES else "forward"
    inputs = (numbers.get((recording, number)) for number in tensor.inputs)
    return WatchedTensor(
        name=readable_name(tensor.name),
        phase=cast("Phase", phase),
        module=readable_name(tensor.module),
        op_type=readable_name(tensor.op_type),
        slot=tensor.slot,
        dtype=readable_name(tensor.dtype),
        shape=tuple(tensor.shape[:MOST_DIMENSIONS]) if tensor.has_shape else None,
        stack=stacks.get((recording, tensor.stack)) if tensor.HasField("stack") else None,
        inputs=tuple(number for number in inputs if number is not None),
        device=readable_name(tensor.device),
    )


def _layout_of(run: Run, points: Mapping[str, _Points]) -> _Layout:
    rows: list[tuple[int, float, int, int, int]] = []
    for number, tag in enumerate(_OBSERVED_TAGS):
        if tag not in points:
            continue
        series = run.series[tag]
        for index, header in enumerate(points[tag].items):
            if header is not None and header.observations:
                rows.append(
                    (int(series.steps[index]), float(series.wall_times[index]), number, index, header.observations)
                )
    rows.sort()
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return _Layout(
        steps=np.array(columns[0], np.int64),
        wall_times=np.array(columns[1], np.float64),
        tags=np.array(columns[2], np.int64),
        indexes=np.array(columns[3], np.int64),
        ends=np.cumsum(np.array(columns[4], np.int64)),
    )
