"""The recorder behind the watchers of all frameworks: takes numbers and statistics, writes values of an event file."""

import logging
import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.catalog import Catalog, Lines
from stepscope.debug.rules import ALL, Judgment, Rule
from stepscope.debug.scalar_rules import REACH, ScalarRule
from stepscope.summary.debugger.model import COLUMN, FIGURES, Alert, Observations, WatchedTensor
from stepscope.summary.kinds.debug import (
    CAUGHT_TAG,
    RING_TAG,
    STEPS_TAG,
    debug_alerts,
    debug_catalog,
    debug_steps,
)
from stepscope.summary.proto.debug_pb2 import DebugAlert, DebugAlerts
from stepscope.summary.writer import SummaryWriter

if TYPE_CHECKING:
    from stepscope.summary.debugger.tfdbg_export import ObservationWriter
    from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter

DEFAULT_BUDGET: Final = 512 << 20
"""Maximum size of the health data of a recording in its event file."""
MOST_ALERTS: Final = 10_000
RING_BYTES: Final = 64 << 20
TFDBG_FOLDER: Final = "tfdbg"
"""Folder in the run's folder for a dump in the format of TensorFlow's debugger."""
_BAD_SHARE: Final = 8
"""Bad steps have an extra budget of this fraction: one eighth."""
_CATALOG_STEP: Final = 0
"""The step of all catalogs, so that no restart supersedes one."""

_logger: Final = logging.getLogger("stepscope.debug")

Reaction = Literal["log", "stop", "raise"] | Callable[[Alert], object] | None
"""The reaction to an alert: a line in the log, `Watcher.should_stop`, an `AlertError`, or a call of a function."""


class AlertError(RuntimeError):
    """A rule was broken, and the recorder was set to raise; ``alert`` has the finding."""

    def __init__(self, alert: Alert) -> None:
        super().__init__(f"step {alert.step}: {alert.message}")
        self.alert = alert


class Measured(Protocol):
    """Measured values whose statistics may still be on a device."""

    @property
    def is_here(self) -> bool:
        """Whether the statistics are available without waiting."""
        ...

    def __len__(self) -> int: ...

    def figures(self) -> NDArray[np.float64]:
        """Return the statistics, [n, len(FIGURES)]; the size is NaN for values that did not run."""
        ...


class _Kept(NamedTuple):
    """A step in the ring."""

    step: int
    wall_time: float
    numbers: list[int]
    measured: Measured

    def observations(self) -> Observations:
        """Return the observations, without values that turned out not to have run; waits for the device."""
        figures = self.measured.figures()
        there = ~np.isnan(figures[:, COLUMN["size"]])
        count = int(there.sum())
        return Observations(
            np.array(self.numbers, np.int32)[there],
            np.full(count, self.step, np.int64),
            np.full(count, self.wall_time),
            figures[there],
        )


@dataclass(frozen=True)
class Budget:
    """How much of the allowed data was written, and thus how often a step may be written."""

    limit: int
    written: int = 0
    last: int = 0
    """Size of the last step in bytes."""

    def interval(self, every: int, steps: int) -> int:
        """Return the number of steps between two that are written: ``every``, times a power of two.

        At this pace, half of the remaining budget lasts until the training is twice as long as it is now. The remainder
        therefore falls with the square root of the number of steps, and is never used up.

        Args:
            every: the minimum.
            steps: the number of steps so far.
        """
        left = self.limit - self.written
        if left <= 0:
            return every << 40
        needed = 2 * self.last * max(steps, 1) / left / every
        return every << max(0, math.ceil(math.log2(needed))) if needed > 1 else every


