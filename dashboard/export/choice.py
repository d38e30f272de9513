"""The choice of what to export from a log directory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from stepscope.summary.contents import LARGEST_FRAME, Contents
from stepscope.summary.frames.selection import check_selection, selected_series
from stepscope.summary.kinds.registry import ALL_ARRAYS, all_kinds
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Choice:
    """What to export; expressions match anywhere in names, ignoring case."""

    kind: str = "scalars"
    """A kind from `tables` or `kinds_with_files`."""
    run: str | None = None
    tag: str | None = None
    pivot: bool = False
    """Whether scalars have one row per run and step, and one column per tag."""
    last: int | None = None
    """For images, histograms and similar data: maximum number of points per series, counted from its end."""
    max_bytes: int = LARGEST_FRAME
    """Maximum size of such data in a table."""

    def table(self, snapshot: Snapshot) -> "pl.DataFrame":
        """Return the chosen data as a table.

        Raises:
            ValueError: there is no such run or tag, or an expression is invalid.
        """
        return tables()[self.kind](snapshot, self)

    def check(self, contents: Contents) -> None:
        """Check that ``run`` and ``tag`` match something, unless there are no runs at all.

        Raises:
            SelectionError: one of them is invalid, or matches nothing.
        """
        if contents.runs:
            check_selection(contents, self.run, self.tag)

    def series(self, snapshot: Snapshot) -> list[Series]:
        """Return the series to write as files; raises the errors of `table`."""
        return selected_series(snapshot, {self.kind}, self.run, self.tag)


def _payloads(kind: str) -> "Callable[[Snapshot, Choice], pl.DataFrame]":
    def table(snapshot: Snapshot, choice: Choice) -> "pl.DataFrame":
        return snapshot.table(kind, choice.run, choice.tag, last=choice.last, max_bytes=choice.max_bytes)

    return table


@cache
def tables() -> "Mapping[str, Callable[[Snapshot, Choice], pl.DataFrame]]":
    """Return the function that makes each table, by its ``--kind`` name."""
    return MappingProxyType(
        {
            "scalars": lambda snapshot, choice: snapshot.scalars(choice.run, choice.tag, pivot=choice.pivot),
            "hparams": lambda snapshot, choice: snapshot.hparams(choice.run),
            **{name: _payloads(name) for name, kind in all_kinds().items() if kind.table is not None},
            ALL_ARRAYS: lambda snapshot, choice: snapshot.tensors(
                choice.run, choice.tag, last=choice.last, max_bytes=choice.max_bytes
            ),
            "summaries": lambda snapshot, choice: snapshot.summaries(choice.run, choice.tag),
            "runs": lambda snapshot, choice: snapshot.runs_frame(choice.run),
            "files": lambda snapshot, choice: snapshot.health_frame(),
        }
    )


@cache
def kinds_with_files() -> Sequence[str]:
    """Return the kinds whose values are written as files."""
    return [name for name, kind in all_kinds().items() if kind.files is not None]
