"""The controls above the meshes."""

import dash_mantine_components as dmc
from dash import dcc, html

from stepscope.dashboard.page.controls import (
    number_slider,
    segmented,
    setting_id,
    short_select,
    switch,
    tag_filter_input,
)
from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import View
from stepscope.dashboard.panels.cards import shown_series
from stepscope.dashboard.panels.mesh.series import Compare, parse_compare
from stepscope.dashboard.panels.mesh.settings import (
    BACKGROUND,
    BOX,
    CAMERAS,
    COLOR,
    COMPARE,
    LINK,
    SHADING,
    SHOW,
    SIZE,
    UP,
)
from stepscope.summary.kinds.mesh import PLUGIN_NAME
from stepscope.summary.snapshot import Snapshot


def toolbar(snapshot: Snapshot, view: View) -> html.Div:
    """Return the controls: tag filter, what is drawn and how, comparison, cameras, steps."""
    shows = {
        "logged": "As logged",
        "surface": "Surface",
        "edges": "Edges",
        "wireframe": "Wireframe",
        "points": "Points",
    }
    colors = {
        "logged": "Colors as logged",
        "one": "One color",
        "x": "Color by x",
        "y": "Color by y",
        "z": "Color by z",
    }
    cameras = {"all": "All", "tag": "Per tag", "each": "Per card"}
    compare = dmc.Select(
        id=setting_id(COMPARE.name),
        value=COMPARE.of(view),
        data=comparisons(snapshot, view),
        size="xs",
        w=196,
        allowDeselect=False,
        searchable=True,
        **{"aria-label": "Compare each mesh with"},
    )
    link = html.Button(
        icon("copy", 14), id="mesh-link", className="icon-button", title="Copy a link that includes the cameras"
    )
    return html.Div(
        [
            tag_filter_input(view),
            segmented(SHOW, view, shows, "What is drawn"),
            short_select(COLOR, view, colors, "Color of meshes", w=158),
            display(view),
            compare,
            dcc.Store(id="mesh-comparisons"),
            html.Div(
                [html.Span("Camera"), segmented(CAMERAS, view, cameras, "Which cards share a camera"), link],
                className="field",
            ),
            switch(LINK, view, "Link steps"),
        ],
        className="toolbar",
    )


def display(view: View) -> dmc.Popover:
    """Return the less common controls, behind a button."""
    shadings = {"logged": "As logged", "smooth": "Smooth", "flat": "Flat"}
    backgrounds = {"page": "Page", "white": "White", "gray": "Gray", "black": "Black"}
    rows = [
        ("Shading", segmented(SHADING, view, shadings, "Shading of surfaces")),
        ("Points", point_size(view)),
        ("Background", segmented(BACKGROUND, view, backgrounds, "Background")),
        ("Up axis", segmented(UP, view, {"y": "y", "z": "z"}, "Axis that points up")),
        ("Axes", switch(BOX, view, "Bounding box with axis labels")),
    ]
    cells = [cell for label, control in rows for cell in (html.Span(label), control)]
    more = {"aria-haspopup": "dialog"}
    button = html.Button(["Display", icon("chevron", 12)], className="quiet", id="mesh-display", **more)
    return dmc.Popover(
        [
            dmc.PopoverTarget(button),
            dmc.PopoverDropdown(html.Div(cells, className="mesh-display", role="dialog", **{"aria-label": "Display"})),
        ],
        position="bottom-start",
        keepMounted=True,
        shadow="md",
        # Mantine gives the roles to a box around the button.
        withRoles=False,
        trapFocus=True,
        returnFocus=True,
        # While it fades in, it begins with a frame in which it cannot take the focus, which may come too late.
        transitionProps={"duration": 0},
    )


def point_size(view: View) -> html.Div:
    """Return a slider for the size of points, with its value beside it."""
    slider = number_slider(SIZE, view, "Point size in pixels; 0 is as logged, or chosen by the number of points", 0.5)
    shown = html.Output(className="adjusted", id="mesh-size", title="0: as logged, or chosen by the number of points")
    return html.Div([slider, shown], className="field")


def comparisons(snapshot: Snapshot, view: View) -> list[dict[str, str]]:
    """Return the options that a mesh can be compared with."""
    runs = dict.fromkeys(series.run for series in shown_series(snapshot, view, PLUGIN_NAME))
    options = {
        "off": "Not compared",
        "first": "Moved since the first step",
        "previous": "Moved since the previous step",
    }
    options |= {Compare("run", run).text: f"Against {run}" for run in runs}
    chosen = parse_compare(COMPARE.of(view))
    if chosen.text not in options:
        place = f"step {chosen.step:,} of {chosen.run}" if chosen.kind == "at" else chosen.run
        options[chosen.text] = f"Against {place}"
    return [{"value": value, "label": text} for value, text in options.items()]
