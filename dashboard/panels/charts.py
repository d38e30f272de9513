"""Shared parts of panels whose cards are charts; ``web/cards/plotly.ts`` is the browser side."""

from dataclasses import dataclass
from typing import Any, Final

from dash import dcc, html

from stepscope.dashboard.page.theme import GRAPH_CONFIG


@dataclass(frozen=True)
class Chart:
    """A figure, and a note about it."""

    figure: dict[str, Any]
    note: str
    """What was left out of the chart; empty if nothing was."""

    def with_meta(self, **meta: Any) -> dict[str, Any]:
        """Return the figure with ``meta`` in its layout: the note for the card's head and whatever the page reads."""
        layout = self.figure["layout"] | {"meta": {"note": self.note, **meta}}
        return self.figure | {"layout": layout}


BLANK: Final[dict[str, Any]] = {
    "data": [],
    "layout": {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
    },
}
"""Shown until a chart is drawn: nothing; Plotly's own would be white with axes."""


def chart_body(data_id: dict[str, str]) -> html.Div:
    """Return the body of a card that is a chart, still without its figure."""
    graph = dcc.Graph(id=data_id, figure=BLANK, config=GRAPH_CONFIG, style={"height": "100%"})
    return html.Div(graph, className="chart")
