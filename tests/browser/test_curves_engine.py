"""The chart engine of curves on a blank page: its numbers, pixels, SVG text and hooks."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from stepscope.dashboard.page import bundle
from tests.browser.scripts import script_of

pytestmark = pytest.mark.browser

MINUS = "\u2212"
HELPERS = """
window.seen = [];
window.linear = {scale: "linear", range: null};
window.line = (id, x, y, more) => {
  const points = {x: Float64Array.from(x), y: Float64Array.from(y)};
  return {id, label: id, color: "#ff0000", axis: "y", ...points, ...more};
};
// Notes in `seen` which steps of a drawing are done.
window.spy = () => {
  for (const step of ["drawStill", "drawRaw", "drawLines", "drawOverlay"]) {
    const old = window.chart[step];
    window.chart[step] = function () { window.seen.push(step); old.call(this); };
  }
};
// The size of the chart's PNG, and how much of it is red.
window.picture = async () => {
  const picture = await createImageBitmap(await window.stepscope.curves.pngOf(window.chart, "Title", 2));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width, picture.height];
  canvas.getContext("2d").drawImage(picture, 0, 0);
  return [picture.width, picture.height, window.count(canvas, [0, 0, picture.width, picture.height], window.red)];
};
// Where a picture of 150 x 100 pixels has its plot if every label is 10 pixels wide.
window.planned = () => {
  const box = {width: 150, height: 158, top: 30, bottom: 28};
  const scene = window.stepscope.curves.layOut(window.chart.model, window.chart.ranges, box, () => 10);
  return {plot: scene.plot, ticks: scene.xTicks.labels.concat(scene.yTicks.labels)};
};
window.checkXml = (text) => {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  if (parsed.querySelector("parsererror")) throw new Error(text);
};
window.show = (model, hooks = {}) => {
  const element = document.querySelector(".chart");
  window.chart = window.stepscope.curves.create(element, hooks);
  window.chart.setModel({x: window.linear, y: window.linear, ...model});
};
// The share of device pixels of a canvas in a box (CSS pixels) whose color satisfies a test.
window.count = (canvas, box, test) => {
  const ratio = window.devicePixelRatio;
  const [x, y, w, h] = box.map((v) => Math.round(v * ratio));
  const {data} = canvas.getContext("2d").getImageData(x, y, w, h);
  let n = 0;
  for (let i = 0; i < data.length; i += 4) if (test(data[i], data[i + 1], data[i + 2], data[i + 3])) n += 1;
  return n;
};
window.red = (r, g, b) => r > 200 && g < 90 && b < 90;
window.at = (x, y) => [window.chart.scene.sx.toPx(x), window.chart.scene.sy.toPx(y)];
window.around = (x, y, r = 4) => { const [px, py] = window.at(x, y); return [px - r, py - r, 2 * r, 2 * r]; };
window.redAround = (x, y, r = 4) => window.count(window.chart.base, window.around(x, y, r), window.red);
"""


def prepare(page: Page) -> None:
    """Puts the engine and one empty element of 400 x 240 pixels into a page."""
    page.set_content('<!doctype html><body><div class="chart"></div></body>')
    page.add_style_tag(content="body { margin: 0 } .chart { width: 400px; height: 240px; font: 11px sans-serif }")
    page.add_style_tag(path=str(bundle.ROOT / "web" / "lines" / "curves.css"))
    page.add_script_tag(content=script_of("lines.ts"))
    page.add_script_tag(content=HELPERS)


@pytest.fixture
def blank(page: Page) -> Page:
    """A page with the engine, for one test."""
    prepare(page)
    return page


@pytest.fixture(scope="module")
def engine(browser: Browser) -> Iterator[Page]:
    """A page with the engine, for all tests that only compute."""
    opened = browser.new_page()
    prepare(opened)
    yield opened
    opened.close()


def show(page: Page, model: str, hooks: str = "{}") -> None:
    """Shows a model (JavaScript) and waits until it is drawn."""
    page.evaluate(f"() => show({model}, {hooks})")
    drawn(page)


def drawn(page: Page) -> None:
    page.wait_for_function("() => chart.scene && chart.todo === 4 && chart.base.width > 0")


def call(page: Page, expression: str) -> Any:
    return page.evaluate(f"() => {expression}")


def ticks(page: Page, expression: str) -> str:
    """The labels on one line, with the context in brackets."""
    found = call(page, f"stepscope.curves.{expression}")
    return " ".join(found["labels"]) + (f" [{found['context']}]" if found["context"] else "")


@pytest.mark.parametrize(
    ("arguments", "labels"),
    [
        ("0, 1, 5", "0 0.2 0.4 0.6 0.8 1"),
        ("-0.3, 0.3, 6", f"{MINUS}0.3 {MINUS}0.2 {MINUS}0.1 0 0.1 0.2 0.3"),
        ("0, 2500, 5", "0 500 1k 1.5k 2k 2.5k"),
        ("0, 2e6, 5", "0 500k 1M 1.5M 2M"),
        ("0, 4e-5, 4", f"0 1e{MINUS}5 2e{MINUS}5 3e{MINUS}5 4e{MINUS}5"),
        ("0.0008, 0.0012, 4", "0.0008 0.0009 0.001 0.0011 0.0012"),
        ("1e15, 9e15, 4", "2e15 4e15 6e15 8e15"),
        ("1e15, 1e15 + 1000, 2", "1,000,000,000,000,000 1,000,000,000,000,500 1,000,000,000,001,000"),
        ("1234567, 1234569, 2", "1,234,567 1,234,568 1,234,569"),
        ("-5e307, 5e307, 4", f"{MINUS}4e307 {MINUS}2e307 0 2e307 4e307"),
        ("0, 3, 8, true", "0 1 2 3"),
        ("1, 1, 4", "1"),
    ],
)
def test_linear_ticks_are_round_and_their_labels_tell_them_apart(engine: Page, arguments: str, labels: str) -> None:
    assert ticks(engine, f"linearTicks({arguments})") == labels


@pytest.mark.parametrize(
    ("arguments", "labels"),
    [
        ("1, 1000, 8", "1 2 5 10 20 50 100 200 500 1k"),
        ("1e-8, 1, 5", f"1e{MINUS}8 1e{MINUS}6 1e{MINUS}4 1e{MINUS}2 1"),
        ("1e-300, 1e300, 5", f"1e{MINUS}240 1e{MINUS}120 1 1e120 1e240"),
        ("2, 3, 5", "2 2.2 2.4 2.6 2.8 3"),
        ("3, 80, 2", "5 10 20 50"),
    ],
)
def test_log_ticks_are_powers_of_ten_and_their_parts_where_there_is_room(
    engine: Page, arguments: str, labels: str
) -> None:
    assert ticks(engine, f"logTicks({arguments})") == labels


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (0.5, "16:46:40.0 16:46:40.1 16:46:40.2 16:46:40.3 16:46:40.4 16:46:40.5 [21 Nov 2025]"),
        (20, "16:46:40 16:46:45 16:46:50 16:46:55 16:47:00 [21 Nov 2025]"),
        (600, "16:48 16:50 16:52 16:54 16:56 [21 Nov 2025]"),
        (90_000, "18:00 22 Nov 06:00 12:00 [21 Nov 2025]"),
        (400_000, "22 Nov 23 Nov 24 Nov 25 Nov 26 Nov [2025]"),
        (20_000_000, "2026 Mar May Jul [2025]"),
        (1_000_000_000, "2030 2040 2050"),
    ],
)
def test_time_ticks_lie_on_the_calendar_of_local_time(engine: Page, seconds: float, labels: str) -> None:
    assert ticks(engine, f"timeTicks(1763740000, 1763740000 + {seconds}, 5, () => 3600)") == labels


def test_numbers_for_people(engine: Page) -> None:
    values = "[0, -0, 1.23456, 12345.678, 1e-7, -1500, 1e308, 5e-324, NaN, Infinity, -Infinity]"
    assert call(engine, f"{values}.map((v) => stepscope.curves.formatNumber(v))") == [
        *("0", "0", "1.235", "12.35k", f"1e{MINUS}7", f"{MINUS}1.5k", "1e308", f"4.941e{MINUS}324"),
        *("NaN", "\u221e", f"{MINUS}\u221e"),
    ]


def test_the_nearest_number_is_found_in_any_order(engine: Page) -> None:
    probe = "[-1, 1, 1.6, 4, 99].map((v) => stepscope.curves.nearestIndex(values, v))"
    assert call(engine, f"{{ const values = [0, 1, 2, 2, 5]; return {probe}; }}") == [0, 1, 2, 4, 4]
    assert call(engine, f"{{ const values = [5, NaN, 2, 1, 0]; return {probe}; }}") == [4, 3, 2, 0, 0]
    assert call(engine, f"{{ const values = []; return {probe}; }}") == [-1] * 5


def test_decimation_keeps_what_is_seen_of_a_column_and_its_gaps(engine: Page) -> None:
    points = "[0.1, 5, 0.2, 9, 0.3, 1, 0.4, 4, 0.5, 4, 1.1, 7, NaN, NaN, 1.2, 3, 2.5, 3]"
    found = call(engine, f"Array.from(stepscope.curves.decimate({points}, 9), String)")
    assert " ".join(found) == "0.1 5 0.2 9 0.3 1 0.5 4 1.1 7 NaN NaN 1.2 3 2.5 3"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('"linear", [0, 10], 0.05', [-0.5, 10.5]),
        ('"linear", [3, 3], 0.05', [2.7, 3.3]),
        ('"linear", [0, 0], 0.05', [-1, 1]),
        ('"linear", null, 0.05', [0, 1]),
        ('"linear", [7, 7], 0, true', [6, 8]),
        ('"time", [100, 100], 0', [70, 130]),
        ('"log", [3, 3], 0.05', [1, 9]),
        ('"log", null, 0', [1, 10]),
        ('"linear", [-1.7e308, 1.7e308], 0.05', [-8e307, 8e307]),
    ],
)
def test_a_range_fits_the_data(engine: Page, arguments: str, expected: list[float]) -> None:
    assert call(engine, f"stepscope.curves.fitRange({arguments})") == pytest.approx(expected)


def test_a_tiny_chart_as_svg(blank: Page) -> None:
    show(
        blank,
        """{lines: [line("a<b>&\\"", [0, 1, 2, 3], [0, NaN, 2, 1], {raw: Float64Array.of(0, 1, 2, 1)})],
            x: {scale: "linear", range: [0, 4], integer: true}, y: {scale: "linear", range: [0, 2], label: "y<"},
            marks: [{x: 1, edge: "top", shape: "diamond", color: "#00ff00", title: "'NaN'"}],
            rules: [{x: 2, label: "restart", title: "", style: "dashed"}]}""",
    )
    blank.evaluate("document.querySelector('.chart').style.cssText = 'width: 150px; height: 100px; font-family: Test'")
    blank.wait_for_function("() => chart.size.width === 150")
    # The plot in this box, without the letter widths of this machine.
    svg = call(blank, "stepscope.curves.svgOf(chart, 'One & <two>')")
    lines = svg.splitlines()
    plot = call(blank, "planned()")
    assert plot == {
        "plot": {"x": 36, "y": 39, "w": 98, "h": 71},
        "ticks": ["0", "2", "4", "0", "1", "2"],
    }
    assert lines[0] == (
        '<svg xmlns="http://www.w3.org/2000/svg" width="150" height="158" viewBox="0 0 150 158" '
        'font-family="Test" style="font-variant-numeric:tabular-nums">'
    )
    assert [line for line in lines if ">One " in line] == [
        '<text x="16" y="22.9" fill="#1c2330" font-size="14" font-weight="600">One &amp; &lt;two&gt;</text>'
    ]
    assert [line.split(">")[1].split("<")[0] for line in lines if line.startswith("<text")] == [
        *("0", "1", "2", "0", "2", "4", "y&lt;", "restart", "One &amp; &lt;two&gt;", "a&lt;b&gt;&amp;&quot;")
    ]
    assert [line for line in lines if "stroke-linejoin" in line or line.startswith("<circle")] == [
        '<path d="M36 110L60.5 74.5L85 39L109.5 74.5" fill="none" stroke="#ff0000" stroke-width="1" '
        'stroke-opacity="0.28" stroke-linejoin="round" stroke-linecap="round"/>',
        '<circle cx="36" cy="110" r="2.5" fill="#ff0000"/>',
        '<path d="M85 39L109.5 74.5" fill="none" stroke="#ff0000" stroke-width="1.5" '
        'stroke-linejoin="round" stroke-linecap="round"/>',
    ]
    blank.evaluate("(svg) => checkXml(svg)", svg)


def test_a_line_is_drawn_with_its_gaps_and_a_point_alone_is_a_dot(blank: Page) -> None:
    show(blank, "{lines: [line('a', [0, 1, 2, 3, 4, 5, 6, 7, 8], [1, 1, NaN, 1, Infinity, 1, 1, NaN, 2])]}")
    [on_line, gap, dot, beside, end] = [
        call(blank, f"redAround({x}, {y})") for x, y in ((0.5, 1), (2, 1), (3, 1), (2.5, 1), (8, 2))
    ]
    assert on_line >= 8
    assert (gap, beside) == (0, 0)
    assert 10 <= dot <= 30
    assert end > 0


def test_one_point_is_in_the_middle(blank: Page) -> None:
    show(blank, "{lines: [line('a', [7], [3])], x: {scale: 'linear', range: null, integer: true}}")
    assert call(blank, "chart.visibleRange()") == {"x": [6, 8], "y": [pytest.approx(2.7), pytest.approx(3.3)]}
    assert call(blank, "redAround(7, 3)") > 10


def test_one_spot_that_is_there_twice_is_a_dot(blank: Page) -> None:
    # It once was a line from the spot to itself, one pixel wide: the chart looked empty.
    show(blank, "{lines: [line('a', [7, 7], [3, 3])]}")
    assert call(blank, "redAround(7, 3)") > 10


def test_a_log_axis_leaves_out_what_it_cannot_show(blank: Page) -> None:
    show(blank, "{lines: [line('a', [0, 1, 2, 3, 4], [1, 100, -5, 0, 10])], y: {scale: 'log', range: [1, 100]}}")
    [[_, low], [_, middle], [_, high]] = [call(blank, f"at(0, {y})") for y in (1, 10, 100)]
    assert middle == pytest.approx((low + high) / 2)
    assert call(blank, "redAround(0.5, 10)") > 5
    assert call(blank, "redAround(4, 10)") > 10
    assert call(blank, "count(chart.base, around(2, 10, 20), red)") == 0


def test_a_log_axis_over_nothing_positive_says_so(blank: Page) -> None:
    show(blank, "{lines: [line('a', [0, 1], [-1, 0])], y: {scale: 'log', range: null}, empty: 'nothing'}")
    assert "No values above zero to show on a log axis" in call(blank, "stepscope.curves.svgOf(chart, '')")


@pytest.mark.parametrize("lines", ["[]", "[line('a', [], [])]", "[line('a', [1, 2], [NaN, Infinity])]"])
def test_nothing_to_draw_is_said(blank: Page, lines: str) -> None:
    show(blank, f"{{lines: {lines}, empty: 'No steps'}}")
    assert ">No steps</text>" in call(blank, "stepscope.curves.svgOf(chart, '')")
    assert call(blank, "count(chart.base, [0, 0, 400, 240], red)") == 0


def test_extreme_numbers_are_drawn(blank: Page) -> None:
    show(blank, "{lines: [line('a', [1e15, 1e15 + 1, 1e15 + 2], [-1.7e308, 0, 1.7e308])]}")
    assert call(blank, "chart.visibleRange().x") == [1e15, 1e15 + 2]
    assert call(blank, "redAround(1e15 + 1, 0)") > 4
    labels = call(blank, "chart.scene.xTicks.labels")
    assert len(set(labels)) == len(labels)


def test_two_axes(blank: Page) -> None:
    show(
        blank,
        """{lines: [line('a', [0, 1], [0, 1]), line('b', [0, 1], [2e6, 1e6], {axis: 'y2', color: '#0000ff'})],
            y2: {scale: 'linear', range: null, label: 'b'}}""",
    )
    assert call(blank, "chart.scene.y2Ticks.labels") == ["1M", "1.2M", "1.4M", "1.6M", "1.8M", "2M"]
    assert call(blank, "chart.visibleRange()") == {"x": [0, 1], "y": [-0.05, 1.05], "y2": [950_000, 2_050_000]}
    assert call(blank, "chart.scene.width - chart.scene.plot.x - chart.scene.plot.w") > 40
    blue = "(r, g, b) => b > 200 && r < 90"
    assert (
        call(
            blank,
            f"count(chart.base, [chart.scene.sx.toPx(0) - 2, chart.scene.sy2.toPx(2e6) - 3, 8, 8], {blue})",
        )
        > 4
    )


def test_a_cursor_puts_a_dot_on_every_line_that_is_there(blank: Page) -> None:
    show(
        blank,
        """{lines: [line('a', [0, 10, 20], [0, 0, 0]), line('b', [0, 9, 14], [1, 1, 1]),
            line('c', [8, 12], [2, NaN]), line('d', [0, 5], [3, 3])]}""",
    )
    assert call(blank, "chart.nearest(11)") == [
        {"id": "a", "index": 1, "x": 10, "y": 0},
        {"id": "b", "index": 1, "x": 9, "y": 1},
        {"id": "c", "index": 1, "x": 12, "y": pytest.approx(float("nan"), nan_ok=True)},
        {"id": "d", "index": 1, "x": 5, "y": 3},
    ]
    call(blank, "chart.showCursor(11)")
    drawn(blank)
    dots = [call(blank, f"count(chart.over, around({x}, {y}), red)") for x, y in ((10, 0), (9, 1), (12, 2), (5, 3))]
    assert [n > 20 for n in dots] == [True, True, False, False]
    rule = "{ const [x] = at(11, 0); return count(chart.over, [x - 1, 20, 3, 10], (r, g, b, a) => a > 100); }"
    assert call(blank, rule) == 10
    call(blank, "chart.showCursor(null)")
    drawn(blank)
    assert call(blank, "count(chart.over, [0, 0, 400, 240], (r, g, b, a) => a > 0)") == 0


def test_moving_the_cursor_draws_only_the_overlay(blank: Page) -> None:
    show(blank, "{lines: [line('a', [0, 1], [0, 1])]}")
    call(blank, "spy()")
    call(blank, "chart.showCursor(0.5)")
    drawn(blank)
    assert call(blank, "seen.splice(0)") == ["drawOverlay"]
    call(blank, "chart.setLines(new Map([['a', Float64Array.of(1, 0)]]))")
    drawn(blank)
    assert call(blank, "seen.splice(0)") == ["drawLines", "drawOverlay"]
    call(blank, "chart.setLines(new Map([['a', Float64Array.of(5, 0)]]))")
    drawn(blank)
    assert call(blank, "seen.splice(0)") == ["drawStill", "drawRaw", "drawLines", "drawOverlay"]
    call(blank, "stepscope.curves.redrawAll()")
    drawn(blank)
    assert call(blank, "seen.splice(0)") == ["drawStill", "drawRaw", "drawLines", "drawOverlay"]


def test_emphasis_dims_the_other_lines(blank: Page) -> None:
    show(blank, "{lines: [line('a', [0, 1], [0, 0]), line('b', [0, 1], [1, 1])]}")
    call(blank, "chart.highlight(['b'])")
    drawn(blank)
    assert call(blank, "[redAround(0.5, 0), redAround(0.5, 1) > 8]") == [0, True]
    call(blank, "chart.highlight(null)")
    drawn(blank)
    assert call(blank, "redAround(0.5, 0) > 4")


HOOKS = """{onZoom: (range) => seen.push(["zoom", range && range.changed]), onLeave: () => seen.push(["leave"]),
  onCursor: (x, y) => seen.push(["cursor", x, y]), onClick: (x, y, event, id) => seen.push(["click", id]),
  onMarkHover: (mark) => seen.push(["mark", mark && mark.title])}"""
RAMP = "{lines: [line('a', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])]}"


def drag(page: Page, start: tuple[float, float], end: tuple[float, float], *, let_go: bool = True) -> None:
    """Drags between two positions in data units."""
    [[xa, ya], [xb, yb]] = [call(page, f"at({x}, {y})") for x, y in (start, end)]
    page.mouse.move(xa, ya)
    page.mouse.down()
    page.mouse.move(xb, yb, steps=3)
    if let_go:
        page.mouse.up()


def events(page: Page, *names: str) -> list[Any]:
    """The calls of the named hooks, without those for the pointer's movements."""
    return [entry for entry in json.loads(call(page, "JSON.stringify(seen)")) if entry[0] in names]


def test_a_drag_zooms_into_its_box_and_a_double_click_goes_back(blank: Page) -> None:
    show(blank, RAMP, HOOKS)
    drag(blank, (2, 2), (6, 8))
    drawn(blank)
    shown = call(blank, "chart.visibleRange()")
    assert shown == {"x": pytest.approx([2, 6], abs=0.05), "y": pytest.approx([2, 8], abs=0.1)}
    blank.mouse.dblclick(200, 100)
    drawn(blank)
    assert call(blank, "chart.visibleRange()") == {"x": [0, 10], "y": [-0.5, 10.5]}
    assert events(blank, "zoom") == [["zoom", ["x", "y"]], ["zoom", None]]


def test_a_flat_drag_zooms_one_axis_and_the_other_fits_again(blank: Page) -> None:
    show(blank, RAMP, HOOKS)
    drag(blank, (2, 5), (6, 5.3))
    drawn(blank)
    shown = call(blank, "chart.visibleRange()")
    assert shown["x"] == pytest.approx([2, 6], abs=0.05)
    assert shown["y"][0] > 1
    assert shown["y"][1] < 7
    call(blank, "chart.setZoom(null)")
    drawn(blank)
    drag(blank, (5, 2), (5.1, 8))
    drawn(blank)
    assert call(blank, "chart.visibleRange()") == {"x": [0, 10], "y": pytest.approx([2, 8], abs=0.1)}
    assert events(blank, "zoom") == [["zoom", ["x"]], ["zoom", ["y"]]]


def test_escape_ends_a_drag_and_shift_moves(blank: Page) -> None:
    show(blank, RAMP, HOOKS)
    drag(blank, (2, 2), (6, 8), let_go=False)
    blank.keyboard.press("Escape")
    blank.mouse.up()
    assert call(blank, "chart.visibleRange()") == {"x": [0, 10], "y": [-0.5, 10.5]}
    blank.keyboard.down("Shift")
    drag(blank, (5, 5), (4, 5))
    blank.keyboard.up("Shift")
    drawn(blank)
    assert call(blank, "chart.visibleRange().x") == pytest.approx([1, 11], abs=0.05)
    assert events(blank, "zoom") == [["zoom", ["x", "y"]]]


def test_a_finger_zooms_and_two_do_not(blank: Page) -> None:
    show(blank, RAMP, HOOKS)
    client = blank.context.new_cdp_session(blank)

    def touch(kind: str, *places: int) -> None:
        points = [dict(zip("xy", call(blank, f"at({place}, 5)"), strict=True)) for place in places]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 4)
    touch("touchStart", 4, 6)
    touch("touchMove", 2, 8)
    touch("touchEnd")
    touch("touchStart", 2)
    touch("touchMove", 6)
    touch("touchEnd")
    drawn(blank)
    assert events(blank, "zoom") == [["zoom", ["x"]]]
    assert call(blank, "chart.visibleRange().x") == pytest.approx([2, 6], abs=0.05)


def test_a_wheel_with_control_zooms_around_the_pointer(blank: Page) -> None:
    show(blank, RAMP, HOOKS)
    x, y = call(blank, "at(2, 5)")
    blank.mouse.move(x, y)
    blank.mouse.wheel(0, -100)
    assert call(blank, "chart.visibleRange().x") == [0, 10]
    blank.keyboard.down("Control")
    blank.mouse.wheel(0, -100)
    blank.keyboard.up("Control")
    blank.wait_for_function("() => seen.some(([name]) => name === 'zoom')")
    lo, hi = call(blank, "chart.visibleRange().x")
    assert 0 < lo < 2 < hi < 10
    assert (2 - lo) / (hi - lo) == pytest.approx(0.2, abs=0.01)


def test_the_pointer_the_click_and_the_marks_are_told(blank: Page) -> None:
    show(
        blank,
        RAMP.replace("]}", "], marks: [{x: 8, y: 2, shape: 'dot', color: '#00ff00', title: 'best'}]}", 1).replace(
            "]}]", "]}"
        ),
        HOOKS,
    )
    x, y = call(blank, "at(5, 5)")
    blank.mouse.move(x, y)
    blank.wait_for_function("() => seen.length > 0")
    blank.mouse.click(x, y)
    blank.mouse.click(*call(blank, "at(2, 8)"))
    blank.mouse.move(*call(blank, "at(8, 2)"))
    blank.wait_for_function("() => seen.some(([name, title]) => name === 'mark' && title)")
    blank.mouse.move(600, 500)
    blank.wait_for_function("() => seen.some(([name]) => name === 'leave')")
    [name, *at] = events(blank, "cursor")[0]
    assert (name, at) == ("cursor", pytest.approx([5, 5], abs=0.1))
    assert events(blank, "click") == [["click", "a"], ["click", None]]
    assert events(blank, "mark") == [["mark", "best"], ["mark", None]]
    assert events(blank, "leave") == [["leave"]]


SPANS = """[
  {x0: 0, x1: 1, color: "#ff0000", title: "a"}, {x0: 1.02, x1: 1.5, color: "#ff0000", title: "b"},
  {x0: 8, x1: 8, color: "#ff0000", title: "c"}, {x0: 0, x1: 1, color: "#0000ff", title: "d"},
  {x0: 20, x1: 30, color: "#ff0000", title: "out of sight"}
]"""


def boxes(page: Page) -> list[list[Any]]:
    """Lane, beginning and end in data units, and titles of the boxes that are drawn for spans."""
    found: list[list[Any]] = page.evaluate(
        """() => stepscope.curves.placeSpans(chart.scene).map(({ x, w, lane, spans }) =>
          [lane, chart.scene.sx.toData(x), chart.scene.sx.toData(x + w), spans.map((span) => span.title).join("")])"""
    )
    return [[lane, round(start, 2), round(end, 2), titles] for lane, start, end, titles in found]


def test_spans_of_one_color_that_touch_are_one(blank: Page) -> None:
    show(blank, f"{{lines: [line('a', [0, 10], [1, 2])], spans: {SPANS}}}", "{onMarkHover: (mark) => seen.push(mark)}")
    least = 2 / blank.evaluate("() => chart.scene.plot.w") * 10
    assert boxes(blank) == [
        [0, 0, 1.5, "ab"],
        [0, round(8 - least / 2, 2), round(8 + least / 2, 2), "c"],
        [1, 0, 1, "d"],
    ]
    x, y, w, h = (blank.evaluate(f"() => chart.scene.plot.{name}") for name in "xywh")
    reported = []
    for share, high in ((0.05, y + h - 2), (0.8, y + h - 2), (0.05, y + h / 2), (0.075, y + 2), (0.5, y + h - 2)):
        reported.append(blank.evaluate(f"() => (chart.markAt({x + share * w}, {high}) || {{}}).title || null"))
    assert reported == ["a\nb\nd", "c", None, "a\nb", None]
    same = f"() => chart.markAt({x + 0.05 * w}, {y + h - 2}) === chart.markAt({x + 0.06 * w}, {y + h - 2})"
    assert blank.evaluate(same)


def test_a_span_from_zero_begins_at_the_edge_of_a_log_axis(blank: Page) -> None:
    spans = "[{x0: -0.5, x1: 10, color: '#ff0000', title: 'a'}, {x0: -3, x1: -2, color: '#ff0000', title: 'b'}]"
    axis = "{scale: 'log', range: null}"
    show(blank, f"{{lines: [line('a', [1, 100], [1, 2])], x: {axis}, spans: {spans}}}")
    assert boxes(blank) == [[0, 1, 10, "a"]]


def test_keys_move_the_cursor_and_zoom(blank: Page) -> None:
    show(blank, RAMP, HOOKS)
    blank.focus(".chart")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        blank.keyboard.press(key)
    assert events(blank, "cursor") == [["cursor", 0, 0], ["cursor", 1, 1], ["cursor", 2, 2], ["cursor", 1, 1]]
    blank.keyboard.press("+")
    assert call(blank, "chart.visibleRange().x") == pytest.approx([0.3, 7.3])
    blank.keyboard.press("0")
    assert call(blank, "chart.visibleRange().x") == [0, 10]
    assert call(blank, "document.querySelector('.chart').getAttribute('aria-label')") == "Line chart of a"


def test_keys_begin_at_the_first_and_the_last_point_in_view(blank: Page) -> None:
    show(blank, RAMP, HOOKS)
    blank.focus(".chart")
    for key, zoom in (("ArrowRight", "[2.4, 7.6]"), ("ArrowLeft", "[4.4, 6.6]"), ("ArrowRight", "[8.2, 9.8]")):
        call(blank, f"chart.setZoom({{x: {zoom}}})")
        drawn(blank)
        blank.keyboard.press(key)
    call(blank, "chart.setZoom({x: [1.2, 1.8]})")
    drawn(blank)
    blank.keyboard.press("ArrowRight")
    assert events(blank, "cursor") == [["cursor", 3, 3], ["cursor", 6, 6], ["cursor", 9, 9]]


def test_a_chart_follows_the_size_of_its_element_and_leaves_it_empty(blank: Page) -> None:
    show(blank, RAMP)
    blank.evaluate("document.querySelector('.chart').style.width = '300px'")
    blank.wait_for_function("() => chart.base.width === 300 && chart.scene.width === 300")
    assert call(blank, "redAround(9, 9)") > 4
    blank.evaluate("document.querySelector('.chart').style.width = '20px'")
    blank.wait_for_function("() => chart.base.width === 20 && chart.scene.tiny")
    call(blank, "chart.destroy()")
    assert call(blank, "document.querySelector('.chart').childElementCount") == 0


def test_a_chart_out_of_sight_is_drawn_when_it_comes_into_sight(blank: Page) -> None:
    blank.evaluate("document.body.style.paddingTop = '5000px'")
    call(blank, f"show({RAMP})")
    blank.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
    )
    assert call(blank, "chart.base.width") == 0
    blank.evaluate("scrollTo(0, 6000)")
    drawn(blank)
    blank.evaluate("scrollTo(0, 0)")
    blank.wait_for_function("() => chart.base.width === 0")


def test_a_picture_has_the_lines(blank: Page) -> None:
    show(blank, RAMP)
    width, height, red = call(blank, "picture()")
    assert (width, height) == (800, 2 * (240 + 30 + 28))
    assert red > 500


def test_colors_are_those_of_the_page_when_it_is_drawn(blank: Page) -> None:
    show(blank, RAMP)
    corner = "count(chart.base, [0, 0, 4, 4], (r, g, b) => r === 1 && g === 2 && b === 3)"
    assert call(blank, corner) == 0
    blank.add_style_tag(content=":root { --surface: #010203; }")
    call(blank, "stepscope.curves.redrawAll()")
    drawn(blank)
    assert call(blank, corner) == 16
