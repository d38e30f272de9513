"""Intermediate results that the analyses of a trace share, each computed once on first use."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.arguments import columns, first_known, identifier_columns, number_columns
from stepscope.profiler.analysis.classify import KINDS, Kind, classify, device_number, repeated
from stepscope.profiler.analysis.device_peaks import NOT_STATED, StatedPeaks
from stepscope.profiler.analysis.distinct_arguments import DistinctArguments, distinct_arguments
from stepscope.profiler.parents import nearest
from stepscope.profiler.trace import Arguments, Step, Trace
from stepscope.summary.distinct import numbered
from stepscope.summary.listed import listed

if TYPE_CHECKING:
    import polars as pl

Scope = Literal["all", "complete"]
"""Which device activities count: all of them, or those of complete steps (see `Facts.device`)."""

_Result = TypeVar("_Result")
_LAUNCH: Final = re.compile(r"launch|memcpy|memset|runfunction|graph|copy|fill|prefetch", re.I)
DEVICE_NUMBERS: Final = ("blocks per SM", "est. achieved occupancy %", "bytes", "memory bandwidth (GB/s)")
_DEVICE_IDENTIFIERS: Final = ("device", "Device Id", "stream", "correlation")
_STREAM_NUMBER: Final = re.compile(r"stream[ :#]*([0-9]{1,9})")


class Device(NamedTuple):
    """Activities on devices, as parallel columns in order of start.

    Numbers that the trace does not provide are NaN, identifiers -1.
    """

    slice: NDArray[np.int64]
    """Index of the slice in the trace."""
    kind: NDArray[np.int8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    device: NDArray[np.int64]
    stream: NDArray[np.int64]
    correlation: NDArray[np.int64]
    launch: NDArray[np.int64]
    """Slice of the runtime call that launched the activity, or -1."""
    known: NDArray[np.float64]
    """The arguments that analyses need most, ``[len(DEVICE_NUMBERS), n]``."""
    arguments: Arguments
    """Arguments of all slices of the trace."""

    @property
    def duration(self) -> NDArray[np.int64]:
        """Durations in nanoseconds."""
        return self.end - self.start

    def of(self, *kinds: Kind) -> NDArray[np.bool_]:
        """Return which activities are of one of these kinds."""
        return np.isin(self.kind, [KINDS.index(kind) for kind in kinds])

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Device":
        """Return the activities selected by a mask, or those at some indices, in that order."""
        return Device(
            slice=self.slice[chosen],
            kind=self.kind[chosen],
            start=self.start[chosen],
            end=self.end[chosen],
            device=self.device[chosen],
            stream=self.stream[chosen],
            correlation=self.correlation[chosen],
            launch=self.launch[chosen],
            known=self.known[:, chosen],
            arguments=self.arguments,
        )

    def number(self, key: str) -> NDArray[np.float64]:
        """Return an argument as float64 ``[n]``; NaN if missing or not a number."""
        result: NDArray[np.float64] = self.numbers(key)[0]
        return result

    def numbers(self, *keys: str) -> NDArray[np.float64]:
        """Return arguments as float64 ``[k, n]``; NaN if missing or not a number."""
        if all(key in DEVICE_NUMBERS for key in keys):
            result: NDArray[np.float64] = self.known[[DEVICE_NUMBERS.index(key) for key in keys]]
            return result
        return number_columns(self.arguments, self.slice, keys)


def text(value: Any) -> str:
    """Return an argument as text; empty for None."""
    return "" if value is None else str(value)


@dataclass(frozen=True, eq=False)
class Facts:
    """A trace with the intermediate results that analyses share.

    Create one to run several analyses; each also accepts a bare trace.
    """

    trace: Trace
    stated_peaks: StatedPeaks = NOT_STATED
    """The stated peaks of its devices, if any; they override the known ones."""

    @cached_property
    def kinds(self) -> NDArray[np.int8]:
        """Kind of each slice: indices into `KINDS`.

        Slices that repeat another one are "other". Step marks are annotations, whatever the format says: JAX's and
        TensorFlow's look like operators.
        """
        kinds = classify(self.trace)
        kinds[self._marks_of_steps()] = KINDS.index("annotation")
        kinds[repeated(self.trace, kinds)] = KINDS.index("other")
        return kinds

    def _marks_of_steps(self) -> NDArray[np.int64]:
        """Return the host slices from which steps were read."""
        trace = self.trace
        marks = {(step.start_ns, step.duration_ns, step.name) for step in trace.steps}
        starts = np.array([start for start, _, _ in marks], np.int64)
        host = np.array([lane.kind == "host" for lane in trace.lanes] or [False], np.bool_)
        near = np.flatnonzero(np.isin(trace.start_ns, starts) & host[trace.lane])
        rows = zip(near.tolist(), trace.start_ns[near].tolist(), trace.duration_ns[near].tolist(), strict=True)
        chosen = [index for index, start, took in rows if (start, took, trace.names[trace.name_id[index]]) in marks]
        return np.array(chosen, np.int64)

    @cached_property
    def end_ns(self) -> NDArray[np.int64]:
        """End of each slice."""
        return self.trace.start_ns + self.trace.duration_ns

    @cached_property
    def on_device(self) -> NDArray[np.bool_]:
        """Whether each slice ran on a device: it is on a stream or copy lane, or waits for a whole device."""
        lanes = np.array([lane.kind in ("stream", "memcpy") for lane in self.trace.lanes] or [False], np.bool_)
        whole = np.array([lane.kind == "device" for lane in self.trace.lanes] or [False], np.bool_)
        # Slices that wait for the whole device are not on a stream.
        waits = self.kinds == KINDS.index("synchronization")
        result: NDArray[np.bool_] = lanes[self.trace.lane] | (whole[self.trace.lane] & waits)
        return result

    def slices(self, *kinds: Kind, on_device: bool | None = None) -> NDArray[np.int64]:
        """Return indices of the slices of some kinds, in the trace's order; optionally only on devices, or not."""
        mask = np.isin(self.kinds, [KINDS.index(kind) for kind in kinds])
        if on_device is not None:
            mask &= self.on_device == on_device
        return np.flatnonzero(mask)

    @cached_property
    def every_device_activity(self) -> Device:
        """Kernels, copies, memsets, communication and synchronization on devices, with their launches."""
        chosen = self.slices("kernel", "memcpy", "memset", "communication", "synchronization", on_device=True)
        chosen = chosen[np.argsort(self.trace.start_ns[chosen], kind="stable")]
        identifiers, known = columns(self.trace.arguments, chosen, _DEVICE_IDENTIFIERS, DEVICE_NUMBERS)
        device, stream, correlation = first_known(identifiers[:2]), identifiers[2], identifiers[3]
        lanes = self.trace.lane[chosen]
        lane_device = np.array([device_number(lane) for lane in self.trace.lanes] or [0], np.int64)[lanes]
        lane_stream = np.array([_stream_number(lane.name, lane.tid) for lane in self.trace.lanes] or [0])[lanes]
        return Device(
            slice=chosen,
            kind=self.kinds[chosen],
            start=self.trace.start_ns[chosen],
            end=self.end_ns[chosen],
            device=np.where(device >= 0, device, lane_device),
            stream=np.where(stream >= 0, stream, lane_stream).astype(np.int64),
            correlation=correlation,
            launch=self._launches(chosen, correlation),
            known=known,
            arguments=self.trace.arguments,
        )

    def _launches(self, chosen: NDArray[np.int64], correlation: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return each device activity's runtime call: the one of the same correlation number, else along an arrow."""
        calls, numbers_of_calls = self.runtime_calls
        launch = np.full(len(chosen), -1, np.int64)
        if len(calls):
            order = np.argsort(numbers_of_calls, kind="stable")
            ordered = numbers_of_calls[order]
            place = np.minimum(np.searchsorted(ordered, correlation), len(ordered) - 1)
            found = (ordered[place] == correlation) & (correlation >= 0)
            launch[found] = calls[order[place[found]]]
        flows = self.trace.flows
        if len(flows.source) and (launch < 0).any():
            host = ~self.on_device[flows.source]
            target = np.full(len(self.trace), -1, np.int64)
            target[flows.target[host]] = flows.source[host]
            launch = np.where(launch < 0, target[chosen], launch)
        return launch

    @cached_property
    def runtime_calls(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Runtime calls that may have launched something, as slices, and their correlation numbers.

        Calls that wait are included only if the devices' lanes show synchronization.
        """
        synchronizes = len(self.slices("synchronization", on_device=True)) > 0
        calls = self.slices("runtime", "synchronization" if synchronizes else "runtime", on_device=False)
        launching = np.array([_LAUNCH.search(name) is not None for name in self.trace.names] or [False], np.bool_)
        if not synchronizes:
            calls = calls[launching[self.trace.name_id[calls]]]
        (correlation,) = identifier_columns(self.trace.arguments, calls, ("correlation",))
        return calls[correlation >= 0], correlation[correlation >= 0]

    def device(self, scope: Scope = "complete") -> Device:
        """Return the device activities of a scope, in order of start.

        "complete" leaves out what the last step launched and what no recorded call launched, like HolisticTraceAnalysis
        (`Trace._filter_irrelevant_gpu_kernels`), because a profiler may stop before the last step's kernels have run.
        Traces with at most one step are used whole.
        """
        return self.every_device_activity if scope == "all" else self._complete_device_activity

    @cached_property
    def _complete_device_activity(self) -> Device:
        every = self.every_device_activity
        if len(self.trace.steps) < 2:
            return every
        last = self.trace.steps[-1].start_ns
        launched = np.where(every.launch >= 0, self.trace.start_ns[every.launch], last)
        known = every.correlation >= 0
        return every.where((launched < last) & known) if known.any() else every

    @property
    def parents(self) -> NDArray[np.int64]:
        """The innermost enclosing slice of each slice on its lane, or -1; int64 ``[n]``."""
        return self.trace.parents

    def nearest(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for each slice, the nearest enclosing slice selected by a mask, or -1; never itself."""
        return nearest(self.parents, mask)

    def distinct(self, slices: NDArray[np.int64], *keys: str) -> DistinctArguments:
        """Return which slices have the same arguments for some keys, so that each distinct set is decoded once."""
        return distinct_arguments(self.trace.arguments, slices, keys)

    def decoded(self, slices: NDArray[np.int64]) -> list[Mapping[str, Any]]:
        """Return the arguments of some slices."""
        get = self.trace.arguments
        return [get[index] for index in slices.tolist()]

    @cached_property
    def operator_slices(self) -> NDArray[np.int64]:
        """Slices of operators on a host, or on a device's executor lane, including host-side communication."""
        return self.slices("operator", "communication", "data_loading", on_device=False)

    def external_ids(self, slices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return Kineto's external ids of some slices; -1 if missing."""
        return first_known(identifier_columns(self.trace.arguments, slices, ("External id", "external id")))

    def once(self, analysis: "Callable[[Facts], _Result]") -> _Result:
        """Return the result of an analysis of these facts, computed on first use.

        Args:
            analysis: a module-level function, so that later requests for it are recognized.
        """
        if analysis not in self._found:
            self._found[analysis] = analysis(self)
        result: _Result = self._found[analysis]
        return result

    @cached_property
    def _found(self) -> "dict[Callable[[Facts], Any], Any]":
        return {}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the trace, or one that spans it all if it marks none."""
        if self.trace.steps or not len(self.trace):
            return self.trace.steps
        real = np.flatnonzero(self.kinds != KINDS.index("other"))
        chosen = real if len(real) else np.arange(len(self.trace))
        start, end = int(self.trace.start_ns[chosen].min()), int(self.end_ns[chosen].max())
        return (Step(0, "whole trace", start, end - start),)

    def name_column(self, slices: NDArray[np.int64], write: Callable[[str], str] = str) -> "pl.Series":
        """Return the names of some slices as a column, "" for -1, each name converted by ``write``."""
        names = self.trace.names
        number = np.where(slices >= 0, self.trace.name_id[slices], -1) if len(self.trace.names) else slices
        return text_column(number, lambda each: write(names[each]) if each >= 0 else "")

    def named(self, slices: NDArray[np.int64], test: Callable[[str], object]) -> NDArray[np.bool_]:
        """Return which of some slices have a name that passes a test; each name is tested once."""
        passes = np.array([bool(test(name)) for name in self.trace.names] or [False], np.bool_)
        result: NDArray[np.bool_] = passes[self.trace.name_id[slices]]
        return result

    def names_of(self, slices: NDArray[np.int64]) -> list[str]:
        """Return the names of some slices."""
        names = self.trace.names
        return [names[number] for number in self.trace.name_id[slices].tolist()]


def facts_of(trace: Trace | Facts) -> Facts:
    """Return the facts of a trace; facts are returned as they are."""
    return trace if isinstance(trace, Facts) else Facts(trace)


def text_column(numbers: NDArray[np.integer[Any]], write: Callable[[int], str]) -> "pl.Series":
    """Return a text for each of some numbers ``[n]``, created once per distinct number."""
    import polars as pl

    known, _, place = numbered(numbers)
    return pl.Series("", [write(each) for each in listed(known)], dtype=pl.String)[place]


def share(part: float, whole: float) -> float:
    """Return ``part / whole``; NaN if the whole is 0."""
    return part / whole if whole else math.nan


def _stream_number(name: str, tid: int | str) -> int:
    found = _STREAM_NUMBER.search(name) or (_STREAM_NUMBER.search(tid) if isinstance(tid, str) else None)
    if found:
        return int(found[1])
    return tid if isinstance(tid, int) else -1
