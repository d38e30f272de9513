"""Arrays of a running program, shown while they change; costs nothing while they are not being viewed.

A viewer polls, through the program's `stepscope.profiler.server`, for the frame after the one that it has. While it
does, `show` keeps small pictures of the arrays it is given, at most as often as the viewer requests.
"""

import base64
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from stepscope.debug.pictures import MOST_PIXELS, Plane, laid_out, pixels
from stepscope.profiler.capture_routes import RefusalError

PATH: Final = "/live"
"""Path of the route on the program's server."""
FORGOTTEN_AFTER_S: Final = 5.0
"""A viewer without requests for this long is considered gone."""
MOST_FRAME_BYTES: Final = 4 << 20
"""Maximum size of the pixels of a frame."""
MOST_HISTORY_BYTES: Final = 64 << 20
MOST_TENSORS: Final = 2_000
"""Maximum number of arrays of a frame."""
MOST_NAME: Final = 200
"""Maximum length of a name, in characters."""
_MOST_NAMES: Final = 100_000
"""Maximum number of names of a step."""
_PATIENCE_S: Final = 1.0
"""How long a frame waits for more arrays of its step while a viewer waits for it."""

Scaling = Literal["tensor", "section", "fixed"]


class LiveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request of a viewer: the body of ``POST /live`` as JSON."""

    names: Annotated[str, Meta(max_length=500)] = "*"
    """Which arrays: names in which * and ? stand for any characters, separated by commas."""
    rate: Annotated[float, Meta(ge=0, le=30)] = 5.0
    """Maximum number of frames per second; 0 for none."""
    scaling: Scaling = "tensor"
    """The range of the color scale: the extremes of each array, of its section, or `lowest` and `highest`."""
    lowest: float = -1.0
    highest: float = 1.0
    show: Literal["value", "variance"] = "value"
    """Whether to show the values, or how much each has changed in the last `window` frames."""
    window: Annotated[int, Meta(ge=2, le=64)] = 8
    most_bytes: Annotated[int, Meta(ge=1 << 10, le=MOST_FRAME_BYTES)] = 1 << 20
    """Maximum size of the pixels of a frame; arrays that do not fit are counted."""
    after: int = -1
    """Number of the frame that the viewer has."""
    wait_ms: Annotated[int, Meta(ge=0, le=5_000)] = 1_000
    """How long the response waits for another frame."""


@dataclass(frozen=True)
class ShownTensor:
    """An array at one point in time."""

    name: str
    section: str
    plane: Plane


@dataclass(frozen=True)
class Frame:
    """The arrays shown in one step."""

    number: int
    """Counts from 0: what viewers see in a process, or the steps since there are sinks."""
    step: int | None
    wall_time: float
    tensors: tuple[ShownTensor, ...]
    left_out: int
    """Number of arrays for which there was no room."""


@dataclass
class _Room:
    """The room for arrays in a frame."""

    most_bytes: int
    used_bytes: int = 0
    tensors: int = 0
    left_out: int = 0
    """Number of arrays for which there was none."""

    def takes_one(self) -> bool:
        """Take up the place of one array, or count it as left out."""
        if self.tensors >= MOST_TENSORS or self.used_bytes >= self.most_bytes:
            self.left_out += 1
            return False
        self.tensors += 1
        return True


class Sink(Protocol):
    """Receives frames, in the program's own thread; see `stepscope.debug.film`."""

    @property
    def names(self) -> str:
        """Which arrays to take, as in `LiveRequest`."""
        ...

    @property
    def every(self) -> int:
        """Take every N-th step."""
        ...

    def take(self, frame: Frame) -> None:
        """Process a frame, of which only some arrays may be among `names`."""


