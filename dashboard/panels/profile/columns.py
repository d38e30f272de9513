"""Tables of analyses as a grid's columns and rows; ``profile/web/index.ts`` has the functions that the columns name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

from stepscope.dashboard.panels.profile.messages import NameParams
from stepscope.dashboard.panels.profile.rows import totals
from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.traces.headings import headings

if TYPE_CHECKING:
    import polars as pl

HIDDEN: Final = frozenset({"slice", "depth", "path"})
"""Columns that other columns show."""
ABOUT: Final[Mapping[str, str]] = {
    "self_ns": "Own time, without nested slices",
    "host_self_ns": "Time on the host without that of the operators it calls and of its runtime calls",
    "host_total_ns": "Time on the host with all it calls; nested operators count in both, so it does not add up",
    "device_self_ns": "Time on the device of what the operator itself launched",
    "device_total_ns": "Time on the device with what the operators it calls launched",
    "tensor_core_eligible": "Whether the operator could use tensor cores",
    "tensor_core_self_percent": "Share of its own device time in kernels that use tensor cores",
    "tensor_core_total_percent": "Share of its total device time in kernels that use tensor cores",
    "tensor_cores": "Whether the kernel uses tensor cores, by its name",
    "blocks_per_sm": "Mean, weighted by duration; below 1, multiprocessors stay empty",
    "occupancy_percent": "Estimated achieved occupancy: mean, weighted by duration",
    "start_ns": "Since the beginning of the trace, as on the Timeline",
    "end_ns": "Since the beginning of the trace; empty for what the trace does not show freed",
    "time_ns": "Since the beginning of the trace, as on the Timeline",
    "delay_p95_ns": "95th percentile of the delay from a launch's end to its activity's start",
    "full_ns": "Time with at least 1024 pending launches, in which launches block",
    "peak_bytes": "Alive when the device's memory was at its peak",
    "kept_bytes": "Still alive when the trace ends",
    "caused_waiting_ns": "How long the others waited for this rank",
    "waiting_ns": "What a rank's collectives took beyond the fastest rank's",
    "transfer_ns": "What the fastest rank needed for the same collectives",
    "count_before": "How often, in the earlier trace; a mean where it is per step",
    "count_after": "How often, in the later trace; a mean where it is per step",
    "intensity": "FLOPs per byte",
    "change_ns": "After less before",
    "accelerator_ns": "Time on streams of devices",
    "gap_ns": "Idle time",
}

ORDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "kernels": (
        "count",
        "total_ns",
        "percent",
        "mean_ns",
        "min_ns",
        "max_ns",
        "std_ns",
        "blocks_per_sm",
        "occupancy_percent",
    ),
}
"""Columns that come next, where a table has another order than its analysis."""
NUMBERS_OF: Final = frozenset({"rank", "step", "number", "device", "stream", "worst_step"})
"""Numbers that name something: 0 is one of them, and not nothing."""
SHORT_TEXTS: Final = frozenset(
    {
        "state",
        "direction",
        "memory",
        "kind",
        "bound",
        "bound_by",
        "cause",
        "device",
        "work",
        "op",
        "checker",
        "category",
    }
)

Kind = Literal["duration", "moment", "percent", "bytes", "count", "number", "flag", "text", "change", "change_percent"]
_WIDTHS: Final[Mapping[Kind, int]] = {
    "duration": 84,
    "moment": 84,
    "percent": 76,
    "bytes": 78,
    "count": 66,
    "number": 76,
    "flag": 66,
    "text": 120,
    "change": 92,
    "change_percent": 100,
}


def kind_of(column: str, dtype: "pl.DataType") -> Kind:
    """Return what the values of a column are, by its name and type."""
    import polars as pl

    if dtype == pl.String:
        return "text"
    if dtype == pl.Boolean:
        return "flag"
    if column == "change_ns":
        return "change"
    if column == "change_percent":
        return "change_percent"
    if column.endswith("_ns"):
        return "duration"
    if column.endswith("percent"):
        return "percent"
    if column.endswith("bytes"):
        return "bytes"
    return "count" if dtype.is_integer() else "number"


def columns(table: Table) -> list[dict[str, Any]]:
    """Return the grid's columns."""
    sums = totals(table) if table.bars else {}
    order = list(dict.fromkeys([table.first, *ORDERS.get(table.name, ()), *table.frame.columns]))
    titles = headings(order)
    empty = _empty(table)
    found = [
        _column(table, name, titles[name], first=name == table.first, whole=sums.get(name))
        | ({"hide": True} if name in empty else {})
        for name in order
        if name not in (*HIDDEN, *table.hidden)
    ]
    if table.spread is not None and (table.spread.counts.sum(axis=1) > 1).any():
        # Beside the number of what is distributed.
        shown = [column["colId"] for column in found]
        found.insert(1 + next((shown.index(name) for name in _NUMBERED if name in shown), 0), _SPREAD)
    return found


def _empty(table: Table) -> frozenset[str]:
    """Return columns that are 0 throughout, as those of devices where there are none: the list of columns can show
    them.
    """
    import polars as pl

    if table.frame.is_empty():
        return frozenset()
    figures = [
        name
        for name, dtype in table.frame.schema.items()
        if (dtype.is_numeric() or dtype == pl.Boolean) and name not in (*NUMBERS_OF, *table.moments, table.first)
    ]
    some = table.frame.select((pl.col(name).fill_null(0).cast(pl.Float64) != 0).any() for name in figures).row(0)
    zero = [name for name, any_left in zip(figures, some, strict=True) if not any_left]
    # A table of nothing but zeros says that.
    return frozenset(zero if len(zero) < len(figures) else ())