class Recorder:
    """Writes health, catalogs and alerts of one watcher.

    Args:
        writer: the writer to use.
        source: what records, in words.
        every: planned number of steps between two that are recorded.
        rules: the rules that raise alerts.
        reactions: the reactions to an alert.
        ring: number of last steps that are kept in memory.
        budget: maximum number of bytes of steps in the file; see `Budget`.
        every_file: see `Catalog`.
        also_tfdbg: whether to also write a dump in the format of TensorFlow's debugger.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        writer: SummaryWriter,
        source: str,
        *,
        every: int = 1,
        rules: Iterable[Rule] = ALL,
        reactions: Sequence[Reaction] = ("log",),
        ring: int = 0,
        budget: int = DEFAULT_BUDGET,
        every_file: bool = False,
        also_tfdbg: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.writer: Final = writer
        self.catalog: Final = Catalog(secrets.randbits(64), source, every_file=every_file)
        self.alerts: Final[deque[Alert]] = deque(maxlen=MOST_ALERTS)
        """The alerts raised so far."""
        self.should_stop = False
        self.every: Final = every
        self._clock: Final = clock
        chosen = tuple(rules)
        self._judgment: Final = Judgment(chosen)
        self._scalar_rules: Final = [rule for rule in chosen if isinstance(rule, ScalarRule)]
        self._scalars: Final[dict[str, deque[tuple[int, float]]]] = {}
        # An exception is last, so that it prevents no other reaction.
        self._reactions: Final = sorted(reactions, key=lambda reaction: reaction == "raise")
        self._ring: Final[deque[_Kept]] = deque(maxlen=ring)
        self._ring_bytes = 0
        self._budget = Budget(budget)
        self._bad_budget = Budget(budget // _BAD_SHARE)
        self._alert_count = 0
        self._first_step = 1 << 62
        self._last_written: int | None = None
        self._last_judged = -1
        self._dump_files: TfdbgWriter | None = self._dump_into(writer, source) if also_tfdbg else None
        self._dump: ObservationWriter | None = self._dump_of(self._dump_files) if self._dump_files else None
        self._lasting: Final[set[str]] = set()
        """Rules about a state that were broken when they were last judged, and have raised their alert."""

    def _dump_into(self, writer: SummaryWriter, source: str) -> "TfdbgWriter":
        from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter

        return TfdbgWriter(writer.folder.child(TFDBG_FOLDER), version=f"Stepscope ({source})", clock=self._clock)

    def _dump_of(self, files: "TfdbgWriter") -> "ObservationWriter":
        from stepscope.summary.debugger.tfdbg_export import ObservationWriter

        return ObservationWriter(files, stack_of=self.catalog.frames)

    @property
    def keeps_ring(self) -> bool:
        """Whether every step is kept for a while."""
        return bool(self._ring.maxlen)

    @property
    def bytes_written(self) -> int:
        """Number of bytes of health data in the file, or on its way there."""
        return self._budget.written + self._bad_budget.written

    def number(self, key: Hashable, describe: Callable[[], tuple[WatchedTensor, Lines]]) -> int | None:
        """Return a tensor's number; see `Catalog.number`."""
        return self.catalog.number(key, describe)

    def record(self, step: int, numbers: Sequence[int], measured: Measured) -> list[Alert]:
        """Judge the observations of a step, and write it if it is due or something is wrong.

        Args:
            step: the training step.
            numbers: the tensors, in the order in which they were measured.
            measured: their statistics.

        Raises:
            AlertError: something is wrong, and the recorder is set to raise; everything is written first.
        """
        kept = _Kept(step, self._clock(), list(numbers), measured)
        found = kept.observations()
        self._first_step = min(self._first_step, step)
        alerts = [*self._judge_ring(), *self._judgment.advance(self.catalog.tensors, found)]
        self._last_judged = max(self._last_judged, step)
        if self._is_due(step):
            self._budget = self._write(STEPS_TAG, found, self._budget)
            self._last_written = step
        elif alerts or found.bad.any():
            self._bad_budget = self._write(STEPS_TAG, found, self._bad_budget)
        elif self.keeps_ring:
            self._add_to_ring(kept)
        self._alarm(alerts)
        return alerts

    def record_again(self, step: int, numbers: Sequence[int], measured: Measured) -> Observations:
        """Write and return the observations of a step that was run again in full detail; they are not judged."""
        found = _Kept(step, self._clock(), list(numbers), measured).observations()
        self._bad_budget = self._write(CAUGHT_TAG, found, self._bad_budget)
        return found

    def keep(self, step: int, numbers: Sequence[int], measured: Measured) -> None:
        """Keep an unrecorded step in the ring.

        It is judged immediately if this does not require waiting for a device; otherwise with all others before the
        first of them leaves the ring, with the next recorded step, or at the end.

        Raises:
            AlertError: something is wrong, and the recorder is set to raise.
        """
        if self._is_full and self._ring[0].step > self._last_judged:
            self._alarm(self._judge_ring())
        self._add_to_ring(_Kept(step, self._clock(), list(numbers), measured))
        if measured.is_here:
            self._alarm(self._judge_ring())

    def _add_to_ring(self, kept: _Kept) -> None:
        while self._is_full:
            self._ring_bytes -= _size(self._ring.popleft())
        self._ring.append(kept)
        self._ring_bytes += _size(kept)

    @property
    def _is_full(self) -> bool:
        """Whether a step must leave the ring before another one is kept."""
        return bool(self._ring) and (len(self._ring) == self._ring.maxlen or self._ring_bytes > RING_BYTES)

    def judge_kept(self) -> None:
        """Judge the kept steps that were not judged yet; waits for the devices.

        Raises:
            AlertError: something is wrong, and the recorder is set to raise.
        """
        self._alarm(self._judge_ring())

    def dump(self) -> int:
        """Judge the steps in the ring, as far as they were not judged yet, and write them; return their number.

        Raises:
            AlertError: something is wrong, and the recorder is set to raise; everything is written first.
        """
        alerts = self._judge_ring()
        count = self._write_ring()
        if alerts:
            self.report(alerts)
        return count

    def _write_ring(self) -> int:
        kept, count = list(self._ring), len(self._ring)
        self._ring.clear()
        self._ring_bytes = 0
        for step in kept:
            self._bad_budget = self._write(RING_TAG, step.observations(), self._bad_budget)
        return count

    def log(self, step: int, scalars: Mapping[str, float]) -> list[Alert]:
        """Write scalars of a step, and judge them.

        Raises:
            AlertError: something is wrong, and the recorder is set to raise.
        """
        for tag, value in scalars.items():
            self.writer.add_scalar(tag, value, step)
            self._scalars.setdefault(tag, deque(maxlen=REACH)).append((step, value))
        curves = {
            tag: (np.array([s for s, _ in points], np.int64), np.array([v for _, v in points], np.float64))
            for tag, points in self._scalars.items()
        }
        alerts = [
            replace(alert, wall_time=self._clock())
            for rule in self._scalar_rules
            for alert in self._new(rule, rule.judge(curves), step)
        ]
        self._alarm(alerts)
        return alerts

    def _new(self, rule: ScalarRule, found: Sequence[Alert], step: int) -> list[Alert]:
        """Return the alerts of a step that were not raised before."""
        new = [alert for alert in found if alert.step == step]
        if not rule.is_state:
            # A step's scalars may come in several calls, each of which is judged with those before.
            told = {(alert.rule, alert.message) for alert in self.alerts if alert.step == step} if new else set()
            return [alert for alert in new if (alert.rule, alert.message) not in told]
        if not found:
            self._lasting.discard(rule.name)
        elif rule.name in self._lasting:
            return []
        elif new:
            self._lasting.add(rule.name)
        return new

    def _judge_ring(self) -> list[Alert]:
        """Judge the steps in the ring that were not judged yet."""
        alerts: list[Alert] = []
        for kept in self._ring:
            if kept.step > self._last_judged:
                self._last_judged = kept.step
                alerts.extend(self._judgment.advance(self.catalog.tensors, kept.observations()))
        return alerts

    def _alarm(self, alerts: Sequence[Alert]) -> None:
        if alerts:
            self._write_ring()
            self.report(alerts)

    def report(self, alerts: Sequence[Alert]) -> None:
        """Write alerts, and react to them.

        Raises:
            AlertError: the recorder is set to raise.
        """
        for alert in alerts:
            self.alerts.append(alert)
        self._write_catalog()
        room = MOST_ALERTS - self._alert_count
        for step in dict.fromkeys(alert.step for alert in alerts[:room]):
            messages = [
                DebugAlert(rule=a.rule, tensor=a.tensor, message=a.message, figures=a.figures)
                for a in alerts[:room]
                if a.step == step
            ]
            value = debug_alerts(DebugAlerts(recording=self.catalog.recording, alerts=messages))
            self.writer.add_value(value, step)
        self._alert_count += len(alerts[:room])
        for reaction in self._reactions:
            _react(self, reaction, alerts)

    def flush(self) -> None:
        """Flush everything to the file."""
        self._write_catalog()
        self.writer.flush()

    def close(self) -> None:
        """Flush everything to the files, and close those that are not the writer's."""
        self.flush()
        if self._dump_files is not None:
            self._dump_files.close()

    def discard(self) -> None:
        """Close what is not the writer's, and write nothing, as there is nothing to watch."""
        self.catalog.take_new()
        if self._dump_files is not None:
            self._dump_files.close()

    def _is_due(self, step: int) -> bool:
        if self._last_written is None or step < self._last_written:
            return True
        return step - self._last_written >= self._budget.interval(self.every, step - self._first_step)

    def _write(self, tag: str, found: Observations, budget: Budget) -> Budget:
        """Write a step if the budget allows it, and return the remaining budget."""
        if not len(found) or budget.written >= budget.limit:
            return budget
        self._write_catalog()
        if self._dump is not None:
            self._dump.write(self.catalog.tensors, found)
        size = 0
        for value in debug_steps(tag, self.catalog.recording, found.tensors, found.figures):
            size += value.ByteSize()
            self.writer.add_value(value, int(found.steps[0]), float(found.wall_times[0]))
        return replace(budget, written=budget.written + size, last=size)

    def _write_catalog(self) -> None:
        new = self.catalog.take_new()
        if new is not None:
            self.writer.add_value(debug_catalog(new), _CATALOG_STEP)


def _react(recorder: Recorder, reaction: Reaction, alerts: Sequence[Alert]) -> None:
    if reaction == "log":
        for alert in alerts:
            _logger.warning("step %d: %s (%s)", alert.step, alert.message, alert.rule)
    elif reaction == "stop":
        recorder.should_stop = True
    elif reaction == "raise":
        recorder.flush()
        raise AlertError(alerts[0])
    elif callable(reaction):
        for alert in alerts:
            reaction(alert)


def _size(kept: _Kept) -> int:
    return 8 * len(FIGURES) * len(kept.numbers)
