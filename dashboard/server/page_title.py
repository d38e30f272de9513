"""What stands on the browser's tab."""

from html import escape
from pathlib import Path


def page_title(path: str, given: str = "") -> str:
    """Return the title of a page: the one that was given, else that of its log directory."""
    return given or f"{Path(path).name or path} · Stepscope"


def title_element(title: str) -> str:
    """Return it as HTML."""
    return f"<title>{escape(title)}</title>"
