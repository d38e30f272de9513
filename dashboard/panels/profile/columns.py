"""Tables of analyses as a grid's columns and rows; the functions that columns name are in ``profile/web/index.ts``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, assert_never

from stepscope.dashboard.panels.profile.messages import NameParams
from stepscope.dashboard.panels.profile.rows import total_words, totals
from stepscope.dashboard.panels.profile.table import Table
from stepscope.dashboard.traces.headings import headings
from stepscope.profiler.analysis.records import Format

if TYPE_CHECKING:
    import polars as pl

_WIDTHS: Final[Mapping[Format, int]] = {
    "duration": 84,
    "moment": 84,
    "percent": 76,
    "bytes": 78,
    "count": 66,
    "identity": 66,
    "number": 76,
    "flag": 66,
    "text": 120,
    "label": 120,
    "word": 120,
    "change": 92,
    "change_percent": 100,
}


_TEXTS: Final = ("text", "label", "word")
_BY_TYPE: Final[Mapping[str, tuple[Format, ...]]] = {"text": _TEXTS, "flag": ("flag",)}
"""The formats of values of a type, if not a number."""


def format_of(table: Table, name: str) -> Format:
    """Return the format of a column's values: as declared by its analysis, else determined by its name and type."""
    dtype = table.frame.schema[name]
    known = table.columns[name].format if name in table.columns else None
    usual = usual_format(name, dtype)
    # The format that an analysis declares is used only if it suits the values.
    fits = _BY_TYPE.get(usual, tuple(each for each in _WIDTHS if each not in (*_TEXTS, "flag")))
    if known is not None and known in fits:
        return known
    return "moment" if name in table.moments else usual


def usual_format(column: str, dtype: "pl.DataType") -> Format:
    """Return the default format of a column's values, from its name and type."""
    import polars as pl

    if dtype == pl.Boolean:
        return "flag"
    if not dtype.is_numeric():
        return "text"
    if column.endswith("_ns"):
        return "duration"
    if column.endswith("percent"):
        return "percent"
    if column.endswith("bytes"):
        return "bytes"
    return "count" if dtype.is_integer() else "number"


