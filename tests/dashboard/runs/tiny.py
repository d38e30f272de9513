"""Snapshots without files: runs with hyperparameters and a few points."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias

import numpy as np

from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.hparams import checked_hparams, session_start, start_info
from stepscope.summary.series import Columns, Run, Series
from stepscope.summary.snapshot import Snapshot

Points: TypeAlias = Mapping[str, Sequence[float] | None]
"""Values by tag; None for one whose points can no longer be read."""


def snapshot(runs: Mapping[str, tuple[Mapping[str, Any], Points]], revision: int = 1) -> Snapshot:
    """A snapshot from each run's hyperparameters (empty without a session) and values of its scalar tags."""
    made = {name: _run(name, hparams, points, at) for at, (name, (hparams, points)) in enumerate(runs.items())}
    return Snapshot(revision, MappingProxyType(made))


def named(*runs: str) -> Snapshot:
    """Runs of which only the name is known."""
    return snapshot({run: ({}, {}) for run in runs})


def unreadable(run: str, tag: str) -> Series:
    """A scalar whose file is gone, although it is known to have three points."""

    def gone(*_: int) -> NoReturn:
        raise PayloadError(f"the points of {tag!r} of {run!r} cannot be read: No such file or directory")

    return Series(run, tag, "scalars", "", "", b"", 1, 0, gone, gone, count=3)


def _run(name: str, hparams: Mapping[str, Any], points: Points, at: int) -> Run:
    series = {
        tag: unreadable(name, tag) if values is None else _series(name, tag, "scalars", b"", values)
        for tag, values in points.items()
    }
    if hparams:
        start = session_start(start_info(checked_hparams(hparams)))
        content = start.metadata.plugin_data.content
        series[start.tag] = _series(name, start.tag, "hparams", content, [0.0])
    return Run(name, 1000.0 + at, MappingProxyType(series))


def _series(run: str, tag: str, kind: str, content: bytes, values: Sequence[float]) -> Series:
    steps = np.arange(len(values), dtype=np.int64)
    columns = Columns(steps, steps.astype(np.float64), np.array(values, np.float64))
    return Series(run, tag, kind, "", "", content, 1, 0, lambda: columns, lambda index: None)
