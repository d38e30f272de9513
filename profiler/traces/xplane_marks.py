"""Relations between events of an XSpace: steps, work handed on, and which call launched what on a device."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Flows, Step
from stepscope.profiler.traces.build import Arranged, find_steps
from stepscope.profiler.traces.step_stats import LAUNCH
from stepscope.profiler.traces.wire import XEventColumns, stat_numbers
from stepscope.profiler.traces.xplane_planes import CONTEXT_STATS, Plane

CONTEXT: Final = "context"
FLOWS: Final = (CONTEXT, LAUNCH)
"""Categories of arrows: to what takes up work on another thread, and from calls to what they launched on devices."""
CORRELATION_STAT: Final = "correlation_id"
_STATS: Final = (*CONTEXT_STATS, "step_num", CORRELATION_STAT)

Column = NDArray[np.int64]


class Marks:
    """Marks as they are read, by the numbers of their slices, which increase by one from slice to slice."""

    def __init__(self, buffer: NDArray[np.uint8]) -> None:
        self._buffer = buffer
        self._producers: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._consumers: list[tuple[tuple[int, int], int]] = []
        self._steps: list[tuple[int, int]] = []
        """Slice and number of each step that the host marks."""
        self._calls: list[Column] = []
        """Correlation numbers and slices of calls on the host, ``[2, n]`` each."""
        self._launched: list[Column] = []
        """The same for what ran on devices."""

    def note(self, plane: Plane, events: XEventColumns, kept: Column, first_slice: int) -> None:
        """Record the marks of a line's events; those in ``kept`` are the slices from ``first_slice`` on."""
        numbers = {name: number for number, name in plane.stat_names.items()}
        wanted = [numbers.get(name, -1) for name in _STATS]
        with_stats = np.flatnonzero(events.stats[kept])
        chosen = kept[with_stats]
        if max(wanted) < 0 or not len(chosen):
            return
        values, present = stat_numbers(self._buffer, events.start[chosen], events.length[chosen], wanted)
        slices = first_slice + with_stats
        for mark in np.flatnonzero(present[:, 1]).tolist():
            self._producers[int(values[mark, 0]), int(values[mark, 1])].append(int(slices[mark]))
        for mark in np.flatnonzero(present[:, 3]).tolist():
            self._consumers.append(((int(values[mark, 2]), int(values[mark, 3])), int(slices[mark])))
        # CUPTI's correlation IDs start at one.
        correlated = np.flatnonzero(present[:, 5] & (values[:, 5] > 0))
        pairs = np.stack([values[correlated, 5], slices[correlated]])
        if plane.name.startswith("/device:"):
            self._launched.append(pairs)
            return
        self._calls.append(pairs)
        steps = np.flatnonzero(present[:, 4])
        self._steps += zip(slices[steps].tolist(), values[steps, 4].tolist(), strict=True)

    def steps_launching(self, correlation: Column, start: Column, duration: Column) -> Column:
        """Return the step of each correlation number's call, or -1; ``start`` and ``duration`` are those of slices."""
        calls = self._calls_of(correlation)
        longest = self._longest_steps(duration)
        slices = np.array(list(longest.values()), np.int64)
        numbers = np.array(list(longest), np.int64)[np.argsort(start[slices], kind="stable")]
        slices = slices[np.argsort(start[slices], kind="stable")]
        if not len(slices) or not len(start):
            return np.full(len(correlation), -1, np.int64)
        place = np.searchsorted(start[slices], start[calls], side="right") - 1
        inside = (calls >= 0) & (place >= 0) & (start[calls] < (start + duration)[slices[place]])
        return np.where(inside, numbers[place], -1)

    def flows(self, place: Column, start: Column, categories: Sequence[int]) -> Flows:
        """Return the arrows; ``place`` is the final position of each slice, ``categories`` the numbers of `FLOWS`."""
        handed = place[self._handed_on(start)]
        launched = np.concatenate([*self._launched, np.empty((2, 0), np.int64)], axis=1)
        calls = self._calls_of(launched[0])
        started = place[np.stack([calls, launched[1]], axis=1)[calls >= 0]]
        category = np.repeat(np.array(categories, np.int32), [len(handed), len(started)])
        arrows = np.concatenate([handed, started])
        return Flows(arrows[:, 0].copy(), arrows[:, 1].copy(), category)

    def steps(self, place: Column, arranged: Arranged, names: Sequence[str]) -> tuple[Step, ...]:
        """Return the steps by their numbers on the host, or else those of a device's lane of steps."""
        columns = arranged.columns
        duration = columns.duration_ns[place] if len(place) else columns.duration_ns
        steps = []
        for number, slice_ in self._longest_steps(duration).items():
            index = int(place[slice_])
            start, took = int(columns.start_ns[index]), int(columns.duration_ns[index])
            steps.append(Step(number, names[int(columns.name_id[index])], start, took))
        return tuple(sorted(steps, key=lambda step: step.start_ns)) or find_steps(columns, names, arranged.lanes)

    def _longest_steps(self, duration: Column) -> dict[int, int]:
        """Return the longest slice of each number, because what runs within a step may be marked with it too."""
        found: dict[int, int] = {}
        for slice_, number in self._steps:
            if number not in found or duration[slice_] > duration[found[number]]:
                found[number] = slice_
        return found

    def _calls_of(self, correlation: Column) -> Column:
        """Return the slice of the call with each correlation number, or -1."""
        numbers, slices = np.concatenate([*self._calls, np.empty((2, 0), np.int64)], axis=1)
        if not len(numbers):
            return np.full(len(correlation), -1, np.int64)
        order = np.argsort(numbers, kind="stable")
        place = np.searchsorted(numbers[order], correlation, side="right") - 1
        found = order[np.maximum(place, 0)]
        return np.where((place >= 0) & (numbers[found] == correlation), slices[found], -1)

    def _handed_on(self, start: Column) -> Column:
        """Return the slices that handed work on and those that took it up, ``[n, 2]``."""
        pairs = []
        times: dict[tuple[int, int], list[int]] = {}
        for key, producers in self._producers.items():
            producers.sort(key=lambda slice_: int(start[slice_]))
            times[key] = [int(start[slice_]) for slice_ in producers]
        for key, consumer in self._consumers:
            # The last slice that handed work on under this number before it was taken up, as numbers are reused.
            before = bisect_right(times.get(key, []), int(start[consumer]))
            if before and self._producers[key][before - 1] != consumer:
                pairs.append((self._producers[key][before - 1], consumer))
        return np.array(pairs, np.int64).reshape(-1, 2)
