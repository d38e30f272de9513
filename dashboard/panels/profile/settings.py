"""URL parameters of the Profile panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import quote, unquote

from stepscope.dashboard.page.state import Setting, View, choice, number, text
from stepscope.profiler.analysis.compare import Per, What
from stepscope.profiler.analysis.operators import Key
from stepscope.profiler.analysis.tfprof import View as TfprofView

Page = Literal[
    "overview",
    "operators",
    "slices",
    "kernels",
    "copies",
    "idle",
    "memory",
    "path",
    "input",
    "code",
    "tfprof",
    "roofline",
    "ranks",
    "diff",
    "plugins",
]
"""One of the panel's views. ("View" is what the whole page shows.)"""
PAGES: Final[Mapping[Page, str]] = {
    "overview": "Overview",
    "operators": "Operators",
    "kernels": "Kernels",
    "memory": "Memory",
    "input": "Input",
    "idle": "Idle",
    "path": "Critical path",
    "roofline": "Roofline",
    "copies": "Copies",
    "slices": "Slices",
    "code": "Code",
    "ranks": "Distributed",
    "diff": "Diff",
    "tfprof": "tfprof",
    "plugins": "From plug-ins",
}
"""In order of use."""
Grouping = Literal["none", "stem", "category"]
"""How the rows of a table are grouped."""
GROUPINGS: Final[Mapping[Page, Mapping[Grouping, str]]] = {
    "kernels": {"none": "None", "stem": "Name stem", "category": "Category"},
    "slices": {"none": "None", "category": "Category"},
}
KEYS: Final[Mapping[Key, str]] = {
    "name": "Name",
    "shape": "Shape",
    "stack": "Stack",
    "module": "Module",
    "annotation": "Annotation",
    "op_type": "Op type",
}
TFPROF_VIEWS: Final[Mapping[TfprofView, str]] = {"scope": "Scope", "graph": "Graph", "op": "Op type"}
CHANGES: Final[Mapping[What, str]] = {"steps": "Steps", "operators": "Operators", "kernels": "Kernels"}

PERS: Final[Mapping[Per, str]] = {"step": "Per step", "call": "Per call", "total": "Totals"}
"""What is compared: a mean step, a mean call, or all of both traces."""


def _one_of(name: str, default: str, options: Sequence[str]) -> Setting[str]:
    """Return a choice that depends on the data, so that the browser does not remember it."""
    return replace(choice(name, default, options), personal=False)


def _keys(raw: Sequence[str]) -> tuple[Key, ...]:
    chosen = raw[-1].split(",")
    known: tuple[Key, ...] = tuple(key for key in KEYS if key in chosen)
    if not known:
        raise ValueError(f"profile.by is {raw[-1]!r}, expected one or more of {', '.join(KEYS)}")
    return known


def without_comma(trace_id: str) -> str:
    """Return a trace's id, quoted for a comma-separated list."""
    return quote(trace_id, safe="/|: ")


