"""Links inside the dashboard: to a page and row of the panel, and to a slice or range of the Timeline.

They are plain links, so that they can open in another tab; ``profile/web/index.ts`` follows them without reloading the
page.
"""

from typing import Any, Final
from urllib.parse import urlencode

from dash import html

from stepscope.dashboard.panels.profile.settings import PAGE, ROW, TRACE, Page
from stepscope.dashboard.panels.profile.table import Place

LONGEST_SEARCH: Final = 300
"""Maximum number of characters of a name to search for, since it is part of the URL."""


def page_address(page: Page, trace: str, row: str = "") -> str:
    """Return the address of a page of the panel, with a trace open and a row selected."""
    query = {"tab": "profile", PAGE.name: page, TRACE.name: trace} | ({ROW.name: row} if row else {})
    return "?" + urlencode(query)


def page_link(page: Page, trace: str, words: str, row: str = "") -> html.A:
    """Return a link to a page of the panel, with a trace open and a row selected."""
    data = {"data-page": page} | ({"data-row": row} if row else {})
    return html.A(words, href=page_address(page, trace, row), className="profile-link", **data)


def timeline_link(trace: str, place: Place | None, words: Any, title: str = "") -> html.A:
    """Return a link to a place on the Timeline of a trace: its range, its slice, and all slices with its name."""
    data = {"trace": trace}
    if place is not None:
        data["range"] = place.range
        if place.slice >= 0:
            data["slice"] = str(place.slice)
        if place.search:
            data["search"] = place.search[:LONGEST_SEARCH]
            if len(place.search) < LONGEST_SEARCH:
                data["match"] = "name"
    query = {"tab": "timeline"} | {f"timeline.{name}": value for name, value in data.items()}
    link = html.A(
        words,
        href="?" + urlencode(query),
        className="profile-link",
        **{f"data-{name}": value for name, value in data.items()},
    )
    if title:
        link.title = title
    return link
