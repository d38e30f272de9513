"""The timeline's canvas in a real browser, by the numbers that ``stepscope.timeline.debug()`` gives."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Dashboard, held_frames

pytestmark = pytest.mark.browser

EVENTS: list[dict[str, Any]] = [
    {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "trainer"}},
    {"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": "main"}},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 0, "dur": 500, "name": "forward", "cat": "op", "args": {"shape": [2, 3]}},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 100, "dur": 200, "name": "matmul", "cat": "op"},
    {"ph": "X", "pid": 1, "tid": 7, "ts": 600, "dur": 400, "name": "backward", "cat": "op"},
    {"ph": "X", "pid": 1, "tid": 8, "ts": 700, "dur": 100, "name": "copy", "cat": "memcpy"},
    {"ph": "C", "pid": 1, "ts": 0, "name": "memory", "args": {"bytes": 10}},
    {"ph": "C", "pid": 1, "ts": 500, "name": "memory", "args": {"bytes": 30}},
]
OTHER: list[dict[str, Any]] = [
    {"ph": "X", "pid": 1, "tid": 1, "ts": i, "dur": 1, "name": "tick"} for i in range(20_000)
]


Open = Callable[..., Page]


@pytest.fixture
def open_page(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> Open:
    """A function that opens one of three traces in the panel, with motion reduced so that every key acts at once."""

    def opened(trace: str = "small", query: str = "", scheme: str = "light") -> Page:
        for name, text in {"small": json.dumps(EVENTS), "dense": json.dumps(OTHER), "broken": "hello"}.items():
            write_trace(logdir, name, text)
        dashboard = serve(logdir)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.goto(f"{dashboard.url}?tab=timeline&timeline.trace=r|file|r/{trace}.trace.json{query}")
        return page

    return opened


def write_trace(logdir: Path, name: str, text: str) -> None:
    path = logdir / "r" / f"{name}.trace.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def settled(page: Page) -> dict[str, Any]:
    """What is on the canvas once nothing loads."""
    ready = "() => { const d = window.stepscope?.timeline?.debug?.(); return d && d.slices > 0 && !d.loading; }"
    page.wait_for_function(ready)
    return debug(page)


def debug(page: Page) -> dict[str, Any]:
    # Two frames, so that what was asked for has been drawn.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: dict[str, Any] = page.evaluate("window.stepscope.timeline.debug()")
    return found


def wait_for(page: Page, condition: str) -> dict[str, Any]:
    page.wait_for_function(f"() => (() => {{ const d = window.stepscope.timeline.debug(); return {condition}; }})()")
    return debug(page)


def point(page: Page, state: dict[str, Any], time_us: float, label: str, depth: int = 0) -> tuple[float, float]:
    """Where a moment in a row is on the page."""
    box = page.locator(".timeline-canvas").bounding_box()
    assert box is not None
    start, end = state["range"]
    row = next(row for row in state["rows"] if row["label"] == label)
    x = state["left"] + (time_us * 1000 - start) / (end - start) * (state["width"] - state["left"])
    return box["x"] + x, box["y"] + row["y"] + 3 + (depth + 0.5) * row["sliceHeight"]


def test_a_trace_opens_with_its_lanes_and_every_slice(open_page: Open) -> None:
    state = settled(open_page())
    assert [(row["type"], row["label"], row["depths"]) for row in state["rows"]] == [
        ("group", "Host · trainer", 0),
        ("lane", "main", 2),
        ("lane", "thread 8", 1),
        ("group", "Counters", 0),
        ("counter", "memory · bytes", 0),
    ]
    assert (state["slices"], state["merged"], state["end"]) == (4, 0, 1_000_000)
    assert state["range"] == [-10_000, 1_010_000]
    assert not state["dark"]


def test_zoom_pan_undo_and_home(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.move(*point(page, state, 200, "main"))
    # Frames move the view on as long as a key is down, which may be long on a busy machine.
    with held_frames(page):
        page.keyboard.press("w")
    zoomed = debug(page)
    whole, part = (s["range"][1] - s["range"][0] for s in (state, zoomed))
    assert part == pytest.approx(whole / 1.6)
    x, _ = point(page, state, 200, "main")
    assert point(page, zoomed, 200, "main")[0] == pytest.approx(x, abs=0.5)
    with held_frames(page):
        page.keyboard.press("d")
    panned = debug(page)
    assert panned["range"][0] == pytest.approx(zoomed["range"][0] + 0.18 * part)
    # Moves in quick succession are one step to undo, or two steps on a slow machine.
    page.keyboard.press("z")
    page.keyboard.press("z")
    assert debug(page)["range"] == pytest.approx(state["range"])
    page.keyboard.press("w")
    page.keyboard.press("0")
    assert debug(page)["range"] == state["range"]


def test_alt_and_drag_zooms_to_a_range_and_drag_pans(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.keyboard.down("Alt")
    page.mouse.move(*point(page, state, 100, "main"))
    page.mouse.down()
    page.mouse.move(*point(page, state, 300, "main"), steps=4)
    page.mouse.up()
    page.keyboard.up("Alt")
    boxed = debug(page)
    assert boxed["range"] == pytest.approx([100_000, 300_000], abs=2_000)
    page.mouse.move(*point(page, boxed, 150, "main"))
    page.mouse.down()
    page.mouse.move(*point(page, boxed, 200, "main"), steps=4)
    page.mouse.up()
    assert debug(page)["range"] == pytest.approx([50_000, 250_000], abs=3_000)


def test_hover_and_click_tell_about_a_slice(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.move(*point(page, state, 200, "main", depth=1))
    assert debug(page)["hover"]["name"] == "matmul"
    assert "200.0 µs" in page.locator(".timeline-tip").inner_text()
    page.mouse.click(*point(page, state, 50, "main"))
    selected = wait_for(page, "d.selection !== null")
    assert selected["selection"] | {"related": True} == {
        "index": 0,
        "name": "forward",
        "start": 0,
        "duration": 500_000,
        "source": 0,
        "related": True,
    }
    drawer = page.locator(".timeline-drawer").inner_text()
    assert "500 µs" in drawer
    assert "[2, 3]" in drawer.replace("\n", " ")
    page.keyboard.press(".")
    assert wait_for(page, "d.selection.name === 'backward'")["selection"]["start"] == 600_000
    page.keyboard.press("f")
    low, high = debug(page)["range"]
    assert (low, high) == pytest.approx((550_000, 1_050_000), abs=25_000)
    page.keyboard.press("Escape")
    assert debug(page)["selection"] is None


def test_search_counts_and_steps_through_matches(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.keyboard.press("/")
    page.keyboard.type("ward")
    assert wait_for(page, "d.matches !== null")["matches"] == 2
    for name in ("forward", "backward", "forward"):
        page.keyboard.press("Enter")
        wait_for(page, f"d.selection?.name === '{name}'")
    page.keyboard.press("Shift+Enter")
    wait_for(page, "d.selection?.name === 'backward'")
    assert page.locator(".timeline-search-count").inner_text() == "2 of 2"
    page.keyboard.press("Escape")
    assert debug(page)["matches"] is None


def test_a_match_below_the_fold_is_scrolled_into_what_the_details_leave(open_page: Open, logdir: Path) -> None:
    # The details open with the first match and once covered the very slice that they were about.
    lanes = [{"ph": "X", "pid": 1, "tid": t, "ts": 0, "dur": 5, "name": f"lane {t}"} for t in range(60)]
    write_trace(logdir, "tall", json.dumps(lanes))
    page = open_page("tall")
    settled(page)
    page.keyboard.press("/")
    page.keyboard.type("lane 40")
    page.keyboard.press("Enter")
    state = wait_for(page, "d.selection !== null && d.scroll > 0")
    row = next(row for row in state["rows"] if row["label"] == "thread 40")
    assert state["top"] <= row["y"] <= state["height"] - row["height"]


def test_a_click_on_a_name_folds_and_unfolds(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    box = page.locator(".timeline-canvas").bounding_box()
    assert box is not None
    heading = box["x"] + 40, box["y"] + state["rows"][0]["y"] + 8
    page.mouse.click(*heading)
    assert [row["type"] for row in debug(page)["rows"]] == ["group", "group", "counter"]
    page.mouse.click(*heading)
    assert len(debug(page)["rows"]) == 5


def test_a_dense_row_is_merged_until_it_is_zoomed_into(open_page: Open) -> None:
    page = open_page("dense", "&timeline.range=5000000:5020000")
    near = settled(page)
    assert near["range"] == [5_000_000, 5_020_000]
    assert 20 <= near["slices"] <= 22
    assert near["merged"] == 0
    page.keyboard.press("0")
    far = wait_for(page, "d.merged > 100 && !d.loading")
    assert far["slices"] < far["width"]


def test_what_is_visible_stands_in_the_url_and_survives_a_reload(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.move(*point(page, state, 200, "main"))
    page.keyboard.press("w")
    seen = [round(time) for time in debug(page)["range"]]
    page.wait_for_function("() => location.search.includes('timeline.range=')")
    page.reload()
    assert settled(page)["range"] == seen


def test_a_stage_without_a_size_is_drawn_once_it_has_one(open_page: Open) -> None:
    page = open_page()
    width = settled(page)["width"]
    stage = page.locator(".timeline-stage")
    stage.evaluate("e => e.style.display = 'none'")
    wait_for(page, "d.width === 0")
    stage.evaluate("e => e.style.display = ''")
    assert wait_for(page, f"d.width === {width}")["slices"] == 4


def test_the_theme_changes_the_picture_at_once(open_page: Open) -> None:
    page = open_page(scheme="dark")
    assert settled(page)["dark"]
    corner = "document.querySelector('.timeline-canvas').getContext('2d').getImageData(600, 8, 1, 1).data[0]"
    dark = page.evaluate(corner)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    wait_for(page, "!d.dark")
    assert dark < 80 < 200 < page.evaluate(corner)


def test_a_broken_trace_says_so_and_another_can_be_chosen(open_page: Open) -> None:
    page = open_page("broken")
    expect(page.locator(".timeline-message")).to_contain_text("broken.trace.json is not a trace")
    page.locator(".timeline-choice input").first.click()
    page.get_by_role("option", name="small.trace.json").click()
    assert settled(page)["trace"] == "r|file|r/small.trace.json"


def test_a_trace_that_arrives_is_listed_and_moves_nothing(open_page: Open, logdir: Path) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.move(*point(page, state, 200, "main"))
    page.keyboard.press("w")
    before = debug(page)
    write_trace(logdir, "late", json.dumps(EVENTS))
    page.locator(".timeline-choice input").first.click()
    expect(page.get_by_role("option", name="late.trace.json")).to_be_visible()
    after = debug(page)
    assert (after["trace"], after["range"]) == (before["trace"], before["range"])
