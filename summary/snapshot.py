"""What readers of a log directory get: what it holds, under one revision number, and tables of that."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from stepscope.summary.contents import LARGEST_FRAME, Contents

if TYPE_CHECKING:
    import polars as pl

    from stepscope.summary.frames.selection import Names


@dataclass(frozen=True)
class Snapshot(Contents):
    """A log directory at one moment; what it holds is in `Contents`, and the methods give it as Polars tables."""

    def scalars(
        self, runs: "Names" = None, tags: "Names" = None, *, pivot: bool = False, wall_time: bool = True
    ) -> "pl.DataFrame":
        """Return every point of every scalar, as a Polars table.

        Rows are in the order of runs, then of the tags' first appearance, then of the points. NaN and the infinities
        are as written; null is only what does not exist.

        Args:
            runs: a regular expression that is searched for anywhere in a name, ignoring case; or whole names in a
                collection; None for all.
            tags: the same for tags.
            pivot: one row per run and step, sorted by step, with a Float64 column per tag. Where a tag has a step
                several times, the step has several rows, and the n-th point of each tag is in the n-th of them. A tag
                named "run" or "step" gets the column "run (tag)" or "step (tag)".
            wall_time: with the column ``wall_time``; the pivot form has none, as tags differ in it.

        Returns:
            Columns run (Categorical), tag (Categorical), step (Int64), wall_time (Float64, seconds since the epoch),
            value (Float64).

        Raises:
            TypeError: ``runs`` or ``tags`` is neither a string nor a collection of strings.
            SelectionError: a `ValueError`; an expression is invalid or takes too long, or no such name exists.
        """
        from stepscope.summary import frames

        return frames.scalars(self, runs, tags, pivot=pivot, wall_time=wall_time)

    def histograms(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return histograms as a Polars table, one row per point.

        The payloads are read from the files at once. One that cannot be read is null, and ``error`` says why.

        Args:
            runs: as for `scalars`.
            tags: as for `scalars`.
            last: only so many points of each series, from its end.
            max_bytes: how much payload the table may hold.

        Returns:
            Columns run, tag, step, wall_time; left, right, count (List of Float64: the buckets' edges and how many
            values are in each); nan, positive_infinite, negative_infinite, below, above (Int64: values in no bucket);
            error (String).

        Raises:
            TypeError, ValueError: as for `scalars`; or ``last`` is no whole number above 0.
            SelectionError: also, the payloads need more than ``max_bytes``.
        """
        return self.table("histograms", runs, tags, last=last, max_bytes=max_bytes)

    def tensors(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return tensors, PR curves and meshes as a Polars table, one row per point.

        Arguments and errors as `histograms`.

        Tensors of no kind, and of kinds that Stepscope does not know, are among them.
        `stepscope.summary.frames.to_arrays` makes NumPy arrays of the rows.

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
        """Return images as a Polars table, one row per picture; arguments and errors as `histograms`.

        Returns:
            Columns run, tag, step, wall_time; sample (Int64, from 0; null if the point has no picture or cannot be
            read); width, height (Int64, pixels); encoded (Binary: PNG, JPEG or GIF, as written); error (String).
        """
        return self.table("images", runs, tags, last=last, max_bytes=max_bytes)

    def audio(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Audio as a Polars table, one row per clip; arguments and errors as `histograms`.

        Returns:
            Columns run, tag, step, wall_time; sample (Int64, as for `images`); content_type (String, such as
            "audio/wav"); label (String, Markdown); encoded (Binary, as written); error (String).
        """
        return self.table("audio", runs, tags, last=last, max_bytes=max_bytes)

    def texts(
        self, runs: "Names" = None, tags: "Names" = None, *, last: int | None = None, max_bytes: int = LARGEST_FRAME
    ) -> "pl.DataFrame":
        """Return text as a Polars table, one row per point; arguments and errors as `histograms`.

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
        """Return the values of any kind that has a table, also one of another distribution; errors as `histograms`.

        Args:
            kind: the name in the files, such as "histograms", "images", "audio" or "text".
            runs: as for `scalars`.
            tags: as for `scalars`.
            last: only so many points of each series, from its end.
            max_bytes: how much payload the table may hold.

        Returns:
            Columns run, tag, step, wall_time; those of the kind's `stepscope.summary.kinds.Table`; error (String).

        Raises:
            SelectionError: also, nobody knows the kind, or it has no table.
        """
        from stepscope.summary import frames

        return frames.payload_table(self, kind, runs, tags, last=last, max_bytes=max_bytes)

    def hparams(self, runs: "Names" = None) -> "pl.DataFrame":
        """Return hyperparameters and metrics as a Polars table, one row per session.

        A metric's value is the last point of its scalar, in the session's run or in the folder below it that the
        metric names as its group. The metrics are those that any experiment of the log directory declares; where none
        declares one, every scalar of the sessions.

        Args:
            runs: as for `scalars`: the sessions.

        Returns:
            Columns run (Categorical); group (String, the run where the session has none); status (Categorical:
            "running" until the session ended, "success", "failure" or "unknown"); start_time, end_time (Float64,
            seconds since the epoch, null where not given); one per hyperparameter (Boolean, Int64 where all are whole
            numbers, Float64, or String, also where sessions differ in type); one per metric (Float64). A hyperparameter
            or metric whose column is taken gets "(hyperparameter)" or "(metric)" after its name.

        Raises:
            TypeError, SelectionError: as for `scalars`.
        """
        from stepscope.summary import frames

        return frames.hparams(self, runs)

    def summaries(self, runs: "Names" = None, tags: "Names" = None) -> "pl.DataFrame":
        """Return what there is, as a Polars table: one row per series of any kind; arguments and errors as `scalars`.

        Returns:
            Columns run, tag, kind (Categorical); points (Int64); first_step, last_step (Int64); first_wall_time,
            last_wall_time (Float64, seconds since the epoch); superseded (Int64: points that a restart overwrote);
            writers (Int64: how many wrote the tag at once, at most); display_name, description (String).
        """
        from stepscope.summary import frames

        return frames.summaries(self, runs, tags)

    def runs_frame(self, runs: "Names" = None) -> "pl.DataFrame":
        """Return the runs as a Polars table; arguments and errors as `scalars`.

        Returns:
            Columns run (Categorical); tags, points (Int64); last_step (Int64: the furthest of its series); start
            (Float64, seconds since the epoch: the earliest point); duration (Float64, seconds to the latest point);
            files, size (Int64: event files and their bytes); superseded, writers (at once, at most), damages (Int64).
        """
        from stepscope.summary import frames

        return frames.runs_frame(self, runs)

    def health_frame(self) -> "pl.DataFrame":
        """Return what was read of each event file, and what was not, as a Polars table.

        Returns:
            Columns path (String); run (Categorical); records, bytes_read, size (Int64); waiting (Boolean: the file ends
            inside a record); superseded (Int64: points that a restart overwrote); writers (Int64: how many files of the
            run were written at once with the same tags, at most); damage_count, skipped_bytes (Int64); damages (List of
            Struct: offset, length, reason; the first of them); growing (Boolean: written to within the last minute);
            error (String: why the file cannot be opened, or the folder cannot be listed).
        """
        from stepscope.summary import frames

        return frames.health_frame(self)


EMPTY_SNAPSHOT = Snapshot(revision=0, runs=MappingProxyType({}))
