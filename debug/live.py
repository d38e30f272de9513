"""Arrays of a running program, shown while they change; costs nothing while they are not being viewed.

Viewers poll, through the program's `stepscope.profiler.server`, for the frame after the one that they have. While they
do, `show` keeps small pictures of the arrays it is given, at most as often as each viewer requests.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from stepscope.debug.live_frames import MOST_FRAME_BYTES, Collection, Frame, LiveRequest, ShownTensor, matches
from stepscope.debug.live_messages import frame_message
from stepscope.debug.live_viewer import PATIENCE_S, Viewer
from stepscope.debug.pictures import MOST_PIXELS, laid_out
from stepscope.profiler.capture_routes import RefusalError

PATH: Final = "/live"
"""Path of the route on the program's server."""
MOST_VIEWERS: Final = 16
"""Maximum number of viewers of a program; one more takes the place of the one that was silent the longest."""
MOST_HISTORY_BYTES: Final = 64 << 20
"""Maximum size of the frames that are kept for all viewers."""
MOST_NAME: Final = 200
"""Maximum length of a name, in characters."""
_MOST_NAMES: Final = 100_000
"""Maximum number of names of a step."""


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
        """Process a frame."""


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
        self._viewers: dict[str, Viewer] = {}
        """By their name, in the order of their last requests."""
        self._sinks: dict[Sink, Collection | None] = {}
        """What is collected for each of the running step."""
        self._seen: set[str] = set()
        self._steps = 0
        self._step_began_at = 0.0
        self._step_s = 0.0
        """How long the last step took from its first array to its end."""
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
            self._begin_frames(self._clock())
            self._seen.add(name)
            takers = self._takers(name)
        if not takers:
            return
        sizes = {min(MOST_PIXELS, taker.most_bytes) for taker in takers}
        planes = {size: laid_out(values, size) for size in sizes}
        place = (name.rpartition("/")[0] if section is None else section)[:MOST_NAME]
        with self._changed:
            for taker in takers:
                taker.add(ShownTensor(name, place, planes[min(MOST_PIXELS, taker.most_bytes)]))

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
                if not self._is_collecting_for_viewers:
                    # What was offered before is part of no step of the sink.
                    self._seen.clear()
            # The sink gets the rest of the running step.
            self._sinks[sink] = self._collection_for(sink) if self._seen else None
            self.active = True

    def remove_sink(self, sink: Sink) -> None:
        """Stop sending frames to a sink, after what was offered of a step that has not ended."""
        with self._changed:
            collected = self._sinks.pop(sink, None)
            if collected is None:
                return
            if collected.tensors:
                sink.take(_frame(self._steps, None, collected))
            if not self._sinks and not self._is_collecting_for_viewers:
                self._seen.clear()

    @property
    def _is_collecting_for_viewers(self) -> bool:
        return any(viewer.collected is not None for viewer in self._viewers.values())

    def _begin_frames(self, now: float) -> None:
        """Begin the frames that are due, with the next array of the running step as their first."""
        begins_step = not self._seen
        if begins_step:
            self._step_began_at = now
            self._forget_viewers(now)
            self._sinks = {sink: self._collection_for(sink) for sink in self._sinks}
        for viewer in self._viewers.values():
            # A frame that falls due within the step begins with it.
            is_due = now + self._step_s >= viewer.next_at if begins_step else self._is_late(viewer, now)
            if is_due and viewer.is_waiting(now):
                viewer.begin(now)

    def _is_late(self, viewer: Viewer, now: float) -> bool:
        """Return whether a frame that lacks the step's arrays before it is better than none: the viewer came after
        them, or the step takes longer than the one before.
        """
        takes_longer = now - self._step_began_at > self._step_s + PATIENCE_S
        is_late = takes_longer or self._step_began_at < viewer.since
        return is_late and now - max(viewer.next_at, viewer.since) > PATIENCE_S

    def _forget_viewers(self, now: float) -> None:
        self._viewers = {name: viewer for name, viewer in self._viewers.items() if not viewer.is_gone(now)}
        self.active = bool(self._viewers or self._sinks)

    def _collection_for(self, sink: Sink) -> Collection | None:
        """Return what collects the running step for a sink; None if the step is not one of those that it takes."""
        return Collection(MOST_FRAME_BYTES) if self._steps % sink.every == 0 else None

    def _takers(self, name: str) -> list[Collection]:
        """Return those for whom an array is collected; each has room of its own."""
        collections = [
            *((viewer.collected, viewer.request.names) for viewer in self._viewers.values()),
            *((collected, sink.names) for sink, collected in self._sinks.items()),
        ]
        takers = [taker for taker, names in collections if taker is not None and matches(name, names)]
        return [taker for taker in takers if taker.makes_room()]

    def _end_step(self, step: int | None) -> None:
        now = self._clock()
        if self._seen:
            self._step_s = now - self._step_began_at
            self._seen.clear()
        collections, self._sinks = self._sinks, dict.fromkeys(self._sinks)
        for sink, collected in collections.items():
            if collected is not None:
                sink.take(_frame(self._steps, step, collected))
        self._steps += 1
        self._show_frames(step)

    def _show_frames(self, step: int | None) -> None:
        """Let viewers see what was collected for them."""
        now, number = self._clock(), self._number + 1
        for viewer in self._viewers.values():
            collected, viewer.collected = viewer.collected, None
            if collected is not None and (collected.tensors or collected.left_out):
                self._number = number
                viewer.end(_frame(number, step, collected), now, MOST_HISTORY_BYTES // len(self._viewers))
        if self._number == number:
            self._changed.notify_all()

    # --- the viewers' side -----------------------------------------------------------------------------------------

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
            viewer = self._viewer_of(request)
            self._changed.wait_for(lambda: viewer.latest(request) is not None, request.wait_ms / 1000)
            now = self._clock()
            if viewer.latest(request) is None and viewer.has_more_unfinished(now):
                self._number += 1
                viewer.show_unfinished(self._number, now)
            latest = viewer.latest(request)
            frames = viewer.history()
        if latest is None:
            return {"number": request.after, "tensors": None}
        return frame_message(latest, frames, request)

    def _viewer_of(self, request: LiveRequest) -> Viewer:
        """Return who requests; a choice of other arrays makes another viewer of it."""
        now = self._clock()
        self._forget_viewers(now)
        viewer = self._viewers.pop(request.viewer, None)
        if viewer is None or viewer.request.names != request.names:
            viewer = Viewer(now, request)
        else:
            viewer.hear(now, request)
        while len(self._viewers) >= MOST_VIEWERS:
            del self._viewers[next(iter(self._viewers))]
        self._viewers[request.viewer] = viewer
        self.active = True
        return viewer


def _frame(number: int, step: int | None, collected: Collection) -> Frame:
    return Frame(number, step, time.time(), tuple(collected.tensors.values()), collected.left_out)
