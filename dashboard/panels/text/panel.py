"""The text panel: one card per tag and run, newest text first."""

from collections.abc import Mapping
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from fastapi import APIRouter, HTTPException
from fastapi.responses import PlainTextResponse

from dashboard.api.errors import find_series
from dashboard.api.parameters import Index, RunName, TagName
from dashboard.colors import RunColor
from dashboard.controls import segmented, tag_filter_input
from dashboard.live import Live
from dashboard.numbers import json_number
from dashboard.panels.cards import CardGrid, Draw, frame, pair_keys, pair_of
from dashboard.panels.text.rendering import raw_text, text_html
from dashboard.state import Setting, View, choice
from summary.kinds.base import PayloadError
from summary.kinds.text import PLUGIN_NAME
from summary.snapshot import Series, Snapshot

FORMAT = choice("text.format", "markdown", ("markdown", "raw"))
MOST_ENTRIES = 50


class TextPanel:
    """Text over steps."""

    name = "text"
    title = "Text"
    icon = "text"

    def __init__(self) -> None:
        self._grid = CardGrid(
            panel=self.name,
            keys=lambda snapshot, view: pair_keys(snapshot, view, PLUGIN_NAME),
            card=card,
            target="data",
            depends=depends,
            draw=draw,
            nothing="No shown run has text",
        )
        self.settings: tuple[Setting[Any], ...] = (FORMAT, *self._grid.settings)

    def has_data(self, snapshot: Snapshot) -> bool:
        return PLUGIN_NAME in snapshot.kinds

    def layout(self, snapshot: Snapshot, view: View) -> Any:
        toolbar = html.Div(
            [
                tag_filter_input(view),
                segmented(FORMAT, view, {"markdown": "Markdown", "raw": "As written"}, "How texts are shown"),
            ],
            className="toolbar",
        )
        return html.Div([toolbar, *self._grid.layout(snapshot, view)], className="panel text")

    def register(self, app: Dash, live: Live) -> None:
        self._grid.register(app, live)
        app.clientside_callback(
            ClientsideFunction("stepscope", "drawTexts"),
            Output("text-drawn", "id"),
            Input(self._grid.data_id_pattern, "data"),
            prevent_initial_call=True,
        )

    def router(self, live: Live) -> APIRouter | None:
        return make_router(live)


def card(key: str, wide: bool, colors: Mapping[str, RunColor]) -> html.Article:
    """The card of one tag of one run, which ``assets/text.js`` fills."""
    tag, run = pair_of(key)
    data = dcc.Store(id={"type": "text-data", "key": key})
    body = html.Div([data, html.Div(className="fill")], className="card-body")
    return frame(key, tag, "text", wide, body, run=run, color=colors.get(run))


def depends(key: str, on: Draw) -> object:
    """What a card is made of."""
    tag, run = pair_of(key)
    series = on.snapshot.series(run, tag)
    return (FORMAT.of(on.view), None if series is None else series.version)


def draw(key: str, on: Draw) -> dict[str, Any]:
    """How many texts there are; the texts themselves are asked for when they are looked at."""
    tag, run = pair_of(key)
    series = on.snapshot.series(run, tag)
    return {
        "key": key,
        "run": run,
        "tag": tag,
        "markdown": FORMAT.of(on.view) == "markdown",
        "total": 0 if series is None else len(series),
        "superseded": 0 if series is None else series.superseded,
    }


def entry(series: Series, index: int, *, markdown: bool) -> dict[str, Any]:
    """One text as sanitised HTML, or why it cannot be read."""
    shown = {"index": index, "step": int(series.steps[index]), "wall": json_number(float(series.wall_times[index]))}
    try:
        rendered = text_html(series.read(index).strings, markdown=markdown)
    except PayloadError as error:
        return {**shown, "html": "", "notice": "", "error": str(error)}
    return {**shown, "html": rendered.html, "notice": rendered.notice, "error": ""}


def make_router(live: Live) -> APIRouter:
    """The panel's routes, over the latest snapshot."""
    routes = APIRouter()

    @routes.get("/entries")
    def entries(
        run: RunName,
        tag: TagName,
        start: Index,
        stop: Index,
        markdown: bool = True,
    ) -> list[dict[str, Any]]:
        """The texts from ``start`` to before ``stop``, newest first, at most 50 of them: the newest."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        stop = min(stop, len(series))
        first = max(start, stop - MOST_ENTRIES)
        return [entry(series, index, markdown=markdown) for index in range(stop - 1, first - 1, -1)]

    @routes.get("/raw")
    def raw(
        run: RunName,
        tag: TagName,
        index: Index,
    ) -> PlainTextResponse:
        """One text as it was written, whole."""
        try:
            strings = find_series(live.snapshot(), run, tag, PLUGIN_NAME).read(index).strings
        except IndexError as error:
            raise HTTPException(404, f"{error}.") from error
        except PayloadError as error:
            raise HTTPException(422, f"No text: {error}.") from error
        return PlainTextResponse(raw_text(strings), headers={"X-Content-Type-Options": "nosniff"})

    return routes
