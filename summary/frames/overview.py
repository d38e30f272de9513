"""Overviews of a log directory as tables: one row per series, per run, or per file."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from stepscope.summary.contents import Contents, FileHealth
from stepscope.summary.frames.selection import Names, selected_runs, selected_series
from stepscope.summary.series import Run, Series


def summaries(contents: Contents, runs: Names = None, tags: Names = None) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.summaries`."""
    chosen = selected_series(contents, None, runs, tags)
    schema = {
        "run": pl.Categorical(),
        "tag": pl.Categorical(),
        "kind": pl.Categorical(),
        "points": pl.Int64(),
        "first_step": pl.Int64(),
        "last_step": pl.Int64(),
        "first_wall_time": pl.Float64(),
        "last_wall_time": pl.Float64(),
        "superseded": pl.Int64(),
        "writers": pl.Int64(),
        "display_name": pl.String(),
        "description": pl.String(),
    }
    return _frame(schema, [_series_row(series) for series in chosen])


def runs_frame(contents: Contents, runs: Names = None) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.runs_frame`."""
    files: dict[str, list[FileHealth]] = {}
    for file in contents.health:
        if not file.is_folder:
            files.setdefault(file.run, []).append(file)
    schema = {
        "run": pl.Categorical(),
        "tags": pl.Int64(),
        "points": pl.Int64(),
        "last_step": pl.Int64(),
        "start": pl.Float64(),
        "duration": pl.Float64(),
        "files": pl.Int64(),
        "size": pl.Int64(),
        "superseded": pl.Int64(),
        "writers": pl.Int64(),
        "damages": pl.Int64(),
    }
    return _frame(schema, [_run_row(run, files.get(run.name, [])) for run in selected_runs(contents, runs)])


def health_frame(contents: Contents) -> pl.DataFrame:
    """See `stepscope.summary.snapshot.Snapshot.health_frame`."""
    schema = {
        "path": pl.String(),
        "run": pl.Categorical(),
        "records": pl.Int64(),
        "bytes_read": pl.Int64(),
        "size": pl.Int64(),
        "waiting": pl.Boolean(),
        "superseded": pl.Int64(),
        "writers": pl.Int64(),
        "damage_count": pl.Int64(),
        "skipped_bytes": pl.Int64(),
        "damages": pl.List(pl.Struct({"offset": pl.Int64(), "length": pl.Int64(), "reason": pl.String()})),
        "growing": pl.Boolean(),
        "error": pl.String(),
    }
    return _frame(schema, [_file_row(file) for file in contents.health])


def _frame(schema: dict[str, Any], rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pl.DataFrame(
        [pl.Series(name, column, dtype=schema[name]) for name, column in zip(schema, columns, strict=True)]
    )


def _series_row(series: Series) -> tuple[Any, ...]:
    columns = series.columns
    ends: tuple[Any, ...] = (None,) * 4
    if len(columns):
        steps, wall_times = columns.steps, columns.wall_times
        ends = int(steps[0]), int(steps[-1]), float(wall_times[0]), float(wall_times[-1])
    return (
        series.run,
        series.tag,
        series.kind,
        len(columns),
        *ends,
        series.superseded,
        series.writers,
        series.display_name,
        series.description,
    )


def _run_row(run: Run, files: Sequence[FileHealth]) -> tuple[Any, ...]:
    filled = [series for series in run.series.values() if len(series)]
    # NaN is not a time; fmin and fmax ignore it.
    start = float(np.fmin.reduce([np.fmin.reduce(series.wall_times) for series in filled] or [run.first_wall_time]))
    end = float(np.fmax.reduce([np.fmax.reduce(series.wall_times) for series in filled] or [start]))
    known = math.isfinite(start) and math.isfinite(end)
    return (
        run.name,
        len(run.series),
        sum(map(len, filled)),
        max((int(series.steps[-1]) for series in filled), default=None),
        start if known else None,
        end - start if known else None,
        len(files),
        sum(file.size for file in files),
        run.superseded,
        run.writers,
        sum(file.damage_count + bool(file.error) for file in files),
    )


def _file_row(file: FileHealth) -> tuple[Any, ...]:
    damages = [{"offset": d.offset, "length": d.length, "reason": d.reason} for d in file.damages]
    return (
        file.path,
        file.run,
        file.records,
        file.bytes_read,
        file.size,
        file.waiting,
        file.superseded,
        file.writers,
        file.damage_count,
        file.skipped_bytes,
        damages,
        file.growing,
        file.error or None,
    )