PAGE: Final = _one_of("profile.view", "overview", tuple(PAGES))
TRACE: Final = text("profile.trace", "")
"""Id of the trace; empty for the newest."""
BY: Final[Setting[tuple[Key, ...]]] = Setting("profile.by", ("name",), _keys, lambda value: (",".join(value),))
"""Keys that operators are grouped by, separated by commas."""
GROUP: Final = _one_of("profile.group", "none", get_args(Grouping))
ROW: Final = text("profile.row", "")
"""Name of the selected row, in whichever table of the page; empty for none."""
DEVICE: Final = text("profile.device", "")
"""The device whose memory is shown; empty for the one that holds the most."""
TFPROF: Final = _one_of("profile.tfprof", "scope", get_args(TfprofView))
RANKS: Final[Setting[tuple[str, ...]]] = Setting(
    "profile.ranks",
    (),
    lambda raw: tuple(unquote(part) for part in raw[-1].split(",") if part),
    lambda value: (",".join(map(without_comma, value)),),
)
"""Ids of the traces of one job; empty for those beside the open one."""
ONLY_RANKS: Final = text("profile.only_ranks", "")
"""The ranks that are shown: numbers, ranges and names of hosts and groups, separated by commas; empty for all."""
ONLY_STEPS: Final = text("profile.only_steps", "")
"""The first and the last step on the map of ranks, such as "3-7"; empty for all."""
RANKS_BY: Final = text("profile.ranks_by", "rank")
"""How ranks are divided, by host or by process group; "rank" for not at all."""
BEFORE: Final = text("profile.before", "")
"""Id of the trace to compare with."""
CHANGED: Final = _one_of("profile.changed", "operators", get_args(What))
PER: Final = _one_of("profile.per", "step", get_args(Per))
PEAK_TFLOPS: Final = number("profile.tflops", 0, 0, 1e6)
"""The device's peak in TFLOP/s; 0 if unknown."""
PEAK_GBPS: Final = number("profile.gbps", 0, 0, 1e6)
"""The peak bandwidth of the device's memory in GB/s; 0 if unknown."""
SETTINGS: Final[tuple[Setting[Any], ...]] = (
    PAGE,
    TRACE,
    BY,
    GROUP,
    ROW,
    DEVICE,
    TFPROF,
    RANKS,
    ONLY_RANKS,
    ONLY_STEPS,
    RANKS_BY,
    BEFORE,
    CHANGED,
    PER,
    PEAK_TFLOPS,
    PEAK_GBPS,
)


@dataclass(frozen=True)
class PageRequest:
    """A request for a page of the panel."""

    page: Page
    trace: str
    by: tuple[Key, ...]
    group: Grouping
    row: str
    device: str
    tfprof: TfprofView
    ranks: tuple[str, ...]
    only_ranks: str
    only_steps: str
    ranks_by: str
    before: str
    changed: What
    per: Per
    peak_tflops: float
    peak_gbps: float

    @classmethod
    def of(cls, view: View) -> "PageRequest":
        """Return the request of a view."""
        return cls(
            page=cast(Page, PAGE.of(view)),
            trace=TRACE.of(view),
            by=BY.of(view),
            group=cast(Grouping, GROUP.of(view)),
            row=ROW.of(view),
            device=DEVICE.of(view),
            tfprof=cast(TfprofView, TFPROF.of(view)),
            ranks=RANKS.of(view),
            only_ranks=ONLY_RANKS.of(view),
            only_steps=ONLY_STEPS.of(view),
            ranks_by=RANKS_BY.of(view),
            before=BEFORE.of(view),
            changed=cast(What, CHANGED.of(view)),
            per=cast(Per, PER.of(view)),
            peak_tflops=PEAK_TFLOPS.of(view),
            peak_gbps=PEAK_GBPS.of(view),
        )

    def relevant(self) -> tuple[object, ...]:
        """Return only the settings that this page depends on, so that the others change nothing."""
        extra: dict[Page, tuple[object, ...]] = {
            "operators": self.by,
            "kernels": (self.grouping,),
            "slices": (self.grouping,),
            "memory": (self.device,),
            "tfprof": (self.tfprof,),
            "roofline": (self.peak_tflops, self.peak_gbps),
            "ranks": (self.ranks, self.only_ranks, self.only_steps, self.ranks_by),
            "diff": (self.before, self.changed, self.per),
        }
        return (self.page, self.trace, self.row, *extra.get(self.page, ()))

    def for_tables(self) -> tuple[object, ...]:
        """Return only the settings that the tables of this page depend on."""
        charts = {"ranks": replace(self, ranks_by=RANKS_BY.default, only_steps=ONLY_STEPS.default)}
        return charts.get(self.page, self).relevant()

    @property
    def grouping(self) -> Grouping:
        """How this page's rows are grouped; "none" if the page does not offer the chosen grouping."""
        return self.group if self.group in GROUPINGS.get(self.page, {}) else "none"
