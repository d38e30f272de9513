"""One viewer of live tensors: what it requested last, and the frames that it sees."""

import time
from collections import deque
from dataclasses import replace
from typing import Final

from stepscope.debug.live_frames import MOST_TENSORS, Collection, Frame, LiveRequest

FORGOTTEN_AFTER_S: Final = 5.0
"""A viewer without requests for this long is considered gone."""
PATIENCE_S: Final = 1.0
"""How long a frame waits for more arrays of its step while a viewer waits for it."""


class Viewer:
    """What one viewer sees; all times are those of the same monotonic clock, in seconds.

    Args:
        since: when it came, or chose other arrays.
        request: what it requested.
    """

    def __init__(self, since: float, request: LiveRequest) -> None:
        self.since: Final = since
        self.next_at = 0.0
        """When another frame is due."""
        self.collected: Collection | None = None
        """What is collected for it of the running step."""
        self._frames: deque[Frame] = deque()
        self._unfinished: Frame | None = None
        """What it sees of a frame while its step takes long."""
        self._unfinished_count = 0
        """Number of arrays that had been collected then."""
        self._unfinished_at = 0.0
        """When it may see more of it."""
        self.hear(since, request)

    def hear(self, now: float, request: LiveRequest) -> None:
        """Take note of another request for the same arrays."""
        self.request = request
        self._until = now + FORGOTTEN_AFTER_S
        self.next_at = min(self.next_at, now + self._pause_s)
        if request.rate == 0:
            self._frames.clear()

    @property
    def _pause_s(self) -> float:
        """Time between two frames."""
        return 1 / max(self.request.rate, 1e-3)

    def is_gone(self, now: float) -> bool:
        """Return whether it has not requested anything for long."""
        return now >= self._until

    def is_waiting(self, now: float) -> bool:
        """Return whether it wants frames, and none is being collected."""
        return self.collected is None and self.request.rate > 0 and not self.is_gone(now)

    def begin(self, now: float) -> None:
        """Begin a frame."""
        self.collected = Collection(self.request.most_bytes)
        self._unfinished_at = now + PATIENCE_S

    def end(self, frame: Frame, now: float, most_history_bytes: int) -> None:
        """Show the frame that was begun, and keep it among the last ones."""
        self.collected = None
        self._unfinished, self._unfinished_count = None, 0
        self.next_at = now + self._pause_s
        self._frames.append(frame)
        held = sum(kept.bytes_of_values for kept in self._frames)
        while len(self._frames) > 1 and (len(self._frames) > self.request.window or held > most_history_bytes):
            held -= self._frames.popleft().bytes_of_values

    def latest(self, request: LiveRequest) -> Frame | None:
        """Return the newest frame, unless the viewer has it or requests none."""
        newest = self._unfinished or (self._frames[-1] if self._frames else None)
        return None if newest is None or request.rate == 0 or newest.number == request.after else newest

    def has_more_unfinished(self, now: float) -> bool:
        """Return whether it has waited long enough for the running step to see those of its arrays that are new."""
        collected = self.collected
        return collected is not None and now > self._unfinished_at and len(collected.tensors) > self._unfinished_count

    def show_unfinished(self, number: int, now: float) -> None:
        """Show the arrays that a long step has offered so far, and the others as they were before."""
        assert self.collected is not None
        pending = self.collected.tensors
        before = {tensor.name: tensor for tensor in self._frames[-1].tensors} if self._frames else {}
        shown = before | pending
        size = sum(tensor.plane.values.size for tensor in shown.values())
        if len(shown) > MOST_TENSORS or size > self.request.most_bytes:
            shown = pending
        self._unfinished = Frame(number, None, time.time(), tuple(shown.values()), self.collected.left_out)
        self._unfinished_count = len(pending)
        self._unfinished_at = now + max(PATIENCE_S, self._pause_s)

    def history(self) -> tuple[Frame, ...]:
        """Return the last frames; of an unfinished one, only the arrays that are new in it."""
        if self._unfinished is None or self.collected is None:
            return tuple(self._frames)
        pending = self.collected.tensors
        new = tuple(tensor for tensor in self._unfinished.tensors if pending.get(tensor.name) is tensor)
        return (*self._frames, replace(self._unfinished, tensors=new))[-self.request.window :]