def columns(table: Table, listed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the grid's columns; ``listed`` are its first rows."""
    linked = any("@at" in row for row in listed)
    sums = totals(table) if table.bars else {}
    known = [name for name in table.columns if name in table.frame.columns]
    order = list(dict.fromkeys([table.first, *known, *table.frame.columns]))
    titles = headings(order, table.columns)
    hidden = {*table.hidden, *(name for name in known if table.columns[name].hidden)}
    empty = _empty(table)
    found = [
        _column(table, name, titles[name], first=name == table.first, whole=sums.get(name), linked=linked)
        | ({"hide": True} if name in empty else {})
        for name in order
        if name not in hidden
    ]
    if any("@spread" in row for row in listed):
        # Beside the number of values in the distribution.
        shown = [column["colId"] for column in found]
        found.insert(1 + next((shown.index(name) for name in _NUMBERED if name in shown), 0), _SPREAD)
    return found


def _empty(table: Table) -> frozenset[str]:
    """Return the columns that are all 0, such as device columns without devices.

    The list of columns can show them.
    """
    import polars as pl

    if table.frame.is_empty():
        return frozenset()
    figures = [
        name
        for name, dtype in table.frame.schema.items()
        if (dtype.is_numeric() or dtype == pl.Boolean)
        and name != table.first
        and format_of(table, name) not in ("identity", "moment")
    ]
    if not figures:
        return frozenset()
    some = table.frame.select((pl.col(name).fill_null(0).cast(pl.Float64) != 0).any() for name in figures).row(0)
    zero = [name for name, any_left in zip(figures, some, strict=True) if not any_left]
    # A table of nothing but zeros shows them.
    return frozenset(zero if len(zero) < len(figures) else ())


_NUMBERED: Final = ("count", "calls")
_SPREAD: Final[dict[str, Any]] = {
    "colId": "@spread",
    "field": "@spread",
    "headerName": "Distribution",
    "headerTooltip": "Histogram of slice durations, from the shortest to the longest in the row, on a log scale; "
    "hover for the numbers",
    "cellRenderer": "ProfileSpread",
    "sortable": False,
    "width": 104,
    "resizable": False,
    "suppressHeaderFilterButton": True,
    # Users do not search for its numbers.
    "getQuickFilterText": {"function": "''"},
}


def _column(table: Table, name: str, title: str, *, first: bool, whole: float | None, linked: bool) -> dict[str, Any]:
    kind = format_of(table, name)
    about = table.columns[name].about if name in table.columns else ""
    column: dict[str, Any] = {
        "colId": name,
        "field": name,
        "headerName": title,
        "headerTooltip": about[:1].upper() + about[1:] or title,
        "minWidth": 64,
    }
    if kind in _TEXTS:
        column |= {"filter": "agTextColumnFilter", "tooltipField": "path" if table.tree and first else name}
        # Texts share the remaining room but take no more than they need: figures stay near their subjects.
        needed = _needed(table, name, title)
        column |= {"flex": 3 if first else 2, "minWidth": min(260 if first else 120, needed), "maxWidth": needed}
        if kind != "text":
            column |= {"flex": 1, "minWidth": min(84, needed)}
        if kind == "word":
            shown = {"function": "params.value && params.value.replaceAll('_', ' ')"}
            column |= {"valueFormatter": shown, "getQuickFilterText": shown}
        if name == "state":
            column["cellClassRules"] = {each: f"params.value === '{each}'" for each in _STATES}
    else:
        width = max(_WIDTHS[kind], 26 + round(6.3 * max(map(len, title.split()))))
        if first:
            most = table.frame[name].abs().max()
            letters = max(len(str(most)), len(title))
            width = max(width, round(letters * _LETTER) + _ROOM[True])
        right = {"type": "rightAligned", "cellClass": f"number ag-right-aligned-cell {kind}"}
        column |= {
            # The subject of a row is on its left.
            **({"cellClass": "number"} if first else right),
            "width": width,
            "filter": "agNumberColumnFilter",
            "sortingOrder": ["desc", "asc", None],
            **_formats(kind, whole),
        }
        if kind != "identity":
            column["cellClassRules"] = column.get("cellClassRules", {}) | {"zero": "params.value === 0"}
    if first:
        column["cellRenderer"] = "ProfileFrame" if table.tree else "ProfileName"
        reported: NameParams = {"linked": linked, "trace": table.trace, "tree": table.groups is not None}
        column["cellRendererParams"] = reported
        if table.groups is not None:
            column["suppressKeyboardEvent"] = {"function": "stepscopeProfileTreeKey(params)"}
            column["getQuickFilterText"] = {"function": "stepscopeProfileTreeText(params)"}
    return column


_LETTER: Final = 6.9
"""Width of a character in a cell."""
_ROOM: Final = (28, 62)
"""Width that a cell needs besides its text; the second is for the first cell, which has the link to the Timeline."""
_WIDEST: Final = 520


def _needed(table: Table, name: str, title: str) -> int:
    """Return the width at which a column shows all its texts, within bounds; longer texts are cut."""
    import polars as pl

    longest = table.frame[name].str.len_chars().fill_null(0)
    if table.tree and name == table.first:
        longest = longest + 2 * table.frame["depth"].cast(pl.UInt32)
    most = longest.max()
    letters = max(most if isinstance(most, int) else 0, len(title) + 2)
    if name == table.first and table.totals:
        letters = max(letters, len(total_words(table)))
    return min(_WIDEST, round(letters * _LETTER) + _ROOM[name == table.first])


_STATES: Final = ("added", "removed", "longer", "shorter", "same")


def _formats(kind: Format, whole: float | None) -> dict[str, Any]:
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
        case "identity":
            return {"valueFormatter": call("stepscopeProfileIdentity")}
        case "number":
            return {
                "valueFormatter": call("stepscopeProfileNumber"),
                "tooltipValueGetter": call("stepscopeProfileExact"),
            }
        case "flag":
            return {"valueFormatter": call("stepscopeProfileFlag"), "filter": "agTextColumnFilter"}
        case "text" | "label" | "word":
            return {}
        case _:
            assert_never(kind)
