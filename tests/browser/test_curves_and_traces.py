import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from stepscope.summary import SummaryWriter
from tests.browser.conftest import Dashboard, Held

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]
WALL = 1_700_000_000.0
"""When all runs of these tests began: step n is logged after n seconds."""
TAG = "train/loss"


def log(folder: Path, steps: range, *, first: int = 0) -> None:
    """Writes a run that logs step ``first + n`` after n seconds."""
    with SummaryWriter(str(folder)) as writer:
        for step in steps:
            writer.add_scalar(TAG, 1.0 / (1 + step), first + step, walltime=WALL + step)


def trace(folder: Path, steps: dict[int, tuple[float, float]], name: str = "a.trace.json") -> str:
    """Writes a trace of steps (number -> begin, end in seconds since `WALL`); returns its id if ``folder`` is a run."""
    path = folder / "plugins" / "profile" / "x" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "X", "pid": 1, "tid": 1, "ts": 0.0, "dur": 1.0, "name": "start"},
    ]
    base = min(begin for begin, _ in steps.values()) - 1.0
    for number, (begin, end) in steps.items():
        place = {"ts": (begin - base) * 1e6, "dur": (end - begin) * 1e6}
        events.append({"ph": "X", "pid": 1, "tid": 1, "name": f"ProfilerStep#{number}", **place})
        events.append({"ph": "X", "pid": 1, "tid": 1, "name": f"work {number}", **place})
    content = json.dumps({"traceEvents": events, "baseTimeNanoseconds": round((WALL + base) * 1e9)})
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    part.rename(path)
    return f"{folder.name}|file|{folder.name}/plugins/profile/x/{name}"


def open_page(page: Page, dashboard: Dashboard, **settings: str) -> None:
    query = {"tab": "scalars", "scalars.smoothing": "0"} | {
        f"scalars.{name}": value for name, value in settings.items()
    }
    page.goto(f"{dashboard.url}?{urlencode(query)}")


def bands(page: Page, count: int) -> list[dict[str, Any]]:
    """The bands of the card as drawn, once there are this many: the ends in data units, the strip and titles."""
    page.wait_for_function(
        """([tag, count]) => {
          const card = window.stepscope && stepscope.curveCards && stepscope.curveCards.find(tag);
          const plot = card && card.model && card.plot;
          return plot && plot.scene && plot.todo === 4 && stepscope.curves.placeSpans(plot.scene).length === count;
        }""",
        arg=[TAG, count],
    )
    found: list[dict[str, Any]] = page.evaluate(
        """(tag) => {
          const { scene } = stepscope.curveCards.find(tag).plot;
          return stepscope.curves.placeSpans(scene).map(({ x, w, lane, color, spans }) => ({
            x, w, lane, color, from: scene.sx.toData(x), to: scene.sx.toData(x + w),
            titles: spans.map(({ title }) => title),
          }));
        }""",
        TAG,
    )
    return found


def strip(page: Page, index: int = 0) -> tuple[float, float]:
    """A position on the page in the strip of a band."""
    x, y = page.evaluate(
        """([tag, index]) => {
          const { scene, element } = stepscope.curveCards.find(tag).plot;
          const { x, w } = stepscope.curves.placeSpans(scene)[index];
          const area = element.getBoundingClientRect();
          return [area.left + x + w / 2, area.top + scene.plot.y + scene.plot.h - 2];
        }""",
        [TAG, index],
    )
    return x, y


def at_step(page: Page, step: float) -> tuple[float, float]:
    """A position on the page in the middle of the chart."""
    x, y = page.evaluate(
        """([tag, step]) => {
          const { scene, element } = stepscope.curveCards.find(tag).plot;
          const area = element.getBoundingClientRect();
          return [area.left + scene.sx.toPx(step), area.top + scene.plot.y + scene.plot.h / 2];
        }""",
        [TAG, step],
    )
    return x, y


def on_the_timeline(page: Page) -> dict[str, str]:
    """The parameters of the Timeline once it is open."""
    expect(page.get_by_role("tab", name="Timeline", selected=True)).to_be_visible()
    query = parse_qs(urlsplit(page.url).query)
    return {name: values[0] for name, values in query.items() if name.startswith("timeline.")}


