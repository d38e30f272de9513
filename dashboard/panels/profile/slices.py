"""The slices that rows of tables represent: where the longest of each row is, and how long all of them took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.profile.table import MOST_ROWS, Groups, Place, Places, RowNumbers, around
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.facts import Device, Facts
from stepscope.profiler.analysis.kernels import KernelKey, kernel_key
from stepscope.profiler.analysis.members import Histograms, Members, histograms, longest, members_of
from stepscope.profiler.analysis.memcpys import each_copy
from stepscope.profiler.analysis.operators import Key, key_texts, operator_calls

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Evidence:
    """The slices behind the rows of a table, or behind groups of rows."""

    members: Members
    longest: NDArray[np.int64]
    """The longest slice of each row; -1 for none."""
    named: bool
    """Whether all slices of a row share one name."""
    first: Histograms
    """Distributions of the rows that the page gets of most tables."""

    def at(self, analyzed: AnalyzedTrace, numbers: RowNumbers) -> Places:
        """Return the places of some rows in their trace, which keeps this object and so is not held by it."""
        return places(analyzed, self.longest[list(numbers)].tolist(), named=self.named)

    def spread(self, numbers: RowNumbers) -> Histograms:
        """Return the distributions of some rows."""
        if max(numbers, default=0) < len(self.first.counts):
            low, high, counts = self.first
            at = list(numbers)
            return Histograms(low[at], high[at], counts[at])
        position = np.full(len(self.longest), -1, np.int64)
        position[list(numbers)] = np.arange(len(numbers))
        return histograms(self.members.grouped(position), len(numbers))


def evidence_of(members: Members, rows: int, *, named: bool = True) -> Evidence:
    """Return the places of rows, and their distributions.

    Args:
        members: the slices with their rows.
        rows: the number of rows.
        named: whether all slices of a row share one name.
    """
    return Evidence(members, longest(members, rows), named, histograms(members, min(rows, MOST_ROWS)))


def groups_of(
    analyzed: AnalyzedTrace, frame: "pl.DataFrame", of: Sequence[int], members: Members, *, same: bool, alone: bool
) -> Groups:
    """Return rows combined into groups.

    Args:
        analyzed: the trace.
        frame: the groups.
        of: for each row, the group that it is in.
        members: the slices of the rows.
        same: whether all slices of a group share one name.
        alone: as for `Groups.alone`.
    """
    grouped = members.grouped(np.array(of, np.int64))
    found = evidence_of(grouped, len(frame), named=same)
    shown = range(min(len(frame), MOST_ROWS))
    return Groups(frame, tuple(of), found.at(analyzed, shown), found.spread(shown), alone)


def operator_members(analyzed: AnalyzedTrace, frame: "pl.DataFrame", by: Sequence[Key]) -> Members:
    """Return the calls of each row of `stepscope.profiler.analysis.operators.operators`, with their time on the
    host.
    """
    calls = operator_calls(analyzed.facts)
    slices = calls.slice[calls.is_operator]
    keys = {str(key): key_texts(analyzed.facts, slices, key) for key in by}
    return members_of(frame, keys, slices, calls.host_total[calls.is_operator])


def kernel_members(analyzed: AnalyzedTrace, frame: "pl.DataFrame", by: KernelKey = "name") -> Members:
    """Return the calls of each row of `stepscope.profiler.analysis.kernels.kernels`."""
    chosen = kernels_of(analyzed.facts)
    names = analyzed.facts.name_column(chosen.slice, lambda name: kernel_key(name, by))
    return members_of(frame, {"name": names}, chosen.slice, chosen.duration)


def copy_members(analyzed: AnalyzedTrace, frame: "pl.DataFrame") -> Members:
    """Return the copies of each row of `stepscope.profiler.analysis.memcpys.memcpys`."""
    copies = each_copy(analyzed.facts)
    keys = {name: copies[name] for name in ("direction", "memory")}
    return members_of(frame, keys, copies["slice"].to_numpy(), copies["duration_ns"].to_numpy())


def slice_members(analyzed: AnalyzedTrace, frame: "pl.DataFrame") -> Members:
    """Return the slices of each row of `stepscope.profiler.analysis.slices.slices_by_name`."""
    import polars as pl

    trace = analyzed.facts.trace
    every = np.arange(len(trace))
    categories = pl.Series(trace.categories, dtype=pl.String)[trace.category_id]
    keys: Mapping[str, pl.Series] = {"name": analyzed.facts.name_column(every), "category": categories}
    return members_of(frame, keys, every, trace.duration_ns)


def named_members(facts: Facts, slices: NDArray[np.int64], frame: "pl.DataFrame", column: str = "name") -> Members:
    """Assign slices to rows by their names, which are in a column of a table."""
    return members_of(frame, {column: facts.name_column(slices)}, slices, facts.trace.duration_ns[slices])


def named_places(
    analyzed: AnalyzedTrace, slices: NDArray[np.int64], frame: "pl.DataFrame", column: str = "name"
) -> Places:
    """Return, for each row, the place of the longest of ``slices`` with the row's name in ``column``."""
    return places(analyzed, longest(named_members(analyzed.facts, slices, frame, column), len(frame)).tolist())


def kernels_of(facts: Facts) -> Device:
    """Return the slices that `stepscope.profiler.analysis.kernels.kernels` counts."""
    every = facts.every_device_activity
    return every.where(every.of("kernel", "communication"))


def places(analyzed: AnalyzedTrace, slices: Sequence[int | None], *, named: bool = True) -> Places:
    """Return the places of some slices, with a margin around them; their names are searched for if requested."""
    trace = analyzed.facts.trace
    return tuple(
        None
        if index is None or index < 0
        else Place(*around(*analyzed.span(index)), index, trace.names[int(trace.name_id[index])] if named else "")
        for index in slices
    )