_NUMBERED: Final = ("count", "calls")
_SPREAD: Final[dict[str, Any]] = {
    "colId": "@spread",
    "field": "@spread",
    "headerName": "Distribution",
    "headerTooltip": "How many slices are how long, from the shortest to the longest of the row, logarithmically; "
    "hover for the numbers",
    "cellRenderer": "ProfileSpread",
    "sortable": False,
    "width": 104,
    "resizable": False,
    "suppressHeaderFilterButton": True,
    # Its numbers are not what somebody searches for.
    "getQuickFilterText": {"function": "''"},
}


def _column(table: Table, name: str, title: str, *, first: bool, whole: float | None) -> dict[str, Any]:
    kind = "moment" if name in table.moments else kind_of(name, table.frame.schema[name])
    column: dict[str, Any] = {
        "colId": name,
        "field": name,
        "headerName": title,
        "headerTooltip": ABOUT.get(name, title),
        "minWidth": 64,
    }
    if kind == "text":
        column |= {"filter": "agTextColumnFilter", "tooltipField": "path" if table.tree and first else name}
        # Texts share what room is left, but take no more than they need: figures stay near what they are of.
        needed = _needed(table, name, title)
        column |= {"flex": 3 if first else 2, "minWidth": min(260 if first else 120, needed), "maxWidth": needed}
        if name in SHORT_TEXTS:
            column |= {"flex": 1, "minWidth": min(84, needed)}
        if name in _NAMED:
            shown = {"function": "params.value && params.value.replaceAll('_', ' ')"}
            column |= {"valueFormatter": shown, "getQuickFilterText": shown}
        if name == "state":
            column["cellClassRules"] = {each: f"params.value === '{each}'" for each in _STATES}
    else:
        width = max(_WIDTHS[kind], 26 + round(6.3 * max(map(len, title.split()))))
        right = {"type": "rightAligned", "cellClass": f"number ag-right-aligned-cell {kind}"}
        column |= {
            # What a row is of stands at its left.
            **({"cellClass": "number"} if first else right),
            "width": width,
            "filter": "agNumberColumnFilter",
            "sortingOrder": ["desc", "asc", None],
            **_formats(kind, whole),
        }
        if name not in NUMBERS_OF:
            column["cellClassRules"] = column.get("cellClassRules", {}) | {"zero": "params.value === 0"}
    if first:
        column["cellRenderer"] = "ProfileFrame" if table.tree else "ProfileName"
        reported: NameParams = {"linked": any(table.at), "trace": table.trace, "tree": table.groups is not None}
        column["cellRendererParams"] = reported
        if table.groups is not None:
            column["suppressKeyboardEvent"] = {"function": "stepscopeProfileTreeKey(params)"}
            column["getQuickFilterText"] = {"function": "stepscopeProfileTreeText(params)"}
    return column


_LETTER: Final = 6.9
"""Width of a letter in a cell."""
_ROOM: Final = (28, 62)
"""Width of a cell beside its text, and of the first one, which has the way to the Timeline."""
_WIDEST: Final = 520
_NAMED: Final = frozenset({"cause", "bound", "bound_by", "checker", "kind", "work"})
"""Columns of names that the analyses give, which are words."""


def _needed(table: Table, name: str, title: str) -> int:
    """Return how wide a column of texts is that shows all of them, within bounds; a longer text is cut."""
    import polars as pl

    longest = table.frame[name].str.len_chars().fill_null(0)
    if table.tree and name == table.first:
        longest = longest + 2 * table.frame["depth"].cast(pl.UInt32)
    most = longest.max()
    letters = max(most if isinstance(most, int) else 0, len(title) + 2)
    return min(_WIDEST, round(letters * _LETTER) + _ROOM[name == table.first])


_STATES: Final = ("added", "removed", "longer", "shorter", "same")


def _formats(kind: Kind, whole: float | None) -> dict[str, Any]:
    def call(name: str, *more: object) -> dict[str, str]:
        return {"function": f"{name}({', '.join(['params.value', *map(str, more)])})"}

    def bar(most: float) -> dict[str, Any]:
        return {"cellStyle": {"function": f"stepscopeProfileBar(params, {most!r})"}}

    match kind:
        case "duration" | "moment":
            formats = {"valueFormatter": call("stepscopeProfileTime"), "tooltipValueGetter": call("stepscopeProfileNs")}
            return formats | (bar(whole) if whole else {})
        case "bytes":
            formats = {
                "valueFormatter": call("stepscopeProfileSize"),
                "tooltipValueGetter": call("stepscopeProfileBytes"),
            }
            return formats | (bar(whole) if whole else {})
        case "percent":
            return {
                "valueFormatter": call("stepscopeProfilePercent"),
                "tooltipValueGetter": call("stepscopeProfileExact"),
            } | bar(100.0)
        case "change":
            return {
                "valueFormatter": call("stepscopeProfileTime", "true"),
                "tooltipValueGetter": call("stepscopeProfileNs"),
                "cellClassRules": {"more": "params.value > 0", "less": "params.value < 0"},
                "comparator": {"function": "stepscopeProfileBySize"},
            }
        case "change_percent":
            return {
                "valueFormatter": call("stepscopeProfilePercent", "true"),
                "tooltipValueGetter": call("stepscopeProfileExact"),
                "cellClassRules": {"more": "params.value > 0", "less": "params.value < 0"},
            }
        case "count":
            return {"valueFormatter": call("stepscopeProfileCount")}
        case "number":
            return {
                "valueFormatter": call("stepscopeProfileNumber"),
                "tooltipValueGetter": call("stepscopeProfileExact"),
            }
        case "flag":
            return {"valueFormatter": call("stepscopeProfileFlag"), "filter": "agTextColumnFilter"}
        case "text":
            return {}
        case _:
            assert_never(kind)