class LiveTensors:
    """The arrays that a process shows: the program's threads offer them, and its server's threads answer requests.

    Args:
        clock: monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.active = False
        """Whether arrays are being viewed. Whoever offers arrays reads it first, without a lock."""
        self._clock: Final = clock
        self._changed: Final = threading.Condition()
        self._request = LiveRequest()
        self._until = 0.0
        self._next_at = 0.0
        self._sinks: tuple[Sink, ...] = ()
        self._pending: dict[str, ShownTensor] = {}
        self._seen: set[str] = set()
        self._collecting = False
        self._for_viewer = False
        self._steps = 0
        self._step_began_at = 0.0
        self._step_s = 0.0
        """How long the last step took from its first array to its end."""
        self._viewed_since = 0.0
        self._frames: deque[Frame] = deque()
        self._unfinished: Frame | None = None
        """What a viewer sees of a frame while its step takes long."""
        self._unfinished_count = 0
        """Number of arrays that had been offered then."""
        self._unfinished_at = 0.0
        """When a viewer may see more of it."""
        self._rooms = _Room(0), _Room(0)
        """For the arrays that sinks take, and for those that only a viewer sees."""
        self._number = -1

    # --- the program's side ----------------------------------------------------------------------------------------

    def offer(self, name: str, values: Any, section: str | None = None) -> None:
        """Keep a picture of an array if it is being viewed and a frame is due.

        A repeated name ends the step, unless `end_step` does.

        Raises:
            TypeError: the array is being viewed, and its elements are not real numbers.
        """
        if not self.active:
            return
        name = name[:MOST_NAME]
        with self._changed:
            if name in self._seen or len(self._seen) >= _MOST_NAMES:
                self._end_step(None)
            now = self._clock()
            if not self._seen:
                self._step_began_at = now
            may_begin = not self._seen or self._is_awaited_within_step(now)
            self._seen.add(name)
            if not self._collecting:
                if not (may_begin and self._begin(now)):
                    return
            elif not self._for_viewer and may_begin and self._is_viewed(now):
                self._begin_for_viewer(now)
            room = self._room_for(name)
            if room is None:
                return
        plane = laid_out(values, min(MOST_PIXELS, room.most_bytes))
        with self._changed:
            room.used_bytes += plane.values.size
            place = name.rpartition("/")[0] if section is None else section
            self._pending[name] = ShownTensor(name, place[:MOST_NAME], plane)

    def end_step(self, step: int | None = None) -> None:
        """Mark that all arrays of a step were offered."""
        if self.active:
            with self._changed:
                self._end_step(step)

    def add_sink(self, sink: Sink) -> None:
        """Send frames to a sink from now on."""
        with self._changed:
            if not self._sinks:
                self._steps = 0
                if not self._collecting:
                    # What was offered before is part of no step of the sink.
                    self._seen.clear()
            self._sinks = (*self._sinks, sink)
            self.active = True

    def remove_sink(self, sink: Sink) -> None:
        """Stop sending frames to a sink, after what was offered of a step that has not ended."""
        with self._changed:
            others = tuple(each for each in self._sinks if each is not sink)
            if len(others) == len(self._sinks):
                return
            self._sinks = others
            if not self._collecting:
                return
            if self._pending and self._is_due(sink):
                sink.take(self._frame_of_sinks(None))
            if not others and not self._for_viewer:
                self._collecting = False
                self._pending = {}
                self._seen.clear()

    def _is_awaited_within_step(self, now: float) -> bool:
        """Return whether a frame that lacks the step's arrays before it is better than none: a viewer came after them,
        or the step takes longer than the one before.
        """
        is_late = self._step_began_at < self._viewed_since or now - self._step_began_at > self._step_s + _PATIENCE_S
        return is_late and now - max(self._next_at, self._viewed_since) > _PATIENCE_S

    def _is_viewed(self, now: float) -> bool:
        return now < self._until and self._request.rate > 0

    def _begin(self, now: float) -> bool:
        """Begin a frame if one is due before the step will end, and return whether it is."""
        if not self._is_viewed(now) and not self._sinks:
            self.active = now < self._until
            self._forget_frames()
            return False
        self._rooms = _Room(MOST_FRAME_BYTES), _Room(self._request.most_bytes)
        self._for_viewer = False
        if self._is_viewed(now) and now + self._step_s >= self._next_at:
            self._begin_for_viewer(now)
        self._collecting = self._for_viewer or any(map(self._is_due, self._sinks))
        return self._collecting

    def _begin_for_viewer(self, now: float) -> None:
        self._for_viewer = True
        self._unfinished_at = now + _PATIENCE_S

    def _is_due(self, sink: Sink) -> bool:
        return self._steps % sink.every == 0

    def _room_for(self, name: str) -> _Room | None:
        """Return the room for an array, of which viewers and sinks take none from each other; None if there is none."""
        of_sinks, of_viewer = self._rooms
        is_taken = any(self._is_due(sink) and matches(name, sink.names) for sink in self._sinks)
        if is_taken and of_sinks.takes_one():
            return of_sinks
        is_viewed = self._for_viewer and matches(name, self._request.names)
        return of_viewer if is_viewed and of_viewer.takes_one() else None

    def _frame_of_sinks(self, step: int | None) -> Frame:
        """Return what sinks see of the running step; its number counts steps."""
        return Frame(self._steps, step, time.time(), tuple(self._pending.values()), self._rooms[0].left_out)

    def _end_step(self, step: int | None) -> None:
        if self._seen:
            self._step_s = self._clock() - self._step_began_at
            self._seen.clear()
        of_sinks, due = self._frame_of_sinks(step), tuple(filter(self._is_due, self._sinks))
        self._steps += 1
        if not self._collecting:
            return
        self._collecting = False
        self._unfinished, self._unfinished_count = None, 0
        self._pending = {}
        for sink in due:
            sink.take(of_sinks)
        left_out = self._rooms[1].left_out
        if self._for_viewer and (of_sinks.tensors or left_out):
            self._number += 1
            frame = replace(of_sinks, number=self._number, left_out=left_out)
            self._next_at = self._clock() + 1 / max(self._request.rate, 1e-3)
            self._keep(frame)
            self._changed.notify_all()

    def _keep(self, frame: Frame) -> None:
        self._frames.append(frame)
        held = sum(_size(kept) for kept in self._frames)
        while len(self._frames) > 1 and (len(self._frames) > self._request.window or held > MOST_HISTORY_BYTES):
            held -= _size(self._frames.popleft())

    def _forget_frames(self) -> None:
        self._frames.clear()
        self._unfinished, self._unfinished_count = None, 0

    # --- the viewer's side -----------------------------------------------------------------------------------------

    def answer(self, body: bytes) -> Mapping[str, Any]:
        """Return the next frame that a viewer does not have, JSON-compatible; without tensors if there is none yet.

        Raises:
            RefusalError: the request cannot be read.
        """
        try:
            request = msgspec.json.decode(body, type=LiveRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RefusalError(400, f"the request cannot be used: {error}.") from None
        with self._changed:
            now = self._clock()
            if request.names != self._request.names:
                self._forget_frames()
            if now >= self._until:
                self._viewed_since = now
            self._request = request
            self._until = now + FORGOTTEN_AFTER_S
            self.active = True
            self._next_at = min(self._next_at, now + 1 / max(request.rate, 1e-3))
            self._changed.wait_for(lambda: self._latest(request) is not None, request.wait_ms / 1000)
            if self._latest(request) is None and self._for_viewer and self._clock() > self._unfinished_at:
                self._show_unfinished()
            latest = self._latest(request)
            frames = self._history()
        if latest is None:
            return {"number": request.after, "tensors": None}
        return frame_message(latest, frames, request)

    def _latest(self, request: LiveRequest) -> Frame | None:
        """Return the newest frame, unless the viewer has it or requests none."""
        newest = self._unfinished or (self._frames[-1] if self._frames else None)
        return None if newest is None or request.rate == 0 or newest.number == request.after else newest

    def _show_unfinished(self) -> None:
        """Let viewers see the arrays that a long step has offered so far, and the others as they were before."""
        if len(self._pending) == self._unfinished_count:
            return
        before = {tensor.name: tensor for tensor in self._frames[-1].tensors} if self._frames else {}
        known = before | self._pending
        shown = {name: tensor for name, tensor in known.items() if matches(name, self._request.names)}
        size = sum(tensor.plane.values.size for tensor in shown.values())
        if len(shown) > MOST_TENSORS or size > self._request.most_bytes:
            shown = self._pending
        self._number += 1
        self._unfinished = Frame(self._number, None, time.time(), tuple(shown.values()), self._rooms[1].left_out)
        self._unfinished_count = len(self._pending)
        self._unfinished_at = self._clock() + max(_PATIENCE_S, 1 / max(self._request.rate, 1e-3))

    def _history(self) -> tuple[Frame, ...]:
        """Return the last frames; of an unfinished one, only the arrays that are new in it."""
        if self._unfinished is None:
            return tuple(self._frames)
        new = tuple(tensor for tensor in self._unfinished.tensors if self._pending.get(tensor.name) is tensor)
        return (*self._frames, replace(self._unfinished, tensors=new))[-self._request.window :]


def matches(name: str, patterns: str) -> bool:
    """Return whether a name matches patterns like those of `LiveRequest.names`."""
    return any(fnmatchcase(name, pattern.strip()) for pattern in patterns.split(",") if pattern.strip())


def frame_message(frame: Frame, frames: tuple[Frame, ...], request: LiveRequest) -> dict[str, Any]:
    """Return a frame as JSON-compatible values: pixels in base64, sections with the most change first.

    Args:
        frame: the frame to show.
        frames: the last ones, oldest first, by which change is judged.
        request: how to show it.
    """
    # A frame also has what films take.
    frame = replace(frame, tensors=tuple(tensor for tensor in frame.tensors if matches(tensor.name, request.names)))
    earlier: dict[tuple[str, tuple[int, ...]], list[NDArray[np.float32]]] = {}
    for other in frames:
        for tensor in other.tensors:
            earlier.setdefault((tensor.name, tensor.plane.values.shape), []).append(tensor.plane.values)
    values: dict[str, NDArray[np.float32]] = {}
    change: dict[str, float] = {}
    for tensor in frame.tensors:
        shown = tensor.plane.values
        varied = variance(shown, earlier.get((tensor.name, shown.shape), []))
        finite = tensor.plane.finite
        extent = float(finite.var()) if finite.size else 0.0
        moved = varied[np.isfinite(varied)]
        change[tensor.name] = float(moved.mean()) / extent if moved.size and extent > 0 else 0.0
        values[tensor.name] = varied if request.show == "variance" else shown
    limits = _limits(frame, values, request)
    sections: dict[str, list[ShownTensor]] = {}
    for tensor in frame.tensors:
        sections.setdefault(tensor.section, []).append(tensor)
    changes = {
        name: sum(change[tensor.name] for tensor in tensors) / len(tensors) for name, tensors in sections.items()
    }
    return {
        "number": frame.number,
        "step": frame.step,
        "wall_time": frame.wall_time,
        "left_out": frame.left_out,
        "sections": [
            {
                "name": section,
                "change": changes[section],
                "tensors": [
                    _tensor_message(tensor, values[tensor.name], limits[tensor.name], change[tensor.name])
                    for tensor in sections[section]
                ],
            }
            for section in sorted(sections, key=lambda section: -changes[section])
        ],
    }


def variance(shown: NDArray[np.float32], earlier: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the variance of each shown value over the frames that have the array in the same form."""
    if len(earlier) < 2:
        return np.where(np.isfinite(shown), np.float32(0), shown)
    with np.errstate(invalid="ignore"):
        found = np.stack(earlier).astype(np.float64).var(axis=0).astype(np.float32)
    return np.where(np.isneginf(shown), shown, found)


