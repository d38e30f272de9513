"""Tables whose rows represent slices of the trace and link to them: operators, slices and kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from stepscope.dashboard.panels.profile import slices
from stepscope.dashboard.panels.profile.settings import KEYS, PageRequest
from stepscope.dashboard.panels.profile.table import Groups, Table
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.kernels import KernelKey, kernel_key, kernels
from stepscope.profiler.analysis.operators import Key, columns_by, operators
from stepscope.profiler.analysis.records import Column
from stepscope.profiler.analysis.report import analyses
from stepscope.profiler.analysis.slices import slices_by_category

if TYPE_CHECKING:
    import polars as pl

GroupedEvidence = tuple[slices.Evidence, Groups | None]
"""Where the slices of each row are, and the groups of the rows."""


def operator_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return operators, grouped by the requested keys; with several keys, rows are grouped by the first."""
    frame = _operators(analyzed, requested.by)

    def work_out() -> GroupedEvidence:
        members = slices.operator_members(analyzed, frame, requested.by)
        found = slices.evidence_of(members, len(frame), named="name" in requested.by)
        if len(requested.by) == 1:
            return found, None
        first = requested.by[0]
        groups = _operators(analyzed, (first,))
        of = _numbers(groups, first, frame[first].to_list())
        return found, slices.groups_of(analyzed, groups, of, members, same=first == "name", alone=False)

    evidence = analyzed.kept(("operator evidence", requested.by), "their calls", work_out)
    columns = {column.name: column for column in columns_by(requested.by)}
    return _with_evidence(analyzed, "operators", frame, evidence, columns)


def _operators(analyzed: AnalyzedTrace, by: tuple[Key, ...]) -> "pl.DataFrame":
    what = "operators by " + ", ".join(KEYS[key].lower() for key in by)
    if by == ("name",):
        # The overview already has these.
        return analyzed.table("operators")
    return analyzed.kept(("operators", by), what, lambda: operators(analyzed.facts, by=by))


def _numbers(groups: "pl.DataFrame", column: str, labels: Sequence[str]) -> list[int]:
    """Return, for each label, the number of the group that has it."""
    known = {label: number for number, label in enumerate(groups[column].to_list())}
    return [known[label] for label in labels]


def slice_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return all slices by name, grouped by category if requested."""
    frame = analyzed.table("slices")
    by_category = requested.grouping == "category"

    def work_out() -> GroupedEvidence:
        members = slices.slice_members(analyzed, frame)
        found = slices.evidence_of(members, len(frame))
        if not by_category:
            return found, None
        groups = slices_by_category(frame)
        of = _numbers(groups, "category", frame["category"].to_list())
        return found, slices.groups_of(analyzed, groups, of, members, same=False, alone=True)

    evidence = analyzed.kept(("slice evidence", by_category), "the slices of each name", work_out)
    table = _with_evidence(analyzed, "slices", frame, evidence)
    return replace(table, hidden=("category",)) if by_category else table


def kernel_table(analyzed: AnalyzedTrace, requested: PageRequest) -> Table:
    """Return kernels by name, grouped by stem or by category if requested."""
    frame = analyzed.table("kernels")
    by: KernelKey = "name" if requested.grouping == "none" else requested.grouping

    def work_out() -> GroupedEvidence:
        members = slices.kernel_members(analyzed, frame)
        found = slices.evidence_of(members, len(frame))
        if by == "name":
            return found, None
        groups = kernels(analyzed.facts, by=by)
        of = _numbers(groups, "name", [kernel_key(name, by) for name in frame["name"].to_list()])
        return found, slices.groups_of(analyzed, groups, of, members, same=False, alone=by == "category")

    evidence = analyzed.kept(("kernel evidence", by), "their calls", work_out)
    return _with_evidence(analyzed, "kernels", frame, evidence)


def _with_evidence(
    analyzed: AnalyzedTrace,
    name: str,
    frame: "pl.DataFrame",
    evidence: GroupedEvidence,
    columns: Mapping[str, Column] | None = None,
) -> Table:
    analysis = analyses("trace")[name]
    found, groups = evidence
    return Table(
        name=name,
        title=analysis.title,
        about=analysis.description,
        frame=frame,
        empty=analysis.empty,
        totals=analysis.totals,
        columns=analysis.by_name if columns is None else columns,
        at=partial(found.at, analyzed),
        trace=analyzed.source.id,
        start_ns=analyzed.start_ns,
        spread=found.spread,
        groups=groups,
    )
