"""The title of the browser tab."""

from html import escape
from pathlib import Path

from stepscope.summary.source import readable


def page_title(path: str, given: str = "") -> str:
    """Return the title of a page: the given one, or else its log directory's."""
    return readable(given or f"{Path(path).name or path} · Stepscope")


def title_element(title: str) -> str:
    """Return a title as HTML."""
    return f"<title>{escape(title)}</title>"
