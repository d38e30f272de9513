"""A snapshot's data as Polars tables, reached through the methods of `stepscope.summary.snapshot.Snapshot`.

Importing this package imports Polars, so modules that training code imports must not import it.
"""

from stepscope.summary.full_install import needs_full_install

with needs_full_install("A table"):
    from stepscope.summary.frames.overview import health_frame, runs_frame, summaries
    from stepscope.summary.frames.pandas import to_pandas
    from stepscope.summary.frames.payloads import payload_table, tensors, to_arrays
    from stepscope.summary.frames.scalars import scalars
    from stepscope.summary.frames.selection import Names, SelectionError
    from stepscope.summary.frames.sessions import hparams

__all__ = [
    "Names",
    "SelectionError",
    "health_frame",
    "hparams",
    "payload_table",
    "runs_frame",
    "scalars",
    "summaries",
    "tensors",
    "to_arrays",
    "to_pandas",
]
