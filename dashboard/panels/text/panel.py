"""The text panel: one card per tag and run, newest text first."""

from dash import dcc, html

from stepscope.dashboard.page.controls import pattern_input, segmented, switch, tag_filter_input
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.card_panel import CardPanel
from stepscope.dashboard.panels.cards import FULL_WIDTH, Action, Draw, Shown, pair_keys, pair_of, titled_card
from stepscope.dashboard.panels.steps import epoch
from stepscope.dashboard.panels.text.messages import CardData
from stepscope.dashboard.panels.text.routes import make_router
from stepscope.dashboard.panels.text.settings import FIND, FORMAT, LINK, MONOSPACE, REGEX, SETTINGS, SHOWN, WRAP
from stepscope.summary.kinds.text import PLUGIN_NAME


class TextPanel(CardPanel):
    """Text over steps."""

    name = "text"
    title = "Text"
    group = "Media"
    kinds = ("text",)
    tag_ending = "/text_summary$"

    def __init__(self) -> None:
        super().__init__(
            kind=PLUGIN_NAME,
            called="Texts",
            keys=lambda snapshot, view: pair_keys(snapshot, view, PLUGIN_NAME),
            card=card,
            depends=depends,
            draw=draw,
            toolbar=lambda _snapshot, view: toolbar(view),
            settings=SETTINGS,
            routes=make_router,
            nothing="No text in the visible runs",
        )


def toolbar(view: View) -> html.Div:
    """Return the controls: tag filter, search, and display of texts."""
    save = html.A(
        icon("download", 14),
        id="text-save",
        className="icon-button",
        title="Download all texts of the visible runs and tags as one file",
        download="",
        href="api/text/file",
    )
    return html.Div(
        [
            tag_filter_input(view),
            html.Div(
                [
                    pattern_input(FIND.name, FIND.of(view), "Search all text", "Search all text"),
                    switch(REGEX, view, "Regex"),
                ],
                className="field find",
            ),
            segmented(FORMAT, view, {"markdown": "Markdown", "raw": "As written"}, "Format of the text"),
            segmented(SHOWN, view, {"list": "Newest first", "one": "One step"}, "Entries per card"),
            switch(LINK, view, "Link steps"),
            switch(WRAP, view, "Wrap"),
            switch(MONOSPACE, view, "Monospace"),
            save,
            html.Div(id="text-results", hidden=True, **{"data-stays": ""}),
        ],
        className="toolbar",
    )


def card(key: str, wide: bool, on: Shown) -> html.Article:
    """Return the card of one tag of one run, which ``text/web/index.ts`` fills."""
    tag, run = pair_of(key)
    data = dcc.Store(id={"type": "text-data", "key": key})
    body = html.Div([data, html.Div(className="text-steps"), html.Div(className="fill")], className="card-body")
    actions = [Action("download", "Download all entries of this card"), FULL_WIDTH]
    return titled_card(key, tag, "text", wide, body, run=run, color=on.colors.get(run), actions=actions)


def depends(key: str, on: Draw) -> object:
    """Return what a card depends on."""
    tag, run = pair_of(key)
    series = on.snapshot.series(run, tag)
    others = [series.run for series in on.series_of_tag(tag, PLUGIN_NAME)]
    return (FORMAT.of(on.view), None if series is None else series.version, others)


def draw(key: str, on: Draw) -> CardData:
    """Return the number of texts and the runs to compare with; texts are requested when they are viewed."""
    tag, run = pair_of(key)
    series = on.snapshot.series(run, tag)
    return {
        "key": key,
        "run": run,
        "tag": tag,
        "markdown": FORMAT.of(on.view) == "markdown",
        "total": 0 if series is None else len(series),
        "epoch": "" if series is None else epoch(series),
        "runs": [series.run for series in on.series_of_tag(tag, PLUGIN_NAME)],
    }


PANEL = TextPanel()
