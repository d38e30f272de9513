"""What axe-core finds, what the Tab key passes on its way, and where the focus can be seen."""

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from docs.screenshots import make
from docs.screenshots.make import READY, SAMPLE_LOGS, serving, wait_until_drawn
from stepscope.dashboard.panels.registry import PANELS
from stepscope.summary import SummaryWriter
from tests.browser.axe import violations
from tests.browser.chromium import prepared
from tests.browser.conftest import Dashboard, wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One page over the sample logs, which switches from tab to tab."""
    with serving(SAMPLE_LOGS) as url:
        opened = prepared(browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light"))
        opened.goto(url)
        page_is_there = opened.locator("#panel .panel, .run-grid .ag-row")
        page_is_there.first.wait_for()
        yield opened
        opened.close()


def open_tab(page: Page, panel: str) -> None:
    """Switches to a tab, and waits until it is drawn."""
    make.open_tab(page, panel)
    if panel == "health":
        # The details are not waited for: no sample log is damaged enough to have any.
        page.wait_for_selector("#panel .health-grid .ag-row")
    else:
        wait_until_drawn(page, panel)


@pytest.mark.parametrize("panel", [panel.name for panel in PANELS])
def test_axe_finds_nothing(page: Page, panel: str) -> None:
    open_tab(page, panel)
    found = violations(page)
    assert not found, "\n".join(found)


OVERLAYS: Final = {
    "palette": ("scalars", "#palette-open", "dialog.palette"),
    "group": ("scalars", "#runs-group", ".beside-box"),
    "color": ("scalars", "#runs-color", ".beside-box"),
    "columns": ("scalars", "#runs-columns", ".beside-box"),
    "search help": ("scalars", "#runs-help", ".beside-box"),
    "menu of a run": ("scalars", ".run-grid .row-menu", ".beside-box"),
    "menu of a card": ("scalars", "#panel .act-menu", ".beside-box"),
    "downloads of all cards": ("scalars", "#panel .act-all", ".beside-box"),
    "layout": ("scalars", "#panel .act-layout", "dialog.sheet"),
    "large curve": ("scalars", "#panel .act-full", ".card.full"),
    "large picture": ("images", "#panel .picture", "#large"),
    "display of meshes": ("mesh", "#mesh-display", ".mesh-display"),
    "download a graph": ("graph", ".graph-tools-end [title^=Download]", ".beside-box"),
    "display of points": ("projector", "[title='Labels, images, lines and point size']", ".beside-box"),
    "compare traces": ("timeline", "[title='Show other traces below this one, aligned']", ".beside-box"),
}


@pytest.mark.parametrize("name", OVERLAYS)
def test_axe_finds_nothing_in_what_lies_over_the_page(page: Page, name: str) -> None:
    panel, opener, overlay = OVERLAYS[name]
    open_tab(page, panel)
    page.locator(opener).first.click()
    page.locator(overlay).wait_for()
    found = violations(page, overlay, opener)
    page.keyboard.press("Escape")
    page.locator(overlay).wait_for(state="hidden")
    assert not found, "\n".join(found)


def test_axe_finds_nothing_in_the_sheet_of_keys(page: Page) -> None:
    open_tab(page, "scalars")
    page.keyboard.press("?")
    page.locator("dialog.shortcuts").wait_for()
    found = violations(page, "dialog.shortcuts")
    page.keyboard.press("Escape")
    assert not found, "\n".join(found)


def test_one_sheet_of_keys_is_for_what_lies_over_the_page_too(page: Page) -> None:
    open_tab(page, "images")
    page.locator("#panel .picture").first.click()
    page.locator("#large").wait_for()
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard and mouse shortcuts")
    expect(sheet).to_contain_text("Adjustments and histogram")
    expect(sheet).not_to_contain_text("Hide or show the runs")
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    expect(page.locator("#large")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#large")).to_be_hidden()


def press_until(page: Page, place: str) -> list[str]:
    """Presses Tab until the focus is in a place; returns where it stopped on the way."""
    stops: list[str] = []
    while not is_in(page, place):
        stops.append(page.evaluate("document.activeElement.outerHTML.slice(0, 120)"))
        assert len(stops) < 100, stops
        page.keyboard.press("Tab")
    return stops


def is_in(page: Page, place: str) -> bool:
    inside: bool = page.evaluate("(place) => document.activeElement.closest(place) !== null", place)
    return inside


def test_the_tab_key_reaches_the_panel_soon(page: Page) -> None:
    open_tab(page, "scalars")
    page.locator("#skip").focus()
    before = press_until(page, ".run-grid")
    page.keyboard.press("Tab")
    assert is_in(page, "#panel")
    assert len(before) < 24, before
    page.keyboard.press("Shift+Tab")
    assert is_in(page, ".run-grid")
    page.keyboard.press("Shift+Tab")
    assert not is_in(page, ".run-grid")


def test_arrow_keys_move_in_the_table_of_runs_and_tab_comes_back_there(page: Page) -> None:
    open_tab(page, "scalars")
    page.locator("#skip").focus()
    press_until(page, ".run-grid")
    # Tab returns to the cell that had the focus last, which may be any cell by now.
    page.keyboard.press("Home")
    page.keyboard.press("Control+ArrowLeft")
    swatch = page.locator(".run-grid .ag-row[row-index='0'] .ag-cell[col-id=on]")
    expect(swatch).to_be_focused()
    focused = "document.activeElement.closest('.ag-row')?.getAttribute('row-id') + document.activeElement.ariaColIndex"
    first = page.evaluate(focused)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    second = page.evaluate(focused)
    assert second != first
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(focused) == second
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    head = page.locator(".run-grid .ag-header-cell[col-id=run]")
    expect(head).to_be_focused()
    expect(head).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Tab")
    assert is_in(page, "#panel")


def test_the_first_stop_leads_to_the_panel(page: Page) -> None:
    open_tab(page, "scalars")
    skip = page.locator("#skip")
    expect(skip).not_to_be_in_viewport()
    skip.focus()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_be_focused()
    assert not page.url.endswith("#panel")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.toolbar') !== null")


@pytest.mark.parametrize(("panel", "table"), [("hparams", ".hparams-grid"), ("health", ".health-grid")])
def test_tables_of_panels_are_one_stop(page: Page, panel: str, table: str) -> None:
    open_tab(page, panel)
    page.locator("#panel").focus()
    press_until(page, table)
    page.keyboard.press("Tab")
    assert not is_in(page, table)


def test_many_runs_make_no_more_stops(serve: Callable[..., Dashboard], browser: Browser, logdir: Path) -> None:
    for run in range(80):
        with SummaryWriter(str(logdir / f"run_{run:02}")) as writer:
            writer.add_scalar("loss", run, 0)
            writer.add_scalar("loss", run, 1)
    opened = prepared(browser.new_page(viewport={"width": 1280, "height": 900}))
    opened.goto(serve(logdir).url)
    expect(opened.locator("#run-count")).to_have_text(re.compile("of 80"))
    opened.locator(READY["scalars"]).first.wait_for()
    opened.locator("#skip").focus()
    press_until(opened, ".run-grid")
    opened.keyboard.press("Tab")
    assert is_in(opened, "#panel")
    opened.close()


EDGES: Final = """(png) => new Promise((resolve) => {
  const image = new Image();
  image.onload = () => {
    const [width, height] = [image.width, image.height];
    const pen = new OffscreenCanvas(width, height).getContext("2d");
    pen.drawImage(image, 0, 0);
    const at = (x, y) => pen.getImageData(x, y, 1, 1).data.slice(0, 3).join();
    const [x, y] = [width >> 1, height >> 1];
    resolve([at(x, 1), at(x, height - 2), at(1, y), at(width - 2, y)]);
  };
  image.src = "data:image/png;base64," + png;
})"""


@pytest.mark.parametrize(
    ("panel", "place"),
    [
        ("scalars", ".curve.curves"),
        ("graph", ".graph-canvas"),
        ("projector", ".pj-overlay"),
        ("timeline", ".timeline-canvas"),
    ],
)
def test_the_ring_around_what_has_the_focus_is_whole(page: Page, panel: str, place: str) -> None:
    open_tab(page, panel)
    page.keyboard.press("Shift")
    element = page.locator(place).first
    element.scroll_into_view_if_needed()
    element.focus()
    accent = page.evaluate(
        """() => {
          const probe = document.body.appendChild(document.createElement("i"));
          probe.style.color = "var(--accent)";
          const [red, green, blue] = getComputedStyle(probe).color.match(/\\d+/g);
          probe.remove();
          return [red, green, blue].join();
        }"""
    )

    def is_whole() -> bool:
        picture = base64.b64encode(element.screenshot()).decode()
        return bool(page.evaluate(EDGES, picture) == [accent] * 4)

    wait_until(page, is_whole, "the ring is not seen at each side")


def test_nothing_moves_by_itself_for_those_who_ask_for_that(page: Page) -> None:
    open_tab(page, "scalars")
    durations = """() => ["#live .dot", ".group-toggle .icon", ".card .actions"]
      .map((part) => parseFloat(getComputedStyle(document.querySelector(part)).transitionDuration))"""
    assert max(page.evaluate(durations)) > 0.05
    page.emulate_media(reduced_motion="reduce")
    try:
        assert max(page.evaluate(durations)) < 0.001
    finally:
        page.emulate_media(reduced_motion="no-preference")
