"""Responses to requests that name something that does not exist."""

from fastapi import HTTPException

from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot


def find_series(snapshot: Snapshot, run: str, tag: str, kind: str) -> Series:
    """Return the series of a run's tag.

    Raises:
        HTTPException: 404 if the run has no such tag of that kind.
    """
    series = snapshot.series(run, tag)
    if series is None or series.kind != kind:
        known = "unknown run" if run not in snapshot.runs else f"this run has no {kind} with that tag"
        raise HTTPException(404, f"No {kind} for run {run!r}, tag {tag!r}: {known}. See /data/plugin/{kind}/tags.")
    return series
