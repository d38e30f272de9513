"""Snapshots of scalars, made from numbers."""

from collections.abc import Mapping, Sequence

import numpy as np

from stepscope.summary.kinds.base import Payload
from stepscope.summary.series import SCALARS, Columns, Run, Series
from stepscope.summary.snapshot import Snapshot

START = 1_000.0


def scalar(
    run: str,
    tag: str,
    values: Sequence[float],
    steps: Sequence[int] | None = None,
    seconds: float = 10.0,
    superseded: int = 0,
) -> Series:
    """A series whose points are ``seconds`` apart."""
    n = len(values)
    columns = Columns(
        np.arange(n) if steps is None else np.array(steps, np.int64),
        START + seconds * np.arange(n, dtype=np.float64),
        np.array(values, np.float64),
    )

    def nothing(index: int) -> Payload:
        raise IndexError(index)

    return Series(run, tag, SCALARS, "", "", b"", n, superseded, lambda: columns, nothing)


def snapshot(runs: Mapping[str, Sequence[Series]]) -> Snapshot:
    """The runs in the order given."""
    return Snapshot(1, {name: Run(name, START, {s.tag: s for s in series}) for name, series in runs.items()})


def losses(**runs: Sequence[float]) -> Snapshot:
    """One tag, "loss", in every run."""
    return snapshot({run: [scalar(run, "loss", values)] for run, values in runs.items()})
