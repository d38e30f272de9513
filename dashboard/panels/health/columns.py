"""The columns of the table of files; ``assets/health.js`` has the functions they name."""

from typing import Any, Final

NUMBER: Final[dict[str, Any]] = {
    "type": "rightAligned",
    "filter": "agNumberColumnFilter",
    "cellClass": "number ag-right-aligned-cell",
    "sortingOrder": ["desc", "asc", None],
}

COLUMNS: Final[list[dict[str, Any]]] = [
    {
        "field": "run", "headerName": "Run", "flex": 3, "minWidth": 110, "tooltipField": "run",
        "cellRenderer": "HealthRun",
    },
    {
        "field": "file", "headerName": "File", "flex": 3, "minWidth": 120, "tooltipField": "path",
        "cellRenderer": "HealthFile",
    },
    {
        "field": "state", "headerName": "State", "flex": 3, "minWidth": 120, "tooltipField": "state",
        "comparator": {"function": "stepscopeByHealth"}, "cellClass": "state",
        "cellClassRules": {name: f"params.data.severity === '{name}'" for name in ("bad", "open", "good")},
    },
    NUMBER | {
        "field": "stretches", "headerName": "Skipped", "width": 76,
        "headerTooltip": "Stretches that could not be read",
        "valueFormatter": {"function": "stepscopeSome(params.value)"},
        "cellClassRules": {"bad": "params.value > 0"},
    },
    NUMBER | {
        "field": "skipped", "headerName": "Bytes skipped", "width": 102,
        "headerTooltip": "How long those stretches are together",
        "valueFormatter": {"function": "stepscopeSkipped(params.value, params.data)"},
        "tooltipValueGetter": {"function": "stepscopeExactBytes(params.value)"},
        "cellClassRules": {"bad": "params.value > 0"},
    },
    NUMBER | {
        "field": "superseded", "headerName": "Superseded", "width": 90,
        "headerTooltip": "Points that a restart of the run overwrote",
        "valueFormatter": {"function": "stepscopeSome(params.value)"},
        "cellClassRules": {"note": "params.value > 0"},
    },
    NUMBER | {
        "field": "records", "headerName": "Records", "width": 82,
        "valueFormatter": {"function": "stepscopeCount(params.value)"},
    },
    NUMBER | {
        "field": "read", "headerName": "Read", "width": 78, "headerTooltip": "How far the file was read",
        "valueFormatter": {"function": "stepscopeBytes(params.value)"},
        "tooltipValueGetter": {"function": "stepscopeExactBytes(params.value)"},
    },
    NUMBER | {
        "field": "size", "headerName": "Size", "width": 78,
        "valueFormatter": {"function": "stepscopeBytes(params.value)"},
        "tooltipValueGetter": {"function": "stepscopeExactBytes(params.value)"},
    },
]  # fmt: skip

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
    "localeText": {"noRowsToShow": "No files", "noMatchingRows": "No file passes the filters of the columns"},
}