def _limits(
    frame: Frame, values: Mapping[str, NDArray[np.float32]], request: LiveRequest
) -> dict[str, tuple[float, float]]:
    own: dict[str, tuple[float, float]] = {}
    for tensor in frame.tensors:
        shown = values[tensor.name][np.isfinite(values[tensor.name])]
        own[tensor.name] = (float(shown.min()), float(shown.max())) if shown.size else (0.0, 0.0)
    if request.scaling == "tensor":
        return own
    if request.scaling == "fixed":
        return dict.fromkeys(own, (request.lowest, request.highest))
    sections: dict[str, tuple[float, float]] = {}
    for tensor in frame.tensors:
        low, high = own[tensor.name]
        lowest, highest = sections.get(tensor.section, (low, high))
        sections[tensor.section] = (min(low, lowest), max(high, highest))
    return {tensor.name: sections[tensor.section] for tensor in frame.tensors}


def _tensor_message(
    tensor: ShownTensor, values: NDArray[np.float32], limits: tuple[float, float], change: float
) -> dict[str, Any]:
    plane = tensor.plane
    if plane.layout == "colors":
        drawn = np.rint(np.nan_to_num(np.clip(plane.values, 0, 1)) * 255).astype(np.uint8)
    else:
        drawn = pixels(values, *limits)
    finite = plane.finite
    return {
        "name": tensor.name,
        "layout": plane.layout,
        "shape": list(plane.shape),
        "dtype": plane.dtype,
        "width": plane.values.shape[1],
        "height": plane.values.shape[0],
        "shown": plane.shown,
        "axes": list(plane.axes),
        "not_finite": plane.not_finite,
        "mean": float(finite.mean(dtype=np.float64)) if finite.size else None,
        "lowest": limits[0],
        "highest": limits[1],
        "change": change,
        "pixels": base64.b64encode(drawn.tobytes()).decode("ascii"),
    }


def _size(frame: Frame) -> int:
    return sum(tensor.plane.values.nbytes for tensor in frame.tensors)
