"""Evidence for a finding's metric: the page and row with its figures, and the slice on the Timeline."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stepscope.dashboard.panels.profile.links import page_link, timeline_link
from stepscope.dashboard.panels.profile.settings import PAGES, Page
from stepscope.dashboard.panels.profile.slices import places
from stepscope.dashboard.panels.profile.table import Place, around, places_of
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.classify import Kind
from stepscope.profiler.analysis.idle import CAUSES, idle_gaps
from stepscope.profiler.analysis.queue import launch_delays

if TYPE_CHECKING:
    import polars as pl

EVIDENCE_PAGES: Final[Mapping[str, Page]] = {
    "dataloader": "input",
    "gpu_utilization": "idle",
    "host_wait": "idle",
    "short_kernels": "kernels",
    "runtime": "slices",
    "communication": "idle",
    "communication_overlap": "idle",
    "sm_efficiency": "kernels",
    "memcpy": "copies",
    "tensor_cores": "operators",
    "memory_peak": "memory",
}
"""The page whose tables show a finding's metric; other metrics are on the overview itself."""


def evidence_links(analyzed: AnalyzedTrace, metric: str) -> list[Any]:
    """Return links to the evidence for a finding: a page, with a row if one stands out, and a place on the Timeline."""
    links: list[Any] = []
    page = EVIDENCE_PAGES.get(metric)
    if page is not None:
        row = _row(analyzed, metric)
        words = f"See {PAGES[page]}" + (f": {_short(row)}" if row else "")
        links.append(page_link(page, analyzed.source.id, words, row))
    find = _PLACES.get(metric)
    links += [timeline_link(analyzed.source.id, place, words) for words, place in find(analyzed)] if find else []
    return links


def _short(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


def _row(analyzed: AnalyzedTrace, metric: str) -> str:
    """Return the row that stands out on the page of a metric; "" if none does."""
    import polars as pl

    match metric:
        case "short_kernels":
            short = launch_delays(analyzed.facts).filter(pl.col("duration_ns") < pl.col("call_ns"))
            return _first(short.group_by("name", maintain_order=True).len().sort("len", descending=True))
        case "sm_efficiency":
            return _first(analyzed.table("kernels").filter(pl.col("blocks_per_sm") < 1))
        case "tensor_cores":
            return _first(analyzed.table("operators").filter("tensor_core_eligible"))
        case _:
            return ""


def _first(frame: "pl.DataFrame") -> str:
    return str(frame["name"][0]) if len(frame) else ""


Found = Iterator[tuple[str, Place | None]]


def _longest(words: str, *kinds: Kind, on_device: bool) -> Callable[[AnalyzedTrace], Found]:
    """Return a function that finds the longest slice of some kinds."""

    def find(analyzed: AnalyzedTrace) -> Found:
        slices = analyzed.facts.slices(*kinds, on_device=on_device)
        if len(slices):
            index = int(slices[analyzed.facts.trace.duration_ns[slices].argmax()])
            yield words, places(analyzed, [index])[0]

    return find


def _slowest_step(analyzed: AnalyzedTrace) -> Found:
    slowest = analyzed.table("steps").top_k(1, by=("total_ns", "start_ns"), reverse=(False, True))
    for place, step in zip(
        places_of(slowest, "start_ns", "total_ns", analyzed.start_ns), slowest["step"].to_list(), strict=True
    ):
        yield f"Show step {step} on the Timeline", place


def _longest_gap(analyzed: AnalyzedTrace) -> Found:
    gaps = idle_gaps(analyzed.facts, of="device")
    if len(gaps.start):
        yield _gap(analyzed, "Show the longest time without work on the Timeline", gaps, int(gaps.duration.argmax()))


def _longest_host_wait(analyzed: AnalyzedTrace) -> Found:
    gaps = idle_gaps(analyzed.facts)
    late = np.flatnonzero(gaps.cause == CAUSES.index("host_wait"))
    if len(late):
        index = int(late[gaps.duration[late].argmax()])
        yield _gap(analyzed, "Show the longest wait on the Timeline", gaps, index)


def _gap(analyzed: AnalyzedTrace, words: str, gaps: Any, index: int) -> tuple[str, Place]:
    start, end = int(gaps.start[index]) - analyzed.start_ns, int(gaps.end[index]) - analyzed.start_ns
    return words, Place(*around(start, end), int(gaps.slice[index]))


def _peak(analyzed: AnalyzedTrace) -> Found:
    highest = analyzed.table("memory").top_k(1, by=("peak_bytes", "device"), reverse=(False, True))
    for time in highest["time_ns"].to_list():
        room = max(1_000, analyzed.facts.steps[0].duration_ns // 20) if analyzed.facts.steps else 1_000
        yield (
            "Show that moment on the Timeline",
            Place(time - analyzed.start_ns - room, time - analyzed.start_ns + room),
        )


_PLACES: Final[Mapping[str, Callable[[AnalyzedTrace], Found]]] = {
    "dataloader": _longest("Show the longest wait for data on the Timeline", "data_loading", on_device=False),
    "gpu_utilization": _longest_gap,
    "host_wait": _longest_host_wait,
    "communication": _longest("Show the longest collective on the Timeline", "communication", on_device=True),
    "communication_overlap": _longest("Show the longest collective on the Timeline", "communication", on_device=True),
    "memcpy": _longest("Show the longest copy on the Timeline", "memcpy", on_device=True),
    "memory_peak": _peak,
    "step_time_spread": _slowest_step,
}
"""For each metric, the place on the Timeline that shows it best, with the text of the link."""
