"""The controls above the galleries; those of the large view are in ``images/web/large.ts``."""

from dash import html

from stepscope.dashboard.page.controls import number_slider, segmented, short_select, switch, tag_filter_input
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import Setting, View
from stepscope.dashboard.panels.images.settings import BRIGHTNESS, CONTRAST, GROUP, LINK, RATE, SIZE, WIDTH


def toolbar(view: View) -> html.Div:
    """Return the controls: filter and grouping, sizes, adjustments, steps, and a ZIP file of the shown images."""
    return html.Div(
        [
            tag_filter_input(view),
            segmented(GROUP, view, {"tag": "By tag", "run": "By run", "step": "By step"}, "Group images by"),
            segmented(SIZE, view, {"fit": "Fit", "actual": "Actual size"}, "Image size"),
            slider(WIDTH, view, "Width", 8, f"{WIDTH.of(view):.0f} px"),
            adjustment(BRIGHTNESS, view, "Brightness"),
            adjustment(CONTRAST, view, "Contrast"),
            html.Button(
                icon("reset", 14),
                id="images-reset",
                className="icon-button",
                title="Reset brightness and contrast",
            ),
            rate(view),
            switch(LINK, view, "Same step for all"),
            html.Button(
                [icon("download", 14), "ZIP"],
                id="images-zip",
                className="quiet zip",
                title="Download the visible images as logged, in one ZIP file",
            ),
            html.Div(id="images-stepper"),
        ],
        className="toolbar images-toolbar",
    )


def rate(view: View) -> html.Label:
    """Return the control for the playback speed of cards."""
    options = {value: f"{value}/s" for value in RATE.options}
    select = short_select(RATE, view, options, "Steps per second while playing", w=74)
    return html.Label([html.Span("Play"), select], className="field")


def adjustment(setting: Setting[float], view: View, label: str) -> html.Label:
    """Return a slider for a factor, where 1 leaves images unchanged; its value is shown beside it in percent."""
    return slider(setting, view, label, 0.01, f"{setting.of(view):.0%}")


def slider(setting: Setting[float], view: View, label: str, step: float, shown: str) -> html.Label:
    """Return a slider with its value beside it, which ``images/web/mount.ts`` keeps up to date."""
    control = number_slider(setting, view, label, step)
    value = html.Output(shown, className="adjusted", **{"data-setting": setting.name})
    return html.Label([html.Span(label), control, value], className="field")
