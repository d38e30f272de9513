"""A recording requested from outside the program, which must never disturb the program.

It begins and ends in the program's own thread, between two calls of `profiler.step()`. Its steps are therefore complete
and keep their numbers, and collectors that record the thread in which they start record the training thread. If the
program makes no steps, the thread that handles the request begins and ends the recording.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from stepscope.profiler.capture_request import CaptureRequest
from stepscope.profiler.process import Profile
from stepscope.profiler.schedules import ProfilerAction
from stepscope.profiler.session import Recording
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError

STEP_PATIENCE_S: Final = 1.0
"""How long a recording waits, in seconds, for a step at which to begin or end."""
_LOOK_S: Final = 0.05


class NoStepsError(UserError):
    """Steps were requested, but the program makes none."""


class CaptureCancelledError(UserError):
    """Nothing waits for the recording any longer; it has ended."""


def record(request: CaptureRequest, folder: str | os.PathLike[str], is_wanted: Callable[[], bool]) -> Recording:
    """Record this process as requested, and write the recording into a folder.

    Args:
        request: what to record.
        folder: where the files go, as `profiler.start` writes them.
        is_wanted: called repeatedly; False ends the recording at once.

    Raises:
        AlreadyStartedError: a recording is already running.
        NoStepsError: steps were requested, and no step began in time.
        CaptureCancelledError: `is_wanted` returned False.
        UserError: a requested collector cannot record here.
        OSError: the files cannot be written.
    """
    profile = RequestedProfile(folder, request)
    with profile:
        profile.wait(is_wanted)
    return profile.result()


class RequestedProfile(Profile):
    """Records from the next step on; errors are kept for `result` and never reach the program's loop."""

    def __init__(self, folder: str | os.PathLike[str], request: CaptureRequest) -> None:
        # The running step is not recorded; if the program gives no numbers, the first recorded step is 0.
        super().__init__(
            folder,
            request.profiler_options(),
            first_step=-1,
            schedule=self._decide,
            collectors=request.collectors,
        )
        self._request: Final = request
        self._ended: Final = threading.Event()
        # Held while the recording begins or ends, so that the other thread never sees it half done.
        self._turn: Final = threading.Lock()
        self._begun_at: float | None = None
        self._follows_steps = True
        self._steps_seen = 0
        self._over = False
        self._cancelled = False
        self._error: Exception | None = None

    def step(self, next_step: int | None = None) -> None:
        """Act as `Profile.step`, and begin or end the recording when it is time; never raise."""
        with self._turn:
            if not self._ended.is_set():
                self._enter(next_step)

    def wait(self, is_wanted: Callable[[], bool]) -> None:
        """Return when the recording is over or has to be ended; begin it if no step does."""
        asked_at = time.monotonic()
        while not self._ended.wait(_LOOK_S):
            if not is_wanted():
                self._cancelled = True
                return
            if self.recording is not None:
                return  # the program has called `profiler.stop`
            now, begun_at = time.monotonic(), self._begun_at
            if begun_at is not None:
                patience = STEP_PATIENCE_S if self._follows_steps and self._request.steps is None else 0.0
                if now - begun_at >= self._request.seconds + patience:
                    return
            elif self._request.steps is not None:
                if now - asked_at >= self._request.seconds:
                    return
            elif now - asked_at >= STEP_PATIENCE_S:
                self._begin_here()

    def result(self) -> Recording:
        """Return the recording, once the block is over; raise the errors listed for `record`."""
        with self._turn:
            recording, error = self.recording, self._error
        if self._cancelled:
            raise CaptureCancelledError("the client no longer waits for the recording")
        if error is not None:
            raise error
        if recording is None:
            raise NoStepsError(
                f"no step began within {self._request.seconds:g} s, so there was none to record. Expected calls to "
                "profiler.step() in the training loop; or ask for a duration instead of steps."
            )
        return replace(recording, notes=(*recording.notes, *self._notes()))

    def _enter(self, next_step: int | None) -> None:
        try:
            super().step(next_step)
        except Exception as error:
            self._error = error
            self._ended.set()
            return
        if self._begun_at is None:
            # Only now, because collectors may take seconds to start.
            self._begun_at = time.monotonic()
        elif self._over:
            self._ended.set()

    def _begin_here(self) -> None:
        with self._turn:
            if self._begun_at is None and not self._ended.is_set():
                self._follows_steps = False
                self._enter(0)

    def _decide(self, count: int) -> ProfilerAction:
        """Act as the schedule: called with 0 when the block begins, and then at every step."""
        if count == 0:
            return ProfilerAction.NONE
        # Only steps that begin after the delay are complete, and count.
        delay_ms = 0 if self._request.steps is None else self._request.options.delay_ms
        if self._begun_at is None:
            return ProfilerAction.WARMUP if delay_ms else ProfilerAction.RECORD
        passed = time.monotonic() - self._begun_at
        if self._request.steps is None:
            self._over = passed >= self._request.seconds
        elif self._action is not ProfilerAction.WARMUP:
            self._steps_seen += 1
            self._over = self._steps_seen >= self._request.steps
        elif passed * 1000 < delay_ms:
            return ProfilerAction.WARMUP
        return ProfilerAction.NONE if self._over else ProfilerAction.RECORD

    def _end(self, action: ProfilerAction) -> None:
        # If no step begins after the delay, what there is since then is kept.
        super()._end(ProfilerAction.RECORD)

    def _notes(self) -> list[str]:
        steps = self._request.steps
        if steps is not None and self._steps_seen < steps:
            return [f"only {self._steps_seen} of {counted(steps, 'step')} ended within {self._request.seconds:g} s"]
        if not self._follows_steps:
            return [
                f"no step began within {STEP_PATIENCE_S:g} s, so the recording does not start and end at step "
                "boundaries"
            ]
        return []
