"""Turn sampled stacks of a Chrome trace into slices: a frame on the stack in consecutive samples is one slice.

Samples come in three forms: events of phase P with a stack or the number of one, the top-level array ``samples``, and
the CPU profiles of V8 (events "Profile" and "ProfileChunk"). Stacks are defined in ``stackFrames``, as frames with
parents.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from stepscope.profiler.traces.build import EARLIEST_NS, LATEST_NS
from stepscope.profiler.traces.chrome_arguments import MOST_DECODED_BYTES, arguments_of
from stepscope.profiler.traces.chrome_events import Columns, Events
from stepscope.profiler.traces.json_values import UNREADABLE_TIME, decode_json
from stepscope.profiler.traces.losses import MEMORY, LossTally, moment
from stepscope.summary.cancellation import check_cancelled

MOST_FRAMES: Final = 1000
"""Deeper stacks are cut: their innermost frames are kept."""
_STACKS_KEPT: Final = 8192
"""Maximum number of stacks in memory; the others are followed again from frame to frame when they are needed."""
CATEGORY: Final = "sample"
_PLACE: Final = ("scriptId", "url", "lineNumber", "columnNumber")
"""Keys that locate the definition of a V8 function."""
_ROOT: Final = "(root)"
"""Name of the node of V8 in which all stacks begin, which is not a function."""


class Frame(NamedTuple):
    """A function on a stack."""

    name: str
    place: str = ""
    """Where the function is defined, if the file has it; distinguishes functions of one name, as minified ones have."""


Stack = tuple[Frame, ...]
"""Frames, outermost first."""


class Sample(NamedTuple):
    """The stack of a thread at one moment."""

    pid: str
    tid: str
    time_ns: int
    stack: Callable[[], Stack]


class SampledSlice(NamedTuple):
    """A frame that was on the stack of one thread in consecutive samples."""

    pid: str
    tid: str
    start_ns: int
    duration_ns: int
    name: str


class StackFrames:
    """The stack frames of a file, keyed by their numbers as text."""

    def __init__(self, frames: object, tally: LossTally) -> None:
        self._frames: Mapping[str, Any] = frames if isinstance(frames, dict) else {}
        self._known: dict[str, Frame] = {}
        self._tally = tally
        self._kept = lru_cache(_STACKS_KEPT)(self._stack)

    def __bool__(self) -> bool:
        return bool(self._frames)

    def stack(self, number: object) -> Stack:
        """Return the stack that ends in a frame; () if the file does not have the frame."""
        return self._kept(str(number))

    def _stack(self, key: str) -> Stack:
        frames: list[Frame] = []
        seen: set[str] = set()
        at: str | None = key
        while at is not None and at not in seen and len(frames) < MOST_FRAMES:
            frame = self._frames.get(at)
            if not isinstance(frame, dict):
                break
            seen.add(at)
            if at not in self._known:
                self._known[at] = Frame(str(frame.get("name", at)), str(frame.get("place", "")))
            frames.append(self._known[at])
            parent = frame.get("parent")
            at = None if parent is None else str(parent)
        if at in seen:
            self._tally.add("stack frame that is its own parent", 1, f"frame {at}")
        return tuple(reversed(frames))


def slices_of_samples(samples: Iterable[Sample], tally: LossTally, most: int) -> list[SampledSlice]:
    """Return slices of all threads; a sample lasts until its thread's next one, the last as long as the one before.

    Of each thread, the samples that would need more than ``most`` slices in all, and those after them, are counted in
    ``tally``.
    """
    by_thread: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        by_thread[sample.pid, sample.tid].append(sample)
    every: list[SampledSlice] = []
    begun = 0
    for (pid, tid), of_thread in by_thread.items():
        of_thread.sort(key=lambda sample: sample.time_ns)
        open_: list[tuple[Frame, int]] = []
        found: list[tuple[int, SampledSlice]] = []

        def close(
            depth: int,
            now: int,
            place: tuple[str, str] = (pid, tid),
            open_: list[tuple[Frame, int]] = open_,
            found: list[tuple[int, SampledSlice]] = found,
        ) -> None:
            while len(open_) > depth:
                frame, begin = open_.pop()
                found.append((len(open_), SampledSlice(*place, begin, now - begin, frame.name)))

        last = of_thread[-1].time_ns
        end = last + (last - of_thread[-2].time_ns if len(of_thread) > 1 else 0)
        for number, sample in enumerate(of_thread):
            check_cancelled()
            stack = sample.stack()
            common = 0
            for (known, _), frame in zip(open_, stack, strict=False):
                if known != frame:
                    break
                common += 1
            if begun + len(stack) - common > most:
                tally.add(MEMORY, len(of_thread) - number, f"a sample at {moment(sample.time_ns)}")
                end = sample.time_ns
                break
            begun += len(stack) - common
            close(common, sample.time_ns)
            open_.extend((frame, sample.time_ns) for frame in stack[common:])
        close(0, end)
        # At equal times, the frame that was called first comes first, and is shown above.
        every += [slice_ for _, slice_ in sorted(found, key=lambda entry: entry[0])]
    return every


def samples_of(
    data: bytes,
    events: Events,
    metadata: Mapping[str, Any],
    frames: StackFrames,
    tally: LossTally,
    nanoseconds: Callable[[object], int],
    most: int,
) -> tuple[list[Sample], list[int]]:
    """Return the samples of a trace, and the numbers of the events that they came from.

    ``nanoseconds`` converts a time as stored in the file, and returns `UNREADABLE_TIME` if it is not one. Samples and
    nodes of V8's profiles, and elements of ``samples``, are counted in ``tally`` where they are more than ``most``.
    """
    columns = events.columns
    found: list[Sample] = []
    used: list[int] = []
    profiles = _Profiles(nanoseconds, tally, most)
    for event in np.flatnonzero(columns.phase == ord("P")).tolist():
        check_cancelled()
        name = events.names[columns.name[event]] if columns.name[event] >= 0 else ""
        place = events.places[columns.pid[event]], events.places[columns.tid[event]]
        if name in ("Profile", "ProfileChunk"):
            arguments = arguments_of(data, columns, event)
            identity = events.ids[columns.id[event]] if columns.id[event] >= 0 else ""
            if profiles.add(name, (place[0], identity), place, arguments.get("data")):
                used.append(event)
            continue
        if not _has_stack(events, event) or columns.time_ns[event] == UNREADABLE_TIME:
            continue
        stack_of = partial(_own_stack, data, events, event, frames)
        if not stack_of():
            tally.add("sample without a stack", 1, f"event {event}")
            continue
        used.append(event)
        found.append(Sample(*place, int(columns.time_ns[event]), stack_of))
    found += profiles.samples()
    found += _listed(metadata.get("samples"), frames, events, tally, nanoseconds, most)
    return [sample for sample in found if EARLIEST_NS <= sample.time_ns <= LATEST_NS], used


def stacks_of_events(data: bytes, events: Events, frames: StackFrames) -> Callable[[int], Sequence[str]] | None:
    """Return a function that gives the names of the stack in which an event of a file began.

    Return None if no event of the file has a stack.
    """
    if not events.stacks and not events.frames:
        return None

    def stack_of(event: int) -> Sequence[str]:
        stack = _own_stack(data, events, event, frames) if event < len(events.columns.phase) else ()
        return [frame.name for frame in stack]

    return stack_of


def _has_stack(events: Events, event: int) -> bool:
    return event in events.stacks or events.columns.stack_frame[event] >= 0


def _own_stack(data: bytes, events: Events, event: int, frames: StackFrames) -> Stack:
    """Return the stack that an event names; () if it names none."""
    if event in events.stacks:
        start, length = events.stacks[event]
        listed = decode_json(data[start : start + min(length, MOST_DECODED_BYTES)])
        return tuple(Frame(str(each)) for each in reversed(listed[:MOST_FRAMES])) if isinstance(listed, list) else ()
    number = events.columns.stack_frame[event]
    return () if number < 0 else frames.stack(events.frames[number])


def _listed(
    samples: object,
    frames: StackFrames,
    events: Events,
    tally: LossTally,
    nanoseconds: Callable[[object], int],
    most: int,
) -> list[Sample]:
    if not isinstance(samples, list):
        return []
    columns = events.columns
    pid_of: dict[str, str] = {}
    for pid, tid in {*zip(columns.pid.tolist(), columns.tid.tolist(), strict=True)}:
        pid_of.setdefault(events.places[tid], events.places[pid])
    found = []
    tally.add(MEMORY, max(0, len(samples) - most), "an element of “samples”")
    for sample in samples[:most]:
        check_cancelled()
        if not isinstance(sample, dict):
            tally.add("unreadable event", 1, "an element of “samples”")
            continue
        time = nanoseconds(sample.get("ts"))
        stack_of = partial(frames.stack, sample.get("sf"))
        if time == UNREADABLE_TIME:
            tally.add("event without a readable time", 1, "an element of “samples”")
        elif not stack_of():
            tally.add("sample without a stack", 1, f"an element of “samples” with frame {sample.get('sf')}")
        else:
            tid = str(sample.get("tid", ""))
            found.append(Sample(str(sample.get("pid", pid_of.get(tid, "0"))), tid, time, stack_of))
    return found


class _Profiles:
    """CPU profiles of V8: nodes with parents, and for each sample a node and the time since the previous sample."""

    def __init__(self, nanoseconds: Callable[[object], int], tally: LossTally, most: int) -> None:
        self._nanoseconds = nanoseconds
        self._tally = tally
        self._room = most
        self._starts: dict[tuple[str, str], tuple[tuple[str, str], int]] = {}
        self._nodes: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
        self._samples: dict[tuple[str, str], list[tuple[object, int]]] = defaultdict(list)

    def add(self, name: str, key: tuple[str, str], place: tuple[str, str], profile: object) -> bool:
        """Add an event; return False if it does not have this form."""
        if not isinstance(profile, dict):
            return False
        if name == "Profile":
            start = self._nanoseconds(profile.get("startTime"))
            if start == UNREADABLE_TIME:
                return False
            self._starts[key] = (place, start)
        cpu_profile = profile.get("cpuProfile")
        if not isinstance(cpu_profile, dict):
            return name == "Profile"
        nodes = _listed_objects(cpu_profile.get("nodes"))
        for node in islice(nodes, self._fitting(len(nodes))):
            called = node.get("callFrame")
            parent = node.get("parent")
            called = called if isinstance(called, dict) else {}
            if called.get("functionName") == _ROOT:
                continue
            defined = ":".join(str(called.get(part, "")) for part in _PLACE)
            frame = {"name": called.get("functionName") or "(anonymous)", "place": defined}
            self._nodes[key][str(node.get("id"))] = frame | ({} if parent is None else {"parent": str(parent)})
        deltas = profile.get("timeDeltas", cpu_profile.get("timeDeltas"))
        samples = cpu_profile.get("samples")
        if isinstance(deltas, list) and isinstance(samples, list):
            fitting = self._fitting(min(len(samples), len(deltas)))
            for node_id, delta in islice(zip(samples, deltas, strict=False), fitting):
                passed = self._nanoseconds(delta)
                self._samples[key].append((node_id, 0 if passed == UNREADABLE_TIME else passed))
        return True

    def _fitting(self, count: int) -> int:
        """Return how many of the next nodes or samples there is room for; the others are counted."""
        fitting = min(count, self._room)
        self._room -= fitting
        self._tally.add(MEMORY, count - fitting, "a node or sample of a profile of V8")
        return fitting

    def samples(self) -> list[Sample]:
        """Return the samples of all profiles that have begun."""
        found = []
        for key, (place, start) in self._starts.items():
            frames = StackFrames(self._nodes[key], LossTally())
            now = start
            for node_id, passed in self._samples[key]:
                now += passed
                found.append(Sample(*place, now, partial(frames.stack, node_id)))
        return found


def _listed_objects(value: object) -> Sequence[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def with_slices(events: Events, slices: Sequence[SampledSlice], used: Sequence[int]) -> Events:
    """Return the events with those of samples replaced by complete events on threads named "<tid> samples"."""
    if not slices and not used:
        return events
    names = _Numbers(events.names)
    places = _Numbers(events.places)
    categories = _Numbers(events.categories)
    count = len(slices)
    columns = events.columns
    columns.phase[np.array(used, np.int64)] = 0
    columns.time_ns[np.array(used, np.int64)] = UNREADABLE_TIME
    columns.name[np.array(used, np.int64)] = -1
    columns.arguments_start[np.array(used, np.int64)] = -1
    none = np.full(count, -1, np.int32)
    added = Columns(
        phase=np.full(count, ord("X"), np.uint8),
        name=np.array([names[sample.name] for sample in slices], np.int32),
        category=np.full(count, categories[CATEGORY], np.int32),
        time_ns=np.array([sample.start_ns for sample in slices], np.int64),
        duration_ns=np.array([sample.duration_ns for sample in slices], np.int64),
        pid=np.array([places[sample.pid] for sample in slices], np.int32),
        tid=np.array([places[f"{sample.tid} samples"] for sample in slices], np.int32),
        id=none,
        of_process=np.zeros(count, np.bool_),
        bind_id=none,
        arguments_start=none.astype(np.int64),
        arguments_length=np.zeros(count, np.int64),
        stack_frame=none,
        to_enclosing=np.zeros(count, np.bool_),
        flow_in=np.zeros(count, np.bool_),
        flow_out=np.zeros(count, np.bool_),
    )
    return replace(
        events,
        columns=Columns(*(np.concatenate(parts) for parts in zip(*[columns, added], strict=True))),
        names=names.texts,
        places=places.texts,
        categories=categories.texts,
    )


class _Numbers:
    """Texts and their numbers; unknown texts are appended."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self._numbers = {text: number for number, text in reversed(list(enumerate(self.texts)))}

    def __getitem__(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]
