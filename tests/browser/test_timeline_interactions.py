"""Interacting with the timeline in a real browser: lanes, areas, overlays, colors, several traces, what leaves it."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from stepscope.profiler.traces import read_trace
from tests.browser.conftest import Dashboard, Held
from tests.browser.test_timeline_canvas import debug, point, settled, wait_for, write_trace

pytestmark = pytest.mark.browser

HOST, GPU = 10, 0


def slice_(pid: int, tid: int, start: float, duration: float, name: str, category: str, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "ts": start,
        "dur": duration,
        "name": name,
        "cat": category,
        "args": args,
    }


def training(slower: float = 1.0) -> dict[str, Any]:
    """Two steps of 400 µs: an operator launches a kernel, and the second step also copies; times in microseconds."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": HOST, "name": "process_name", "args": {"name": "python"}},
        {"ph": "M", "pid": HOST, "name": "process_labels", "args": {"labels": "CPU"}},
        {"ph": "M", "pid": GPU, "name": "process_name", "args": {"name": "python"}},
        {"ph": "M", "pid": GPU, "name": "process_labels", "args": {"labels": "GPU 0"}},
        {"ph": "M", "pid": GPU, "tid": 7, "name": "thread_name", "args": {"name": "stream 7"}},
        {"ph": "M", "pid": GPU, "tid": 9, "name": "thread_name", "args": {"name": "stream 9"}},
    ]
    for step, start in ((4, 0), (5, 400)):
        correlation = {"correlation": step, "External id": step}
        kernel = {**correlation, "device": 0, "stream": 7, "est. achieved occupancy %": 30 + 10 * step}
        events += [
            slice_(HOST, HOST, start, 400, f"ProfilerStep#{step}", "user_annotation"),
            slice_(HOST, HOST, start + 10, 100, "aten::mm", "cpu_op", **{"External id": step}),
            slice_(HOST, HOST, start + 20, 20, "cudaLaunchKernel", "cuda_runtime", **correlation),
            slice_(GPU, 7, start + 100, 150 * slower, "sgemm", "kernel", **kernel),
            {"ph": "s", "id": step, "pid": HOST, "tid": HOST, "ts": start + 20, "cat": "ac2g", "name": "ac2g"},
            {"ph": "f", "id": step, "pid": GPU, "tid": 7, "ts": start + 100, "cat": "ac2g", "name": "ac2g", "bp": "e"},
        ]
    copy = {"correlation": 9, "device": 0, "stream": 9, "bytes": 1024}
    events += [
        slice_(HOST, HOST, 520, 10, "cudaMemcpyAsync", "cuda_runtime", correlation=9),
        slice_(GPU, 9, 560, 40, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", **copy),
    ]
    return {"deviceProperties": [{"id": 0, "name": "Tiny GPU"}], "traceEvents": events}


Open = Callable[..., Page]


@pytest.fixture
def open_page(serve: Callable[..., Dashboard], page: Page, logdir: Path) -> Open:
    """A function that opens the training in the panel, with motion reduced so that every key acts at once."""

    def opened(query: str = "", trace: str = "fast") -> Page:
        write_trace(logdir, "fast", json.dumps(training()))
        write_trace(logdir, "slow", json.dumps(training(slower=1.5)))
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(f"{serve(logdir).url}?tab=timeline&timeline.trace=r|file|r/{trace}.trace.json{query}")
        return page

    return opened


def labels(state: dict[str, Any]) -> list[str]:
    return [row["label"] for row in state["rows"]]


def color_at(page: Page, x: float, y: float) -> tuple[int, int, int]:
    """The color of the canvas pixel at a position on the page."""
    box = page.locator(".timeline-canvas").bounding_box()
    assert box is not None
    code = "([x, y]) => [...document.querySelector('.timeline-canvas').getContext('2d').getImageData(x, y, 1, 1).data]"
    red, green, blue, _ = page.evaluate(code, [round(x - box["x"]), round(y - box["y"])])
    return red, green, blue


def test_lanes_have_names_that_people_know(open_page: Open) -> None:
    state = settled(open_page())
    assert labels(state) == [
        "Host · python",
        "main thread · 10",
        "GPU 0 · Tiny GPU",
        "stream 7 · compute",
        "stream 9 · copies",
    ]
    assert state["rows"][3]["full"] == "GPU 0 · stream 7 · compute"


def test_a_held_key_moves_the_view_until_it_is_released_also_after_shift(open_page: Open) -> None:
    page = open_page()
    start, end = settled(page)["range"]
    page.locator(".timeline-canvas").focus()
    page.keyboard.down("Shift")
    page.keyboard.down("Equal")
    # More than the single step of a key that is tapped.
    wait_for(page, f"d.range[1] - d.range[0] < {(end - start) / 2}")
    page.keyboard.up("Shift")
    page.keyboard.up("Equal")
    assert debug(page)["range"] == debug(page)["range"]
    before = debug(page)["range"]
    page.keyboard.down("d")
    wait_for(page, f"d.range[0] - {before[0]} > 0.3 * ({before[1] - before[0]})")
    page.keyboard.up("d")
    assert debug(page)["range"] == debug(page)["range"]


def test_a_lane_is_pinned_moved_hidden_and_remembered(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.move(*point(page, state, 150, "stream 9 · copies"))
    page.keyboard.press("p")
    pinned = wait_for(page, "d.rows[0].pinned")
    assert labels(pinned)[0] == "stream 9 · copies"
    assert pinned["top"] == pinned["pinTop"] + pinned["rows"][0]["height"]
    page.reload()
    state = settled(page)
    assert state["rows"][0]["pinned"]
    box = page.locator(".timeline-canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 60, box["y"] + state["rows"][0]["y"] + 8, button="right")
    page.get_by_role("menuitem", name="Unpin").click()
    state = wait_for(page, "!d.rows[0].pinned")
    lanes = {row["label"]: box["y"] + row["y"] + 8 for row in state["rows"]}
    page.mouse.move(box["x"] + 80, lanes["stream 9 · copies"])
    page.mouse.down()
    page.mouse.move(box["x"] + 80, lanes["stream 7 · compute"] - 6, steps=4)
    page.mouse.up()
    wait_for(page, "d.rows[3].label === 'stream 9 · copies'")
    page.mouse.click(box["x"] + 60, lanes["stream 7 · compute"], button="right")
    page.get_by_role("menuitem", name="Hide", exact=True).click()
    assert labels(wait_for(page, "d.lanes.hidden === 1"))[3:] == ["stream 7 · compute"]
    page.get_by_role("button", name="Show all lanes").click()
    assert wait_for(page, "d.lanes.hidden === 0")["lanes"]["total"] == 3


def test_the_filter_shows_lanes_by_their_full_names(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.get_by_label("Filter lanes").fill("gpu 0.*copies")
    assert labels(wait_for(page, "d.lanes.hidden === 2")) == ["GPU 0 · Tiny GPU", "stream 9 · copies"]
    page.wait_for_function("() => location.search.includes('timeline.lanes=')")
    page.reload()
    assert labels(settled(page)) == ["GPU 0 · Tiny GPU", "stream 9 · copies"]


def test_a_kernel_tells_its_launch_its_operator_and_its_like(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    page.mouse.click(*point(page, state, 150, "stream 7 · compute"))
    wait_for(page, "d.selection?.related")
    drawer = page.locator(".timeline-drawer")
    text = drawer.inner_text().replace("\n", " ")
    assert "launched by cudaLaunchKernel" in text
    assert "operator aten::mm" in text
    assert "Waited 60.00 µs" in text
    assert "Count 1 of 2" in text
    page.keyboard.press("[")
    assert wait_for(page, "d.selection.name === 'cudaLaunchKernel'")["selection"]["start"] == 20_000
    page.keyboard.press("]")
    wait_for(page, "d.selection.name === 'sgemm'")
    drawer.get_by_title("Next slice of this name").click()
    assert wait_for(page, "d.selection.start === 500000")["selection"]["name"] == "sgemm"
    page.wait_for_function("() => new URLSearchParams(location.search).get('timeline.slice') !== null")
    page.reload()
    settled(page)
    assert wait_for(page, "d.selection?.related")["selection"]["start"] == 500_000
    drawer.get_by_title("Its row in the table of").click()
    expect(page.get_by_role("tab", name="Profile")).to_have_attribute("aria-selected", "true")
    query = "Object.fromEntries(new URLSearchParams(location.search))"
    found = page.evaluate(query)
    assert (found["profile.view"], found["profile.row"]) == ("kernels", "sgemm")


def test_an_area_sums_up_what_ran_in_it(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    start = point(page, state, 150, "stream 7 · compute")
    end = point(page, state, 580, "stream 9 · copies")
    page.mouse.move(*start)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    rows = page.locator(".timeline-table tbody tr")
    expect(rows).to_have_count(2)
    area = wait_for(page, "d.area?.answers.length === 1")["area"]
    assert area["range"] == pytest.approx([150_000, 580_000], abs=2_000)
    assert (area["bands"], area["answers"]) == (2, [3])
    # 100 of 150 µs of the first kernel are inside, and 80 of 150 of the second.
    cells = rows.first.locator("td").all_inner_texts()
    assert cells[:3] == ["sgemm", "kernel", "2"]
    assert float(cells[3].split()[0]) == pytest.approx(180, abs=3)
    page.get_by_title("Totals by lane").click()
    assert rows.first.locator("td").first.inner_text() == "stream 7 · compute"
    page.get_by_title("Totals by name").click()
    page.locator(".timeline-table th button", has_text="Name").click()
    expect(rows.first.locator("td").first).to_contain_text("Memcpy")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_title("Copy the table as tab-separated text").click()
    expect(page.get_by_text("Table copied")).to_be_visible()
    copied = [row.split("\t")[0] for row in page.evaluate("navigator.clipboard.readText()").splitlines()]
    assert copied == ["Name", *rows.locator("td:first-child").all_inner_texts()]
    # The address contains the area, with its two lanes.
    expect(page).to_have_url(re.compile(r"timeline.area=1\d{5}:5\d{5}~0/\d+,0/\d+"))
    page.reload()
    expect(rows).to_have_count(2)
    again = wait_for(page, "d.area?.answers.length === 1")["area"]
    assert (again["range"], again["bands"]) == (pytest.approx(area["range"], abs=1), 2)
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("f")
    low, high = debug(page)["range"]
    assert (low, high) == pytest.approx((141_000, 589_000), abs=6_000)
    page.keyboard.press("Escape")
    assert debug(page)["area"] is None
    expect(page).not_to_have_url(re.compile("timeline.area"))


def test_totals_that_are_on_their_way_say_so(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    held = Held(page, "/api/timeline/area")
    page.mouse.move(*point(page, state, 150, "stream 7 · compute"))
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(*point(page, state, 580, "stream 9 · copies"), steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page.locator(".timeline-drawer [role=status]")).to_contain_text("summing")
    held.release()
    expect(page.locator(".timeline-table tbody tr")).to_have_count(2)
    expect(page.locator(".timeline-drawer [role=status]")).to_have_count(0)


def test_the_column_of_names_is_as_wide_as_made_or_as_its_names_need(open_page: Open) -> None:
    page = open_page()
    settled(page)
    filter_box = page.locator(".timeline-lane-filter")

    def edge() -> tuple[float, float]:
        box = filter_box.bounding_box()
        assert box is not None
        return box["x"] + box["width"] + 4, box["y"] + box["height"] + 60

    def wait_for_edge(wanted: float) -> None:
        page.wait_for_function(
            "wanted => { const box = document.querySelector('.timeline-lane-filter').getBoundingClientRect();"
            " return Math.abs(box.right + 4 - wanted) <= 2; }",
            arg=wanted,
        )

    needed, height = edge()
    page.mouse.move(needed, height)
    page.mouse.down()
    page.mouse.move(needed + 60, height, steps=3)
    page.mouse.up()
    wait_for_edge(needed + 60)
    page.reload()
    settled(page)
    wait_for_edge(needed + 60)
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("n")
    wait_for_edge(needed)


@pytest.mark.parametrize("width", [1280, 1440])
def test_rows_of_the_toolbar_are_filled(open_page: Open, width: int) -> None:
    page = open_page()
    page.set_viewport_size({"width": width, "height": 800})
    settled(page)
    boxes = [
        each.bounding_box() for each in page.locator(".timeline-choice, .timeline-search, .timeline-tools-end").all()
    ]
    choice, search, ends = (box for box in boxes if box is not None)
    bar = page.locator(".timeline-toolbar").bounding_box()
    assert bar is not None
    # The buttons end where the toolbar does, and a second row, if any, begins where the first does.
    assert ends["x"] + ends["width"] == pytest.approx(bar["x"] + bar["width"], abs=3)
    assert search["y"] == pytest.approx(ends["y"], abs=2)
    if search["y"] > choice["y"] + 5:
        assert search["x"] == pytest.approx(choice["x"], abs=2)


def test_a_step_of_the_ruler_is_zoomed_to_and_summed_up(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    box = page.locator(".timeline-canvas").bounding_box()
    assert box is not None
    x, _ = point(page, state, 600, "stream 7 · compute")
    page.mouse.click(x, box["y"] + 56)
    page.get_by_role("menuitem", name="Zoom to step 5").click()
    assert debug(page)["range"] == pytest.approx([391_666, 808_333], abs=10)
    page.mouse.click(box["x"] + state["left"] + 300, box["y"] + 56)
    page.get_by_role("menuitem", name="Summarize step 5").click()
    assert wait_for(page, "d.area?.answers.length === 1")["area"]["range"] == [400_000, 800_000]


def test_idle_time_and_the_critical_path_are_drawn_where_they_are(open_page: Open) -> None:
    page = open_page("&timeline.lanes=stream 7")
    state = settled(page)
    gap = point(page, state, 350, "stream 7 · compute")
    before = color_at(page, *gap)
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("i")
    assert wait_for(page, "d.gaps === 1 && !d.loading")["overlays"] == {"critical": False, "idle": True}
    assert color_at(page, *gap) != before
    page.mouse.move(*gap)
    expect(page.locator(".timeline-tip")).to_contain_text("Idle: host wait")
    expect(page.locator(".timeline-tip")).to_contain_text("250.0 µs")
    page.keyboard.press("c")
    state = wait_for(page, "d.path > 0 && !d.loading")
    x, y = point(page, state, 600, "stream 7 · compute")
    red, green, _blue = color_at(page, x, y + 7)
    assert red > 180 > green
    page.wait_for_function("() => new URLSearchParams(location.search).getAll('timeline.overlay').length === 2")
    page.keyboard.press("i")
    page.mouse.move(0, 0)
    wait_for(page, "!d.overlays.idle")
    assert color_at(page, *gap) == before


@pytest.mark.parametrize("mode", ["category", "step", "duration", "occupancy"])
def test_slices_take_the_color_of_what_was_chosen(open_page: Open, mode: str) -> None:
    page = open_page()
    state = settled(page)
    places = [point(page, state, time, "stream 7 · compute") for time in (240, 640)]
    plain = [color_at(page, *place) for place in places]
    assert plain[0] == plain[1]
    page.get_by_title("What slices are colored by").click()
    page.get_by_role("menuitem", name=mode.capitalize()).click()
    wait_for(page, f"d.color === '{mode}'")
    # What the colors lack is asked for in the next frame.
    wait_for(page, "!d.loading && d.slices > 0")
    found = [color_at(page, *place) for place in places]
    # Both kernels have the same name and category, but are in two steps and have 70 and 80% occupancy.
    assert (found[0] == found[1]) == (mode in ("category", "duration"))
    assert found[0] != plain[0]
    page.reload()
    settled(page)
    assert [color_at(page, *place) for place in places] == found


def test_two_traces_are_aligned_at_a_step_and_their_differences_colored(open_page: Open) -> None:
    page = open_page()
    settled(page)
    page.get_by_title("Show other traces").click()
    page.get_by_role("button", name="r · slow.trace.json").click()
    state = wait_for(page, "d.aligned === 'step' && d.differences > 0 && !d.loading")
    assert [trace["offset"] for trace in state["traces"]] == [0, 0]
    assert [row["label"] for row in state["rows"] if row["type"] == "trace"] == [
        "1 · r · fast.trace.json",
        "2 · r · slow.trace.json",
    ]
    page.get_by_title("What slices are colored by").click()
    page.get_by_role("menuitem", name="Difference").click()
    state = wait_for(page, "d.color === 'difference' && !d.loading")
    second = next(row for row in state["rows"] if row["source"] == 1 and row["label"] == "stream 7 · compute")
    x, _ = point(page, state, 200, "stream 7 · compute")
    box = page.locator(".timeline-canvas").bounding_box()
    assert box is not None
    page.mouse.move(x, box["y"] + second["y"] + 10)
    tip = page.locator(".timeline-tip")
    expect(tip).to_contain_text("longer in the second: mean 150.0 µs → 225.0 µs (+50.0%), 2 → 2 slices")
    page.wait_for_function("() => location.search.includes('timeline.compare=')")
    page.reload()
    settled(page)
    state = wait_for(page, "d.color === 'difference' && d.differences > 0 && !d.loading")
    row = next(row for row in state["rows"] if row["type"] == "trace" and row["source"] == 1)
    page.mouse.click(box["x"] + 60, box["y"] + row["y"] + 8, button="right")
    page.get_by_role("menuitem", name="Close this trace").click()
    assert wait_for(page, "d.traces.length === 1")["color"] == "name"


def test_as_many_traces_of_a_folder_are_added_as_there_is_room_for(open_page: Open, logdir: Path) -> None:
    for rank in range(7):
        write_trace(logdir, f"rank{rank}", json.dumps(training()))
    page = open_page("&timeline.compare=r|file|r/slow.trace.json")
    settled(page)
    wait_for(page, "d.traces.length === 2")
    page.get_by_title("Show other traces").click()
    page.get_by_role("button", name="Add 8 of 9 from this folder").click()
    traces = wait_for(page, "d.traces.length === 8")["traces"]
    assert [trace["id"].rpartition("/")[2].partition(".")[0] for trace in traces[:2]] == ["fast", "slow"]
    page.get_by_title("Show other traces").click()
    expect(page.get_by_label("Find a trace")).to_be_visible()
    expect(page.get_by_role("button", name="from this folder")).to_have_count(0)


def test_the_search_goes_through_all_traces(open_page: Open) -> None:
    page = open_page("&timeline.compare=r|file|r/slow.trace.json&timeline.search=sgemm&timeline.match=name")
    settled(page)
    wait_for(page, "d.traces.length === 2 && d.matches === 4")
    page.get_by_label("Search slices by name").focus()
    for at, (source, start) in enumerate([(0, 100_000), (0, 500_000), (1, 100_000), (1, 500_000)]):
        page.keyboard.press("Enter")
        wait_for(page, f"d.current === {at} && d.selection?.source === {source} && d.selection.start === {start}")


def test_all_slices_of_a_name_longer_than_the_canvas_is_sent_are_found(
    serve: Callable[..., Dashboard], page: Page, logdir: Path
) -> None:
    beginning = "void " + "at::native::" * 20
    names = [f"{beginning}{name}<float>(float*)" for name in ("copy", "copy", "fill")]
    slices = [slice_(HOST, HOST, 100.0 * place, 90, name, "kernel") for place, name in enumerate(names)]
    write_trace(logdir, "long", json.dumps({"traceEvents": slices}))
    page.goto(f"{serve(logdir).url}?tab=timeline")
    state = settled(page)
    page.mouse.click(*point(page, state, 50, labels(state)[-1]), button="right")
    page.get_by_role("menuitem", name="Find all").click()
    wait_for(page, "d.matches === 2")
    expect(page.get_by_label("Search slices by name")).to_have_value(names[0])


def test_the_visible_part_leaves_as_a_trace_and_as_a_picture(open_page: Open) -> None:
    page = open_page("&timeline.range=400000:800000&timeline.lanes=GPU")
    settled(page)
    for entry in ("Visible part as Chrome JSON", "Image as SVG"):
        page.get_by_title("Download an image or the trace").click()
        with page.expect_download() as saved:
            page.get_by_role("menuitem", name=entry).click()
        content = saved.value.path().read_bytes()
        if entry.startswith("Image"):
            drawing = ElementTree.fromstring(content)
            words = {element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
            assert {"stream 7 · compute", "GPU 0 · Tiny GPU", "sgemm"} <= words
        else:
            plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
            trace = read_trace(plain, name="part.trace.json")
            on_device = [i for i, lane in enumerate(trace.lane) if trace.lanes[lane].kind in ("stream", "memcpy")]
            names = sorted(trace.names[trace.name_id[i]] for i in on_device)
            assert names == ["Memcpy HtoD (Pageable -> Device)", "sgemm"]
            assert [step.number for step in trace.steps] == [5]


PERFETTO = """<script>
addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", event.origin);
  else window.got = { title: event.data.perfetto.title, text: new TextDecoder().decode(event.data.perfetto.buffer) };
});
</script>"""
"""What Perfetto's page does when it is handed a trace: https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui."""


def test_perfetto_is_handed_the_visible_part_when_asked_for(open_page: Open) -> None:
    page = open_page("&timeline.range=400000:800000&timeline.lanes=GPU")
    settled(page)
    page.context.route(
        "https://ui.perfetto.dev/**", lambda route: route.fulfill(body=PERFETTO, content_type="text/html")
    )
    page.get_by_title("Download an image or the trace").click()
    with page.expect_popup() as opened:
        page.get_by_role("menuitem", name="Open the visible part in Perfetto").click()
    opened.value.wait_for_function("() => window.got")
    got = opened.value.evaluate("window.got")
    assert got["title"] == "fast.trace.json"
    assert "sgemm" in read_trace(got["text"].encode(), name="a.trace.json").names


THROW = """([x, y]) => {
  const canvas = document.querySelector(".timeline-canvas");
  const send = (type, clientX) =>
    canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX, clientY: y, bubbles: true }));
  for (let moved = 1; moved <= 8; moved += 1) {
    const until = performance.now() + 4;
    while (performance.now() < until);
    send("pointermove", x + 10 * moved);
  }
  const held = window.stepscope.timeline.debug().range[0];
  send("pointerup", x + 80);
  return held;
}"""
"""Moves the pressed mouse for 32 ms and lets it go while it moves."""


def test_a_throw_goes_on_and_a_press_stops_it(open_page: Open) -> None:
    page = open_page("&timeline.range=300000:500000")
    state = settled(page)
    page.emulate_media(reduced_motion="no-preference")
    x, y = point(page, state, 400, "stream 7 · compute")
    page.mouse.move(x, y)
    page.mouse.down()
    held = page.evaluate(THROW, [x, y])
    page.mouse.up()
    wait_for(page, f"d.range[0] < {held} - 3000")
    page.mouse.down()
    stopped = debug(page)["range"]
    assert debug(page)["range"] == stopped
    page.mouse.up()


def test_two_fingers_zoom_about_what_is_under_them(open_page: Open) -> None:
    page = open_page()
    state = settled(page)
    x, y = point(page, state, 400, "stream 7 · compute")
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": place, "y": y, "id": number} for number, place in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    touch("touchStart", x - 50)
    touch("touchStart", x - 50, x + 50)
    touch("touchMove", x - 100, x + 100)
    touch("touchEnd")
    zoomed = debug(page)["range"]
    assert zoomed[1] - zoomed[0] == pytest.approx((state["range"][1] - state["range"][0]) / 2, rel=0.02)
    assert point(page, debug(page), 400, "stream 7 · compute")[0] == pytest.approx(x, abs=3)
