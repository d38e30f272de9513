"""The scalars panel: one card per tag, with a curve of every shown run."""

from dash import html

from stepscope.dashboard.curves.cards import curve_card
from stepscope.dashboard.curves.panel import CurvePanel
from stepscope.dashboard.panels.cards import Action, Shown
from stepscope.dashboard.panels.scalars.arrangement import card_keys, combined_tags, spec_of
from stepscope.dashboard.panels.scalars.settings import ARRANGEMENT, SETTINGS
from stepscope.summary.series import SCALARS


class ScalarsPanel(CurvePanel):
    """Curves of numbers over steps or time."""

    name = "scalars"
    title = "Scalars"
    kinds = ("scalars",)

    def __init__(self) -> None:
        super().__init__(
            kind=SCALARS,
            keys=card_keys,
            card=card,
            spec_of=spec_of,
            settings=SETTINGS,
            card_order=ARRANGEMENT.order.of,
            button=layout_button,
            nothing="No scalars in the visible runs",
        )


def layout_button() -> html.Button:
    """Return the button that opens the layout editor."""
    return html.Button("Edit charts", className="quiet act-layout", title="Build and save custom charts")


def card(key: str, wide: bool, _on: Shown) -> html.Article:
    """Return the card of one tag, or of several combined, without its chart."""
    combined = combined_tags(key)
    tags = (key,) if combined is None else (*combined[0], *combined[1])
    actions = [Action("pin", "Pin to the top"), Action("combine", "Combine with other tags")]
    return curve_card("scalars", key, " + ".join(tags), wide, actions, tags)


PANEL = ScalarsPanel()
