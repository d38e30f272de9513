"""The shared look of page and charts, light and dark."""

from typing import Any, Final

from stepscope.dashboard.page.colors import Scheme

FONT: Final = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO: Final = "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

MANTINE: Final[dict[str, Any]] = {
    "fontFamily": FONT,
    "fontFamilyMonospace": MONO,
    "primaryColor": "indigo",
    "primaryShade": {"light": 8, "dark": 4},
    "defaultRadius": "sm",
    "headings": {"fontFamily": FONT},
    "colors": {
        "dark": [
            "#d5d9e0", "#a9b0bb", "#868e9b", "#5d6572", "#363c46",
            "#2a2f38", "#20242b", "#181b21", "#131519", "#0d0f12",
        ],
    },
}  # fmt: skip

GRAPH_CONFIG: Final[dict[str, Any]] = {
    "showSendToCloud": False,
    "displaylogo": False,
    "displayModeBar": False,
    "doubleClick": "autosize",
    "showTips": False,
    "responsive": True,
}
"""Configuration of every Graph: Plotly's default mode bar offers to upload the chart, which Stepscope never does."""

_INK: Final[dict[Scheme, dict[str, str]]] = {
    "light": {"text": "#4b5563", "grid": "#eceef2", "zero": "#d5d9e0", "axis": "#cfd4dc", "surface": "#ffffff"},
    "dark": {"text": "#a9b0bb", "grid": "#272c34", "zero": "#3d4450", "axis": "#3d4450", "surface": "#181b21"},
}


def ink(scheme: Scheme) -> dict[str, str]:
    """Return the colors of a chart's text, grid, zero line, axis and surface."""
    return _INK[scheme]


def axis(scheme: Scheme) -> dict[str, Any]:
    """Return the layout of every axis."""
    colors = ink(scheme)
    return {
        "gridcolor": colors["grid"],
        "zerolinecolor": colors["zero"],
        "zerolinewidth": 1,
        "linecolor": colors["axis"],
        "tickfont": {"size": 11, "color": colors["text"]},
        "ticks": "",
        "automargin": False,
        "exponentformat": "e",
        "minexponent": 5,
        "separatethousands": False,
        "nticks": 6,
        "fixedrange": False,
    }


def chart_layout(scheme: Scheme) -> dict[str, Any]:
    """Return the base layout of every chart, as plain values for a figure dict."""
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 11, "color": ink(scheme)["text"]},
        "margin": {"l": 46, "r": 12, "t": 8, "b": 26},
        "showlegend": False,
        "hovermode": False,
        "dragmode": "zoom",
        "xaxis": axis(scheme),
        "yaxis": axis(scheme) | {"automargin": "left"},
        "template": {"layout": {}},
    }