def test_profiled_steps_are_shaded_on_all_axes(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(101))
    trace(logdir / "a", {40: (39.5, 40.4), 41: (40.5, 41.4), 42: (41.5, 42.4), 60: (59.5, 60.4)}, "a.trace.json.gz")
    dashboard = serve(logdir)
    open_page(page, dashboard)
    first, second = bands(page, 2)
    assert (round(first["from"], 6), round(first["to"], 6)) == (39.5, 42.5)
    assert (round(second["from"], 6), round(second["to"], 6)) == (59.5, 60.5)
    assert first["titles"] == ["a: steps 40 to 42 profiled, click for the Timeline"]
    assert second["titles"] == ["a: step 60 profiled, click for the Timeline"]
    # The pixels show it, too: the band is tinted where its neighborhood is not.
    tinted = page.evaluate(
        """(tag) => {
          const { plot } = stepscope.curveCards.find(tag);
          const { scene, base, ratio } = plot;
          const at = (step) => {
            const [x, y] = [scene.sx.toPx(step), scene.plot.y + scene.plot.h * 0.3];
            const { data } = base.getContext("2d").getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1);
            return [...data].join();
          };
          return [at(41) !== at(36), at(46) === at(36)];
        }""",
        TAG,
    )
    assert tinted == [True, True]
    page.get_by_text("Relative", exact=True).click()
    page.wait_for_function("(tag) => stepscope.curveCards.find(tag).chart.x.kind === 'relative'", arg=TAG)
    first, second = bands(page, 2)
    assert (round(first["from"], 3), round(first["to"], 3)) == (39.5, 42.4)
    page.get_by_text("Wall", exact=True).click()
    page.wait_for_function("(tag) => stepscope.curveCards.find(tag).chart.x.kind === 'wall'", arg=TAG)
    first, second = bands(page, 2)
    assert (round(first["from"] - WALL, 3), round(first["to"] - WALL, 3)) == (39.5, 42.4)
    # Back before the answer has come.
    held = Held(page, "/curves")
    drawn = page.evaluate("stepscope.curveCards.drawn")
    page.get_by_text("Relative", exact=True).click()
    held.wait()
    page.get_by_text("Wall", exact=True).click()
    expect(page).to_have_url(re.compile("scalars.axis=wall"))
    held.release()
    page.wait_for_function("(drawn) => stepscope.curveCards.drawn >= drawn + 2", arg=drawn)
    assert page.evaluate("(tag) => stepscope.curveCards.find(tag).chart.x.kind", TAG) == "wall"


def test_a_click_on_the_strip_lands_on_the_slices_of_the_step(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(101))
    name = trace(logdir / "a", {40: (39.5, 40.5), 41: (40.5, 41.5)})
    open_page(page, serve(logdir))
    bands(page, 1)
    page.mouse.move(*strip(page))
    expect(page.locator("#hover")).to_have_text("a: steps 40 to 41 profiled, click for the Timeline")
    page.mouse.click(at_step(page, 41)[0], strip(page)[1])
    start, end = 2_000_000_000, 3_000_000_000
    assert on_the_timeline(page) == {
        "timeline.trace": name,
        "timeline.range": f"{start - 80_000_000}:{end + 80_000_000}",
    }


def test_a_marked_step_leads_to_the_timeline_or_says_which_is_nearest(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(101), first=5000)
    name = trace(logdir / "a", {1: (39.5, 40.5), 2: (40.5, 41.5)})
    open_page(page, serve(logdir))
    bands(page, 1)
    page.mouse.click(*at_step(page, 5080))
    button = page.locator(".act-profiled")
    expect(button).to_have_text("Nearest profiled step: 5,041")
    page.keyboard.press("Escape")
    expect(button).to_have_count(0)
    page.mouse.click(*at_step(page, 5040))
    expect(button).to_have_text("Show step 5,040 on the Timeline")
    expect(button).to_have_attribute(
        "title", "Step 5,040 in a.trace.json, joined by wall time: the trace calls it step 1"
    )
    button.click()
    start, end = 1_000_000_000, 2_000_000_000
    assert on_the_timeline(page) == {
        "timeline.trace": name,
        "timeline.range": f"{start - 80_000_000}:{end + 80_000_000}",
    }


def test_the_cursor_tells_of_a_profiled_step_and_enter_shows_it(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(101))
    name = trace(logdir / "a", {2: (1.5, 2.5)})
    open_page(page, serve(logdir))
    bands(page, 1)
    page.locator(".curve").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#hover .more")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#hover .more")).to_have_text("Step 2 profiled: right click or Enter for the Timeline")
    page.keyboard.press("Enter")
    assert on_the_timeline(page)["timeline.trace"] == name


