"""Snapshots of a log directory: its contents under one revision number, and Polars tables of them."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from stepscope.summary.contents import LARGEST_FRAME, Contents

if TYPE_CHECKING:
    import polars as pl

    from stepscope.summary.frames.selection import Names


@dataclass(frozen=True)
class Snapshot(Contents):
    """A log directory at one moment: `Contents`, with methods that return them as Polars tables."""

    def scalars(
        self, runs: "Names" = None, tags: "Names" = None, *, pivot: bool = False, wall_time: bool = True
    ) -> "pl.DataFrame":
        """Return every point of every scalar as a Polars table.

        Rows are ordered by run, then by first appearance of the tag, then by point. NaN and infinities are kept as
        written; null marks only values that do not exist.

        Args:
            runs: a regular expression that is searched for anywhere in a name, ignoring case; or a collection of whole
                names; None for all.
            tags: the same for tags.
            pivot: return one row per run and step, sorted by step, with a Float64 column per tag. If a tag has several
                points at a step, the step has several rows, and the n-th of them holds the n-th point of each tag. A
                tag named "run" or "step" gets the column "run (tag)" or "step (tag)".
            wall_time: include the column ``wall_time``; the pivot form has none, because wall times differ between
                tags.

        Returns:
            Columns run (Categorical), tag (Categorical), step (Int64), wall_time (Float64, seconds since the epoch),
            value (Float64).

        Raises:
            TypeError: ``runs`` or ``tags`` is neither a string nor a collection of strings.
            SelectionError: an expression is invalid or takes too long, or no such name exists; a `ValueError`.
        """
        from stepscope.summary import frames

        return frames.scalars(self, runs, tags, pivot=pivot, wall_time=wall_time)

    def histograms(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return histograms as a Polars table, one row per point.

        Payloads are read from the files immediately. A payload that cannot be read is null, and ``error`` gives the
        reason.

        Args:
            runs: as for `scalars`.
            tags: as for `scalars`.
            last: number of points to return from the end of each series.
            max_bytes: maximum size of the payloads in the table.

        Returns:
            Columns run, tag, step, wall_time; left, right, count (List of Float64: the buckets' edges and the number
            of values in each); nan, positive_infinite, negative_infinite, below, above (Int64: values in no bucket);
            error (String).

        Raises:
            TypeError, ValueError: as for `scalars`; or ``last`` is not a whole number above 0.
            SelectionError: also if the payloads need more than ``max_bytes``.
        """
        return self.table("histograms", runs, tags, last=last, max_bytes=max_bytes)

    def tensors(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return tensors, PR curves and meshes as a Polars table, one row per point.

        Arguments and errors are as for `histograms`.

        The table includes tensors without a kind and those of kinds unknown to Stepscope.
        `stepscope.summary.frames.to_arrays` converts the rows to NumPy arrays.

        Returns:
            Columns run, tag, step, wall_time; kind (Categorical: "tensor", "pr_curves", "mesh", "" or another); dtype
            (String, NumPy's name); shape (List of Int64); content (Binary: the numbers, row-major, little endian);
            error (String).
        """
        from stepscope.summary import frames

        return frames.tensors(self, runs, tags, last=last, max_bytes=max_bytes)

    def images(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return images as a Polars table, one row per picture; arguments and errors are as for `histograms`.

        Returns:
            Columns run, tag, step, wall_time; sample (Int64, from 0; null if the point has no picture or cannot be
            read); width, height (Int64, pixels); encoded (Binary: PNG, JPEG or GIF, as written); error (String).
        """
        return self.table("images", runs, tags, last=last, max_bytes=max_bytes)

    def audio(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return audio as a Polars table, one row per clip; arguments and errors are as for `histograms`.

        Returns:
            Columns run, tag, step, wall_time; sample (Int64, as for `images`); content_type (String, such as
            "audio/wav"); label (String, Markdown); encoded (Binary, as written); error (String).
        """
        return self.table("audio", runs, tags, last=last, max_bytes=max_bytes)

    def texts(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return text as a Polars table, one row per point; arguments and errors are as for `histograms`.

        Returns:
            Columns run, tag, step, wall_time; shape (List of Int64, empty for a single text); text (List of String,
            row-major); error (String).
        """
        return self.table("text", runs, tags, last=last, max_bytes=max_bytes)

    def table(
        self,
        kind: str,
        runs: "Names" = None,
        tags: "Names" = None,
        *,
        last: int | None = None,
        max_bytes: int = LARGEST_FRAME,
    ) -> "pl.DataFrame":
        """Return values of any kind that has a table, even from another distribution; errors as for `histograms`.

        Args:
            kind: the name used in the files, such as "histograms", "images", "audio" or "text".
            runs: as for `scalars`.
            tags: as for `scalars`.
            last: number of points to return from the end of each series.
            max_bytes: maximum size of the payloads in the table.

        Returns:
            Columns run, tag, step, wall_time; the columns of the kind's `stepscope.summary.kinds.Table`; error
            (String).

        Raises:
            SelectionError: also if the kind is unknown or has no table.
        """
        from stepscope.summary import frames

        return frames.payload_table(self, kind, runs, tags, last=last, max_bytes=max_bytes)

    def hparams(self, runs: "Names" = None) -> "pl.DataFrame":
        """Return hyperparameters and metrics as a Polars table, one row per session.

        A metric's value is the last point of its scalar, in the session's run or in the folder below it that the
        metric names as its group. The metrics are those that any experiment of the log directory declares; if none
        declares any, every scalar of the sessions is a metric.

        Args:
            runs: the sessions, as for `scalars`.

        Returns:
            Columns run (Categorical); group (String, the run if the session has none); status (Categorical: "running"
            until the session has ended, "success", "failure" or "unknown"); start_time, end_time (Float64, seconds
            since the epoch, null if not given); one per hyperparameter (Boolean, Int64 if all values are whole numbers,
            Float64, or String, also if sessions differ in type); one per metric (Float64). If the column name of a
            hyperparameter or metric is taken, "(hyperparameter)" or "(metric)" is appended.

        Raises:
            TypeError, SelectionError: as for `scalars`.
        """
        from stepscope.summary import frames

        return frames.hparams(self, runs)

    def summaries(self, runs: "Names" = None, tags: "Names" = None) -> "pl.DataFrame":
        """Return a Polars table with one row per series of any kind; arguments and errors are as for `scalars`.

        Returns:
            Columns run, tag, kind (Categorical); points (Int64); first_step, last_step (Int64); first_wall_time,
            last_wall_time (Float64, seconds since the epoch); superseded (Int64: points that a restart overwrote);
            writers (Int64: maximum number of concurrent writers of the tag); display_name, description (String).
        """
        from stepscope.summary import frames

        return frames.summaries(self, runs, tags)

    def runs_frame(self, runs: "Names" = None) -> "pl.DataFrame":
        """Return the runs as a Polars table; arguments and errors are as for `scalars`.

        Returns:
            Columns run (Categorical); tags, points (Int64); last_step (Int64: the greatest of its series); start
            (Float64, seconds since the epoch: the earliest point); duration (Float64, seconds to the latest point);
            files, size (Int64: event files and their bytes); superseded, writers (maximum number of concurrent
            writers), damages (Int64).
        """
        from stepscope.summary import frames

        return frames.runs_frame(self, runs)

    def health_frame(self) -> "pl.DataFrame":
        """Return what was and was not read of each event file as a Polars table.

        Returns:
            Columns path (String); run (Categorical); records, bytes_read, size (Int64); waiting (Boolean: the file ends
            inside a record); superseded (Int64: points that a restart overwrote); writers (Int64: maximum number of
            files of the run that were written at once with the same tags); damage_count, skipped_bytes (Int64); damages
            (List of Struct: offset, length, reason; only the first damages); growing (Boolean: written to within the
            last minute); error (String: why the file cannot be opened or the folder cannot be listed).
        """
        from stepscope.summary import frames

        return frames.health_frame(self)


EMPTY_SNAPSHOT = Snapshot(revision=0, runs=MappingProxyType({}))
