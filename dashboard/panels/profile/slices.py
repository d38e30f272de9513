"""The slices that rows of tables stand for: where the longest of each is, and how long all of them took."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.profile.table import MOST_ROWS, Groups, Place, Places, around
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.facts import Device, Facts
from stepscope.profiler.analysis.kernels import KernelKey, kernel_key
from stepscope.profiler.analysis.members import Histograms, Members, histograms, longest, members_of
from stepscope.profiler.analysis.memcpys import each_copy
from stepscope.profiler.analysis.operators import Key, key_texts, operator_calls

if TYPE_CHECKING:
    import polars as pl


class Evidence(NamedTuple):
    """What is behind the rows of a table: for each of those that the page gets, and for the groups of all."""

    at: Places
    spread: Histograms
    members: Members


def evidence_of(analyzed: AnalyzedTrace, members: Members, rows: int, names: Sequence[str] | None = None) -> Evidence:
    """Return where the first ``rows`` rows are, and their distributions.

    Args:
        analyzed: the trace.
        members: the slices with their rows.
        rows: how many rows there are; those that the page does not get are left out.
        names: what a row's slices are all called, "" where they have no name in common; by default, each row's slices
            have one name.
    """
    shown = min(rows, MOST_ROWS)
    at = places(analyzed, longest(members, shown).tolist(), named=names is None)
    if names is not None:
        at = tuple(
            None if place is None else place._replace(search=name) for place, name in zip(at, names, strict=False)
        )
    return Evidence(at, histograms(members, shown), members)


def groups_of(
    analyzed: AnalyzedTrace, frame: "pl.DataFrame", of: Sequence[int], members: Members, *, same: bool, alone: bool
) -> Groups:
    """Return rows put together in groups.

    Args:
        analyzed: the trace.
        frame: the groups.
        of: for each row the group that it is in.
        members: the slices of the rows.
        same: whether all slices of a group have one name.
        alone: as `Groups.alone`.
    """
    grouped = members.grouped(np.array(of, np.int64))
    found = evidence_of(analyzed, grouped, len(frame), None if same else [""] * len(frame))
    return Groups(frame, tuple(of), found.at, found.spread, alone)


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
    """Return some slices by their names, which a column of a table has."""
    return members_of(frame, {column: facts.name_column(slices)}, slices, facts.trace.duration_ns[slices])


def named_places(
    analyzed: AnalyzedTrace, slices: NDArray[np.int64], frame: "pl.DataFrame", column: str = "name"
) -> Places:
    """Return where the longest of some slices is whose name each row has in a column."""
    shown = frame.head(MOST_ROWS)
    return places(analyzed, longest(named_members(analyzed.facts, slices, shown, column), len(shown)).tolist())


def kernels_of(facts: Facts) -> Device:
    """Return what `stepscope.profiler.analysis.kernels.kernels` counts."""
    every = facts.every_device_activity
    return every.where(every.of("kernel", "communication"))


def places(analyzed: AnalyzedTrace, slices: Sequence[int | None], *, named: bool = True) -> Places:
    """Return where some slices are, with room around them; their names are searched for if requested."""
    trace = analyzed.facts.trace
    return tuple(
        None
        if index is None or index < 0
        else Place(*around(*analyzed.span(index)), index, trace.names[int(trace.name_id[index])] if named else "")
        for index in slices
    )
