"""Icons: one-color SVG files in ``web/icons``, drawn in the color of the text around them.

`stepscope.dashboard.page.assets` puts them into the page's styles.
"""

from dash import html


def icon(name: str, size: int = 16) -> html.Span:
    """Return the icon ``name``, ``size`` pixels square; hidden from screen readers, so its control needs a label."""
    return html.Span(
        className="icon",
        style={"--icon": f"var(--icon-{name})", "--size": f"{size}px"},
        **{"aria-hidden": "true"},
    )
