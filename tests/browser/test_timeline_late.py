"""The timeline when answers come late: what the user has done since they were requested stays."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import conftest
from tests.browser.conftest import Dashboard
from tests.browser.test_timeline_canvas import OTHER, debug, point, settled, wait_for, write_trace
from tests.browser.test_timeline_interactions import training

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


@pytest.fixture
def open_page(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> Open:
    """A function that opens one of four traces in the panel, with motion reduced so that every key acts at once."""

    def opened(query: str = "", trace: str = "fast") -> Page:
        write_trace(logdir, "dense", json.dumps(OTHER))
        for name, slower in {"fast": 1.0, "slow": 1.5, "third": 2.0}.items():
            write_trace(logdir, name, json.dumps(training(slower)))
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(f"{serve(logdir).url}?tab=timeline&timeline.trace=r|file|r/{trace}.trace.json{query}")
        return page

    return opened


ARE_ANSWERED = "(urls) => urls.every((url) => performance.getEntriesByName(url).length)"


class Held(conftest.Held):
    """Requests of the Timeline, held back until they are released.

    Args:
        page: the page.
        patterns: what is requested.
    """

    def __init__(self, page: Page, *patterns: str) -> None:
        super().__init__(page, f"/api/timeline/({'|'.join(patterns)})")

    def release(self) -> None:
        """Release all requests, later ones included, and wait until the page has handled the answers."""
        super().release()
        addresses = [request.url for request in self.requests]
        self.page.wait_for_function(ARE_ANSWERED, arg=addresses)
        debug(self.page)


def test_a_trace_that_comes_later_is_shown_as_the_address_asks(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    write_trace(logdir, "dense", json.dumps(OTHER))
    page.goto(f"{serve(logdir).url}?tab=timeline&timeline.trace={trace('fast')}&timeline.range=1000:50000")
    expect(page.get_by_text("There is no trace")).to_be_visible()
    write_trace(logdir, "fast", json.dumps(training(1.0)))
    assert settled(page)["target"] == pytest.approx([1_000, 50_000])
    expect(page.get_by_text("There is no trace")).to_have_count(0)


def trace(name: str) -> str:
    return f"r|file|r/{name}.trace.json"


def address(page: Page, name: str) -> list[str]:
    found: list[str] = page.evaluate(f"new URLSearchParams(location.search).getAll('timeline.{name}')")
    return found


def click_slice(page: Page, time_us: float, label: str) -> None:
    page.mouse.click(*point(page, debug(page), time_us, label))


def draw_area(page: Page, meanwhile: Callable[[], None] | None = None) -> None:
    state = debug(page)
    page.mouse.move(*point(page, state, 150, "stream 7 · compute"))
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(*point(page, state, 580, "stream 9 · copies"), steps=4)
    if meanwhile:
        meanwhile()
    page.mouse.up()
    page.keyboard.up("Shift")


def press_at_once(page: Page, *keys: str) -> None:
    """Press keys in such quick succession that no answer can come between them."""
    code = """keys => {
      for (const key of keys)
        document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }"""
    page.evaluate(code, list(keys))


def test_what_is_chosen_while_a_trace_opens_stays(page: Page, open_page: Open) -> None:
    held = Held(page, "trace[?]")
    open_page("&timeline.search=sgemm")
    expect(page.locator(".timeline-message")).to_have_text("Opening the trace…")
    page.get_by_title("What slices are colored by").click()
    page.get_by_role("menuitem", name="Category").click()
    page.get_by_label("Search slices by name").fill("Memcpy")
    held.release()
    settled(page)
    state = wait_for(page, "d.matches !== null")
    assert (state["color"], state["matches"]) == ("category", 2)
    assert page.get_by_label("Search slices by name").input_value() == "Memcpy"
    assert (address(page, "color"), address(page, "search")) == (["category"], ["Memcpy"])


def test_a_link_of_several_traces_is_kept_whole_and_takes_no_click_back(page: Page, open_page: Open) -> None:
    second, third = Held(page, "trace[?].*slow"), Held(page, "trace[?].*third")
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url) if "/slice?" in request.url else None)
    others = [trace("slow"), trace("third")]
    open_page("".join(f"&timeline.compare={other}" for other in others) + "&timeline.slice=0")
    settled(page)
    second.wait()
    click_slice(page, 150, "stream 7 · compute")
    wait_for(page, "d.selection?.name === 'sgemm'")
    second.release()
    wait_for(page, "d.traces.length === 2 && d.differences > 0")
    assert address(page, "compare") == others
    third.wait()
    with page.expect_response("**/api/timeline/collectives?*"):
        third.release()
    wait_for(page, "d.traces.length === 3 && !d.loading")
    assert address(page, "compare") == others
    assert debug(page)["selection"]["name"] == "sgemm"
    assert len(requested) == 1


def test_traces_of_a_link_are_not_added_to_another_trace(page: Page, open_page: Open) -> None:
    held = Held(page, "trace[?].*slow")
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    open_page(f"&timeline.compare={trace('slow')}&timeline.compare={trace('third')}&timeline.slice=0")
    settled(page)
    held.wait()
    page.locator(".timeline-choice input").first.click()
    page.get_by_role("option", name="dense.trace.json").click()
    wait_for(page, f"d.trace === '{trace('dense')}' && d.slices > 0 && !d.loading")
    held.release()
    assert debug(page)["selection"] is None
    assert [one["id"] for one in debug(page)["traces"]] == [trace("dense")]
    assert not [url for url in requested if "/trace?" in url and "third" in url]


def test_every_key_is_a_step_however_late_the_slices_come(page: Page, open_page: Open) -> None:
    open_page("&timeline.range=5000000:5020000", "dense")
    settled(page)
    click_slice(page, 5005.5, "main thread · 1")
    first = wait_for(page, "d.selection?.related")["selection"]["index"]
    press_at_once(page, ".", ".", ".", ".", ",")
    assert (
        wait_for(page, "d.selection.related && d.selection.index !== " + str(first))["selection"]["index"] == first + 3
    )


def test_an_arrow_key_waits_for_what_is_not_known_yet(page: Page, open_page: Open) -> None:
    open_page()
    settled(page)
    slices, relations = Held(page, "slice[?]"), Held(page, "relations[?]")
    click_slice(page, 580, "stream 9 · copies")
    slices.wait()
    press_at_once(page, "[")
    # If the panel left this key to the frame, the key would hide the list of runs.
    assert not page.evaluate("document.documentElement.classList.contains('no-sidebar')")
    slices.release()
    relations.wait()
    assert debug(page)["selection"]["name"].startswith("Memcpy")
    assert page.locator(".timeline-note").count() == 0
    relations.release()
    wait_for(page, "d.selection.name === 'cudaMemcpyAsync'")


def test_the_later_of_an_area_and_a_slice_is_shown(page: Page, open_page: Open) -> None:
    open_page()
    settled(page)
    areas, slices = Held(page, "area[?]"), Held(page, "slice[?]")
    draw_area(page)
    areas.wait()
    click_slice(page, 150, "stream 7 · compute")
    slices.wait()
    areas.release()
    slices.release()
    assert wait_for(page, "d.selection?.name === 'sgemm'")["area"] is None

    areas, slices = Held(page, "area[?]"), Held(page, "slice[?]")
    click_slice(page, 580, "stream 9 · copies")
    slices.wait()
    draw_area(page)
    areas.wait()
    slices.release()
    assert debug(page)["selection"]["name"] == "sgemm"
    areas.release()
    state = wait_for(page, "d.area?.answers.length === 1")
    assert state["selection"] is None
    assert page.locator(".timeline-table tbody tr").count() == 2


def test_a_slice_that_comes_while_an_area_is_drawn_leaves_the_area(page: Page, open_page: Open) -> None:
    open_page()
    settled(page)
    held = Held(page, "slice[?]")
    click_slice(page, 150, "stream 7 · compute")
    held.wait()
    draw_area(page, meanwhile=held.release)
    state = wait_for(page, "d.area?.answers.length === 1")
    assert state["selection"] is None


def test_escape_takes_back_a_slice_that_has_not_come(page: Page, open_page: Open) -> None:
    open_page("&timeline.search=sgemm")
    settled(page)
    wait_for(page, "d.matches === 2")
    held = Held(page, "slice[?]")
    click_slice(page, 580, "stream 9 · copies")
    held.wait()
    page.keyboard.press("Escape")
    held.release()
    state = debug(page)
    assert (state["selection"], state["matches"]) == (None, 2)


def test_every_enter_is_a_match_however_late_the_search_comes(page: Page, open_page: Open) -> None:
    open_page()
    settled(page)
    held = Held(page, "search[?]")
    field = page.get_by_label("Search slices by name")
    field.fill("sgemm")
    field.press("Enter")
    field.press("Enter")
    held.wait()
    assert len(held.requests) == 1
    held.release()
    state = wait_for(page, "d.current === 1 && d.selection?.start === 500000")
    assert page.locator(".timeline-search-count").inner_text() == "2 of 2"
    assert state["matches"] == 2


def test_late_differences_leave_the_place_among_the_matches(page: Page, open_page: Open) -> None:
    held = Held(page, "differences[?]")
    open_page(f"&timeline.compare={trace('slow')}&timeline.search=sgemm")
    settled(page)
    wait_for(page, "d.traces.length === 2 && d.matches === 4")
    held.wait()
    page.get_by_label("Search slices by name").press("Enter")
    wait_for(page, "d.current === 0 && d.selection !== null")
    held.release()
    assert wait_for(page, "d.differences > 0 && !d.loading")["current"] == 0
    assert page.locator(".timeline-search-count").inner_text() == "1 of 4"


def test_a_panel_that_was_left_writes_nothing_into_the_address(page: Page, open_page: Open) -> None:
    held = Held(page, "trace[?]")
    open_page("&timeline.search=sgemm")
    expect(page.locator(".timeline-message")).to_have_text("Opening the trace…")
    page.get_by_role("tab", name="Profile").click()
    expect(page.locator(".timeline-host")).to_have_count(0)
    page.evaluate("stepscope.view.update((_, set) => set('timeline.search', ['copies']))")
    held.release()
    assert address(page, "search") == ["copies"]


DRAWER = """(() => {
  const { mount, details } = stepscope.timeline;
  const { selection, drawer } = mount(document.getElementById("timeline-host"));
  const told = (e) => [e.tagName, e.title, e.textContent];
  const texts = (nodes) => [...nodes].map((node) => [...node.querySelectorAll("*")].map(told));
  return [texts(drawer.children), texts(details.drawer(selection.slice, {}))];
})()"""
"""The details as they stand, and as they were if all had been known at once."""


def test_what_is_in_use_of_the_details_stays_as_more_is_known(page: Page, open_page: Open) -> None:
    page.set_viewport_size({"width": 1280, "height": 600})
    open_page()
    settled(page)
    held = Held(page, "relations[?]", "occurrences[?]")
    click_slice(page, 150, "stream 7 · compute")
    held.wait(2)
    body = page.locator(".timeline-drawer-body")
    body.evaluate("box => box.scrollTop = 20")
    page.get_by_title("Highlight every slice of this name").focus()
    assert body.evaluate("box => box.scrollTop") == 20
    held.release()
    wait_for(page, "d.selection.related")
    assert page.evaluate("document.activeElement.textContent") == "Find all"
    assert body.evaluate("box => box.scrollTop") == 20
    shown, whole = page.evaluate(DRAWER)
    assert shown == whole


def test_escape_empties_the_filter_of_lanes(page: Page, open_page: Open) -> None:
    open_page()
    settled(page)
    field = page.get_by_label("Filter lanes")
    field.fill("copies")
    wait_for(page, "d.lanes.hidden === 2")
    field.press("Escape")
    wait_for(page, "d.lanes.hidden === 0")
    assert field.input_value() == ""


def test_an_impatient_second_click_opens_the_box_of_traces_too(page: Page, open_page: Open) -> None:
    open_page()
    settled(page)
    held = Held(page, "traces[?]")
    compare = page.get_by_title("Show other traces")
    compare.click()
    compare.click()
    held.wait()
    assert len(held.requests) == 1
    held.release()
    expect(page.get_by_label("Find a trace")).to_be_focused()


def test_a_link_of_an_earlier_version_opens_with_its_settings_and_gets_their_new_names(
    page: Page, open_page: Open
) -> None:
    open_page("&timeline.colour=category&mesh.background=grey&images.map=viridis")  # codespell:ignore
    expect(page.get_by_role("button", name="Color: Category")).to_be_visible()
    assert address(page, "color") == ["category"]
    assert "mesh.background=gray" in page.url
    assert address(page, "colour") == []  # codespell:ignore
