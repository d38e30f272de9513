"""Which pages have content for a trace, and why the others do not.

Only cheap checks are made: pages that turn out to be empty nevertheless say so themselves.
"""

from collections.abc import Mapping
from typing import Any, Final

from stepscope.dashboard.panels.profile.analysis_tables import is_step_stats
from stepscope.dashboard.panels.profile.settings import PAGES, Page
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace
from stepscope.profiler.analysis.code import has_stacks
from stepscope.profiler.analysis.reasons import (
    NO_COPIES,
    NO_DEVICE,
    NO_FLOPS,
    NO_MEMORY,
    NO_OPERATORS,
    NO_STACKS,
    NO_STEP_STATS,
)
from stepscope.profiler.analysis.report import OTHERS
from stepscope.profiler.analysis.roofline import has_flops

LOADERS: Final = "PyTorch's DataLoader is recognized by name; mark others with stepscope.profiler.data_loading()."
"""How data loading is recognized."""
NO_LOADING: Final = f"No data loading found. {LOADERS}"
NO_RANKS: Final = "Only one rank: add traces of the other ranks to its folder, or choose them on the page."
NO_OTHER: Final = "Only one trace: there is nothing to compare it with."


def shown_pages(absent: Mapping[Page, str], current: Page) -> list[dict[str, str]]:
    """Return the pages to choose from: those with content, and the open one, in order."""
    return [
        {"value": page, "label": label}
        for page, label in PAGES.items()
        if page == current or (page not in absent and (page != "plugins" or has_plugins()))
    ]


def has_plugins() -> bool:
    """Return whether other distributions have analyses of a trace; if not, their page is not mentioned."""
    return any(analysis.of == "trace" for analysis in OTHERS.records())


def absent_pages(analyzed: AnalyzedTrace, workers: int, traces: int) -> dict[Page, str]:
    """Return the pages without content, and why they have none.

    Args:
        analyzed: the open trace.
        workers: the number of traces in its folder.
        traces: the number of all traces.
    """
    found = analyzed.kept("pages", "which pages have something to show", lambda: _of_trace(analyzed))
    together: dict[Page, str] = {"ranks": "" if workers > 1 else NO_RANKS, "diff": "" if traces > 1 else NO_OTHER}
    reasons = found | together
    return {page: reasons[page] for page in PAGES if reasons.get(page)}


def _of_trace(analyzed: AnalyzedTrace) -> dict[Page, str]:
    facts = analyzed.facts
    every = facts.every_device_activity
    stats = is_step_stats(analyzed)
    return {
        "operators": _unless(len(facts.operator_slices), NO_OPERATORS),
        "kernels": _unless(every.of("kernel", "communication").any(), NO_DEVICE),
        "copies": _unless(every.of("memcpy", "memset").any(), NO_COPIES),
        "idle": _unless(len(every.slice), NO_DEVICE),
        "memory": _unless(len(analyzed.table("memory")), NO_MEMORY),
        "input": _unless(len(facts.slices("data_loading")), NO_LOADING),
        "code": _unless(has_stacks(facts), NO_STACKS),
        "roofline": _unless(has_flops(facts), NO_FLOPS),
        "tfprof": _unless(stats, NO_STEP_STATS),
    }


def _unless(there: Any, reason: str) -> str:
    return "" if there else reason
