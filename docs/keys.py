"""Writes ``keys.md``: what the page's own sheet of keys says on each tab, over the sample logs."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

from docs.screenshots.make import READY, SAMPLE_LOGS, open_tab, serving
from stepscope.dashboard.panels.registry import PANELS
from tools.browser import FLAGS, browser_path

PAGE: Final = Path(__file__).with_name("keys.md")
_LONGEST_WAIT_MS: Final = 60_000
_READ: Final = """() => {
  const written = (part) => (part.nodeName === "KBD" ? "`" + part.textContent + "`" : part.textContent);
  const row = (keys) => [[...keys.childNodes].map(written).join(""), keys.nextElementSibling.textContent];
  return [...document.querySelectorAll("dialog.shortcuts section")].map((section) => ({
    title: section.querySelector("h3").textContent,
    rows: [...section.querySelectorAll("dt")].map(row),
  }));
}"""

Sections = Mapping[str, Sequence[tuple[str, str]]]


def sections_of(page: Page) -> Sections:
    """Return what the sheet of keys says on the open tab: rows of keys and what they do, by heading."""
    page.keyboard.press("?")
    page.locator("dialog.shortcuts section").first.wait_for()
    found = {each["title"]: [(keys, what) for keys, what in each["rows"]] for each in page.evaluate(_READ)}
    page.keyboard.press("?")
    page.locator("dialog.shortcuts").wait_for(state="detached")
    return found


def collect(page: Page, url: str) -> Mapping[str, Sections]:
    """Return the sections of each tab by the panel's title, without those that stand on every tab.

    These are under "".
    """
    everywhere: Sections = {}
    found: dict[str, Sections] = {}
    page.goto(url)
    page.wait_for_selector("#panel .panel")
    for panel in PANELS:
        open_tab(page, panel.name)
        # What no sample log is damaged enough for is not waited for.
        drawn = "#panel .panel" if panel.name == "health" else READY[panel.name]
        page.wait_for_selector(drawn, state="attached", timeout=_LONGEST_WAIT_MS)
        sections = sections_of(page)
        everywhere = everywhere or {title: sections[title] for title in ("Everywhere", "Runs", "Tabs of cards")}
        found[panel.title] = {title: rows for title, rows in sections.items() if title not in everywhere}
    return {"": everywhere} | found


def written(tabs: Mapping[str, Sections]) -> str:
    """Return the page of the documentation."""
    lines = [
        "# Keys",
        "",
        "What each key does while the page has the focus and no input field has it; `?` shows those of the open tab.",
        "This page is made from the commands of the panels by `python -m docs.keys`.",
    ]
    for tab, sections in tabs.items():
        for title, rows in sections.items():
            heading = title if not tab or title.startswith(tab) else f"{tab}: {title}"
            lines += ["", f"## {heading}", "", "| | |", "|---|---|", *_rows(rows)]
    return "\n".join([*lines, ""])


def _rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"| {keys.replace('|', chr(92) + '|')} | {what} |" for keys, what in rows]


def main() -> int:
    """Write the page."""
    with serving(SAMPLE_LOGS) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        PAGE.write_text(written(collect(browser.new_page(), url)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
