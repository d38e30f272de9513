"""The columns of the table of files; the functions that they name are in ``health/web/index.ts``."""

from collections.abc import Sequence
from typing import Any, Final

from stepscope.dashboard.panels.health.messages import FileRow

NUMBER: Final[dict[str, Any]] = {
    "type": "rightAligned",
    "filter": "agNumberColumnFilter",
    "cellClass": "number ag-right-aligned-cell",
    "sortingOrder": ["desc", "asc", None],
}

COLUMNS: Final[list[dict[str, Any]]] = [
    {
        "field": "run", "headerName": "Run", "flex": 6, "minWidth": 156, "tooltipField": "run",
        "cellRenderer": "HealthRun",
    },
    {
        "field": "file", "headerName": "File", "flex": 6, "minWidth": 120, "tooltipField": "path",
        "cellRenderer": "HealthFile",
    },
    {
        "field": "state", "headerName": "State", "flex": 4, "minWidth": 110, "tooltipField": "state",
        "comparator": {"function": "stepscopeByHealth"}, "cellClass": "state",
        "cellClassRules": {name: f"params.data.severity === '{name}'" for name in ("bad", "open", "good")},
    },
    NUMBER | {
        "field": "stretches", "headerName": "Skipped", "width": 62,
        "headerTooltip": "Stretches that could not be read",
        "valueFormatter": {"function": "stepscopeSome(params.value)"},
        "cellClassRules": {"bad": "params.value > 0"},
    },
    NUMBER | {
        "field": "skipped", "headerName": "Bytes skipped", "width": 94,
        "headerTooltip": "Total length of those stretches",
        "valueFormatter": {"function": "stepscopeSkipped(params.value)"},
        "tooltipValueGetter": {"function": "stepscopeExactBytes(params.value)"},
        "cellClassRules": {"bad": "params.value > 0"},
    },
    NUMBER | {
        "field": "superseded", "headerName": "Superseded", "width": 86,
        "headerTooltip": "Points that a restart of the run overwrote",
        "valueFormatter": {"function": "stepscopeSome(params.value)"},
        "cellClassRules": {"note": "params.value > 0"},
    },
    NUMBER | {
        "field": "modified", "headerName": "Last written", "width": 88,
        "headerTooltip": "When something was last written to the file",
        "valueFormatter": {"function": "stepscopeWritten(params.value)"},
        "tooltipValueGetter": {"function": "stepscopeMoment(params.value)"},
    },
    NUMBER | {
        "field": "records", "headerName": "Records", "width": 68,
        "valueFormatter": {"function": "stepscopeCount(params.value)"},
    },
    NUMBER | {
        "field": "read", "headerName": "Read", "width": 66, "headerTooltip": "How far the file was read",
        "valueFormatter": {"function": "stepscopeBytes(params.value)"},
        "tooltipValueGetter": {"function": "stepscopeExactBytes(params.value)"},
    },
    NUMBER | {
        "field": "size", "headerName": "Size", "width": 66,
        "valueFormatter": {"function": "stepscopeBytes(params.value)"},
        "tooltipValueGetter": {"function": "stepscopeExactBytes(params.value)"},
    },
]  # fmt: skip


def columns(rows: Sequence[FileRow]) -> list[dict[str, Any]]:
    """Return the columns for some rows; the column of overwritten points is hidden if there are none, to leave room for
    names.
    """
    superseded = any(row["superseded"] for row in rows)
    return [column | {"hide": column["field"] == "superseded" and not superseded} for column in COLUMNS]


DEFAULT_COLUMN: Final[dict[str, Any]] = {
    "sortable": True,
    "resizable": True,
    "filter": "agTextColumnFilter",
    "suppressHeaderMenuButton": True,
}

ROW_CLASSES: Final[dict[str, str]] = {"lost": "params.data.severity === 'bad'"}

GRID_OPTIONS: Final[dict[str, Any]] = {
    "theme": {"function": "stepscopeGridTheme(themeQuartz)"},
    "rowHeight": 28,
    "headerHeight": 30,
    "animateRows": False,
    "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
    "suppressMovableColumns": True,
    "suppressColumnMoveAnimation": True,
    "tooltipShowDelay": 400,
    "localeText": {"noRowsToShow": "No files", "noMatchingRows": "No file matches the column filters"},
}
