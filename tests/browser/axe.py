"""What axe-core finds in a page, in both color schemes."""

from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from docs.screenshots.make import SCHEMES

# A rule for people who speak to their computer, which axe has off by default.
OPTIONS: Final = {"resultTypes": ["violations"], "rules": {"label-content-name-mismatch": {"enabled": True}}}
# The rules whose results may differ between the color schemes.
COLORS: Final = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}
AXE: Final = Axe()
# No animation is running, and no table is still waiting for its headers.
NOTHING_MOVES: Final = """() =>
  document.getAnimations().every(({ playState }) => playState !== "running") &&
  [...document.querySelectorAll(".ag-header-container > .ag-header-row")].every((row) =>
    row.hasChildNodes() || !row.checkVisibility()
  )
"""


def violations(page: Page, *places: str) -> list[str]:
    """Return what axe finds once nothing moves any more, starting with the page's current scheme.

    Args:
        page: the page.
        places: selectors of the parts to look at; by default the whole page.
    """
    found: list[str] = []
    present = page.locator(":root").get_attribute("data-mantine-color-scheme")
    within = {"include": [[place] for place in places]} if places else None
    for scheme in sorted(SCHEMES, key=lambda each: each != present):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f":root[data-mantine-color-scheme={scheme}]", state="attached")
        page.wait_for_function(NOTHING_MOVES)
        options = OPTIONS if scheme == present else COLORS
        result: dict[str, Any] = AXE.run(page, context=within, options=options).response
        found += [
            f"{scheme}: {each['id']} ({each['impact']}) {node['target']}\n{node['html']}\n{node['failureSummary']}"
            for each in result["violations"]
            for node in each["nodes"]
        ]
    return found