def test_where_several_runs_were_profiled_a_menu_asks_which(serve: Serve, page: Page, logdir: Path) -> None:
    names = []
    for run in ("a", "b"):
        log(logdir / run, range(101))
        names.append(trace(logdir / run, {40: (39.5, 40.5)}))
    open_page(page, serve(logdir))
    first, second = bands(page, 2)
    assert (first["lane"], second["lane"]) == (0, 1)
    page.mouse.click(*at_step(page, 40), button="right")
    entries = page.get_by_role("menuitem")
    expect(entries).to_have_text(["Show step 40 on the Timeline (a)", "Show step 40 on the Timeline (b)"])
    entries.nth(1).click()
    assert on_the_timeline(page)["timeline.trace"] == names[1]


def test_bands_follow_the_runs_and_the_switch_and_the_address(serve: Serve, page: Page, logdir: Path) -> None:
    for run, step in (("a", 20), ("b", 60)):
        log(logdir / run, range(101))
        trace(logdir / run, {step: (step - 0.5, step + 0.5)})
    open_page(page, serve(logdir))
    bands(page, 2)
    page.evaluate("() => stepscope.view.toggle('hide', 'a', true)")
    [left] = bands(page, 1)
    assert left["titles"] == ["b: step 60 profiled, click for the Timeline"]
    page.get_by_role("switch", name="Profiled steps").click()
    bands(page, 0)
    expect(page).to_have_url(re.compile("scalars.profiled=off"))
    page.reload()
    bands(page, 0)
    page.get_by_role("switch", name="Profiled steps").click()
    bands(page, 1)


def test_many_traces_of_one_run_merge_where_they_touch(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(2001))
    for step in (*range(0, 200, 2), 1500):
        trace(logdir / "a", {step: (step - 0.4, step + 0.4)}, f"{step:04}.trace.json")
    open_page(page, serve(logdir))
    page.wait_for_function(
        """(tag) => {
          const card = window.stepscope && stepscope.curveCards && stepscope.curveCards.find(tag);
          return card && card.model && card.model.spans.length === 101;
        }""",
        arg=TAG,
    )
    merged, single = bands(page, 2)
    assert len(merged["titles"]) == 100
    # As precisely as pixels allow.
    assert 0 <= merged["from"] < 1
    assert 198 <= merged["to"] < 206
    assert single["w"] == 2
    page.mouse.move(*strip(page))
    expect(page.locator("#hover")).to_contain_text("and 94 more")


def test_back_from_the_timeline_the_step_is_marked_and_its_run_shown(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(101))
    log(logdir / "b", range(101), first=700)
    name = trace(logdir / "b", {3: (39.5, 40.5)})
    dashboard = serve(logdir)
    query = {"tab": "timeline", "hide": "b", "scalars.axis": "wall", "scalars.range": f"{TAG}:1,2,,,,"}
    page.goto(f"{dashboard.url}?{urlencode(query)}")
    expect(page.get_by_role("tab", name="Timeline", selected=True)).to_be_visible()
    row = page.evaluate("(id) => stepscope.curves.stepsOf(id)", name)
    assert (row["runs"], row["joined"]) == (["b"], "time")
    assert row["steps"] == [[740, 1_000_000_000, 1_000_000_000, 3, WALL + 39.5, WALL + 40.5]]
    page.evaluate("() => stepscope.curves.showStep('b', 740)")
    expect(page.get_by_role("tab", name="Scalars", selected=True)).to_be_visible()
    expect(page.locator(".dock header")).to_contain_text("at step 740")
    expect(page.locator(".act-profiled")).to_have_text("Show step 740 on the Timeline")
    view = parse_qs(urlsplit(page.url).query)
    assert "hide" not in view
    assert "scalars.range" not in view
    assert view["scalars.marks"] == [f"card:{TAG}", "a:740"]
    page.go_back()
    expect(page.get_by_role("tab", name="Timeline", selected=True)).to_be_visible()


def test_a_trace_that_comes_while_the_page_is_open_is_shaded(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(101))
    open_page(page, serve(logdir))
    bands(page, 0)
    requested = page.evaluate(
        "() => performance.getEntriesByType('resource').filter((e) => e.name.includes('/steps')).length"
    )
    assert requested == 0
    trace(logdir / "a", {40: (39.5, 40.5)})
    [one] = bands(page, 1)
    assert one["titles"] == ["a: step 40 profiled, click for the Timeline"]


def test_a_damaged_trace_and_one_without_steps_change_nothing(serve: Serve, page: Page, logdir: Path) -> None:
    log(logdir / "a", range(101))
    trace(logdir / "a", {40: (39.5, 40.5)})
    (logdir / "a" / "plugins" / "profile" / "x" / "bad.trace.json").write_text("{")
    empty = {"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "x"}]}
    (logdir / "a" / "plugins" / "profile" / "x" / "none.trace.json").write_text(json.dumps(empty))
    open_page(page, serve(logdir))
    bands(page, 1)
