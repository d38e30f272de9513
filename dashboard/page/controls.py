"""IDs and small components shared by the page and every panel."""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final

import dash_mantine_components as dmc
from dash import Input, dcc, html

from stepscope.dashboard.page.icons import icon
from stepscope.dashboard.page.state import Setting, View


def setting_id(name: str) -> dict[str, str]:
    """Return the id of a control whose ``value`` is the URL parameter ``name``.

    Dash does not accept a dot in an id of this form, so it becomes a colon; ``web/page/view.ts`` reverses this.
    """
    return {"type": "setting", "name": name.replace(".", ":")}


def toggle_id(name: str) -> dict[str, str]:
    """Return the id of a control whose ``checked`` is the URL parameter ``name``: on or off."""
    return {"type": "toggle", "name": name.replace(".", ":")}


def view_input(panel: str) -> Input:
    """Fire a panel's callback with the query string that `state.decode` reads, while the panel is open."""
    return Input({"type": "panel-view", "panel": panel}, "data")


def revision_input(panel: str) -> Input:
    """Fire a panel's callback with a number that grows with new data, while the panel is open."""
    return Input({"type": "panel-revision", "panel": panel}, "data")


def scheme_input(panel: str) -> Input:
    """Fire a panel's callback with "light" or "dark", while the panel is open."""
    return Input({"type": "panel-scheme", "panel": panel}, "data")


def panel_stores(panel: str, query: str, revision: int | None, scheme: str | None) -> list[dcc.Store]:
    """Return the stores that the inputs above listen to; the page puts them beside the open panel and updates them.

    The store ``panel-made`` never changes: with it, the page recognizes a panel that was mounted again, and one that
    arrives after the view has changed.
    """
    made = {"key": token_hex(8), "view": query}
    values = {"panel-made": made, "panel-view": query, "panel-revision": revision, "panel-scheme": scheme}
    return [dcc.Store(id={"type": kind, "panel": panel}, data=value) for kind, value in values.items()]


def mount_point(panel: str) -> html.Div:
    """Return the element that a plug-in's ``index.js`` fills; each panel has one."""
    return html.Div(className="mount-point", **{"data-plugin": panel})


def segmented(setting: Setting[str], view: View, options: dict[str, str], label: str) -> dmc.SegmentedControl:
    """Return a row of choices; ``options`` maps values to labels."""
    return dmc.SegmentedControl(
        id=setting_id(setting.name),
        value=setting.of(view),
        data=[{"value": value, "label": text} for value, text in options.items()],
        size="xs",
        **{"aria-label": label},
    )


def side_scroll(row: Any, class_name: str = "") -> html.Div:
    """Return a row of choices that scrolls if wider than the page, also by arrows at its ends (``toolbars.ts``)."""

    def arrow(end: str, icon_name: str) -> html.Button:
        return html.Button(
            icon(icon_name, 14), className=f"side-scroll-arrow {end}", tabIndex=-1, **{"aria-hidden": "true"}
        )

    return html.Div(
        [arrow("before", "left"), html.Div(row, className="side-scroll-row"), arrow("after", "right")],
        className=f"side-scroll {class_name}",
    )


def switch(setting: Setting[bool], view: View, label: str) -> dmc.Switch:
    """Return a switch."""
    return dmc.Switch(id=toggle_id(setting.name), checked=setting.of(view), label=label, size="xs")


def short_select(setting: Setting[str], view: View, options: Mapping[str, str], label: str, **more: Any) -> dmc.Select:
    """Return a list of a few choices; ``options`` maps values to labels."""
    return dmc.Select(
        id=setting_id(setting.name),
        value=setting.of(view),
        data=[{"value": value, "label": text} for value, text in options.items()],
        size="xs",
        allowDeselect=False,
        **{"aria-label": label, **more},
    )


_MOST_OPTIONS: Final = 1_000
"""Maximum number of options of a list that are loaded at once; a search covers all."""


def long_select(
    setting: Setting[str],
    value: str | None,
    data: Sequence[Any],
    label: str,
    class_name: str,
    *,
    nothing: str = "No matches",
    **more: Any,
) -> dmc.Select:
    """Return a searchable list of many long names; it shows ``nothing`` if none is found."""
    return dmc.Select(
        id=setting_id(setting.name),
        value=value,
        data=data,
        searchable=True,
        allowDeselect=False,
        nothingFoundMessage=nothing,
        maxDropdownHeight=420,
        limit=_MOST_OPTIONS,
        comboboxProps={"width": "max-content", "position": "bottom-start"},
        size="xs",
        className=f"long-choice {class_name}",
        classNames={"dropdown": "long-choice-list"},
        **{"aria-label": label, **more},
    )


def number_slider(setting: Setting[float], view: View, label: str, step: float) -> dmc.Slider:
    """Return a slider for a number from its minimum to its maximum."""
    assert setting.limits is not None
    least, most = setting.limits
    return dmc.Slider(
        id=setting_id(setting.name),
        value=setting.of(view),
        min=least,
        max=most,
        step=step,
        precision=2,
        size="xs",
        updatemode="drag",
        label=None,
        className="adjust",
        thumbLabel=label,
    )


def pattern_input(name: str, value: str, placeholder: str, label: str) -> dmc.TextInput:
    """Return a field for a regular expression; the page and panels write its error message into ``error``."""
    return dmc.TextInput(
        id=setting_id(name),
        value=value,
        placeholder=placeholder,
        size="xs",
        debounce=150,
        spellCheck="false",
        autoComplete="off",
        leftSection=icon("search", 14),
        className="pattern",
        **{"aria-label": label},
    )


def tag_filter_input(view: View) -> dmc.TextInput:
    """Return the field that filters the tags in every panel of cards."""
    return pattern_input("tag_filter", view.tag_filter, "Filter tags (regex)", "Filter tags by regular expression")


def example(code: str) -> html.Div:
    """Return an example with a button to copy it."""
    button = html.Button("Copy", className="quiet copy-example", type="button")
    return html.Div([html.Pre(html.Code(code)), button], className="example")
