"""The Timeline in headless Chromium on a trace of a million events, beside other tools' trace viewers on the same file.

The trace is made up, see _training.py; the viewers are those of _viewers.py. Every tool gets a browser of its own with
an empty cache. Opening lasts from the start of the navigation until slices are drawn. A process of its own tells how
long reading the file takes alone, which the server does when a page first asks; the page is opened once before that and
once after. Of the others, small screenshots tell when there are colors where the tracks are; what counts is when the
first of these was asked for.

Frames are those of one hand: keys held to zoom in, move and zoom out, first once to load what they pass. What a frame
takes of the page's main thread is told by Chromium; ours also tells how long it drew. Views are random: the wheel
zooms into the whole trace at random places. What the page asked of the server for them is asked again, one by
one, for the server's times. Memory is counted after a garbage collection: the heap of the page, and what the process of
the page has for itself. To compare it, it is counted when the keys were held, in ours and in the others.
"""

import argparse
import base64
import contextlib
import http.client
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import numpy as np
import psutil
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page, Playwright, Request, Route, ViewportSize, sync_playwright
from playwright.sync_api import Error as BrowserError
from rich.console import Console

from benchmarks._report import Figure, print_figures
from benchmarks._training import write_training
from benchmarks._viewers import Viewer, viewer_served, viewers
from benchmarks.browser import Served, stepscope
from tools.browser import FLAGS, browser_path

Frames: TypeAlias = dict[str, list[float]]
"""Milliseconds: ``work`` of the main thread, ``processor`` the part of it that it ran, ``interval`` between frames, and
``drawing`` where the page tells."""

EVENTS: Final = 1_000_000
LARGE: Final = 10_000_000
MARK_FIRST_SECONDS: Final = 3.0
MARK_FRAME_MS: Final = 16.0
MARK_REQUEST_MS: Final = 30.0
MARK_VIEW_KILOBYTES: Final = 300.0
MARK_MEGABYTES: Final = 300.0
VIEWS: Final = 200
MOST_NOTCHES: Final = 12
MOST_SECONDS: Final = 180.0
OURS_MOST_SECONDS: Final = 600.0
HELD: Final = (("w", 0.7), ("d", 0.8), ("a", 0.8), ("w", 0.7), ("d", 0.8), ("a", 0.8), ("s", 1.4))
"""Keys and for how many seconds; all the tools know them."""
REPEAT_SECONDS: Final = 0.033
"""A held key repeats as keyboards do."""
SCREEN: Final = ViewportSize(width=1920, height=1080)
FRAME: Final = "ProxyMain::BeginMainFrame"
"""What Chromium's compositor calls a frame of the page's main thread."""
ROUTES: Final = "/api/timeline/"
WINDOWS: Final = ROUTES + "window"
TRACKS: Final = {"x": 300, "y": 170, "width": 1500, "height": 560, "scale": 0.25}
"""Of the page, below what viewers have on top of their tracks."""
SATURATED: Final = 60
"""Difference of the strongest and the weakest of red, green and blue; what frames a page with is paler."""
COLORED: Final = 0.01
_WATCH: Final = Path(__file__).with_name("timeline_watch.js").read_text(encoding="utf-8")
_PARSE: Final = """
import sys, time
from stepscope.profiler.traces import load_trace, read_trace
read_trace(b'[{"ph":"X","ts":0,"dur":1,"pid":1,"tid":1,"name":"imports and compiled code"}]', name="first")
begin = time.perf_counter()
trace = load_trace(sys.argv[1])
print(time.perf_counter() - begin, len(trace))
"""


@dataclass(frozen=True)
class Logs:
    """A log directory with one trace."""

    folder: Path
    trace: Path
    events: int
    slices: int
    parse_seconds: float

    @property
    def title(self) -> str:
        return f"{self.events:,} events, {self.slices:,} slices"


@dataclass(frozen=True)
class Opened:
    """What a tool needs for a trace: seconds to the first paint, frames, and megabytes of the page's process."""

    seconds: float
    frames: Frames
    megabytes: float


def write_logs(folder: Path, least: int) -> Logs:
    """A trace of so many events, read once in a process of its own."""
    trace = folder / "run" / "training.pt.trace.json"
    trace.parent.mkdir(parents=True)
    events = write_training(trace, least)
    command = [sys.executable, "-c", _PARSE, str(trace)]
    seconds, slices = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return Logs(folder, trace, events, int(slices), float(seconds))


def say(text: str) -> None:
    Console(stderr=True).print(f"  {text}", highlight=False)


# --- any page -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def launched(playwright: Playwright) -> Iterator[Browser]:
    """A browser of its own, so that its processes are those of one page."""
    browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
    try:
        yield browser
    finally:
        browser.close()


@contextlib.contextmanager
def opened(browser: Browser, url: str) -> Iterator[Page]:
    """A page that is watched from its start."""
    context = browser.new_context(viewport=SCREEN, color_scheme="light")
    page = context.new_page()
    page.add_init_script(_WATCH)
    try:
        page.goto(url, wait_until="commit")
        yield page
    finally:
        context.close()


def hold(page: Page, key: str, seconds: float) -> None:
    """A key is down for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        page.keyboard.down(key)
        time.sleep(REPEAT_SECONDS)
    page.keyboard.up(key)


@contextlib.contextmanager
def traced(browser: Browser, page: Page) -> Iterator[Frames]:
    """Notes the frames that the page makes meanwhile; what is yielded is filled at the end.

    Chromium's own trace tells how long the page's main thread was busy with each: input, scripts, style, layout, paint
    and the rasters of canvases.
    """
    frames: Frames = {}
    browser.start_tracing(page=page, categories=["cc"])
    try:
        yield frames
    finally:
        events = json.loads(browser.stop_tracing())["traceEvents"]
    made = [event for event in events if event["name"] == FRAME and event["ph"] == "X"]
    if not made:
        raise BrowserError("the page made no frame")
    # The browser may have pages of its own.
    owner = Counter(event["pid"] for event in made).most_common(1)[0][0]
    made = sorted((event for event in made if event["pid"] == owner), key=lambda event: event["ts"])
    frames["work"] = [event["dur"] / 1000 for event in made]
    frames["processor"] = [event.get("tdur", event["dur"]) / 1000 for event in made]
    frames["interval"] = [(after["ts"] - before["ts"]) / 1000 for before, after in pairwise(made)]


def hold_keys(page: Page) -> None:
    for key, seconds in HELD:
        hold(page, key, seconds)


def heap_megabytes(page: Page) -> float:
    """Of the page's scripts, garbage collected."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return float(metrics["JSHeapUsedSize"]) / 1e6


def process_megabytes(browser: Browser) -> float:
    """What the process of the page has for itself alone, which is the largest of those that render."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    renderers = [psutil.Process(process["id"]) for process in processes if process["type"] == "renderer"]
    return max(float(process.memory_full_info().uss) for process in renderers) / 1e6


def late(values: list[float]) -> float:
    """The 95th percentile."""
    return float(np.quantile(values, 0.95, method="higher"))


# --- Stepscope ----------------------------------------------------------------------------------------------------


def trace_url(served: Served) -> str:
    """The Timeline with the only trace of the log directory."""
    with urlopen(served.url.rstrip("/") + ROUTES + "traces") as answer:
        (trace,) = json.load(answer)["traces"]
    return f"{served.url}?tab=timeline&timeline.trace={quote(trace['id'], safe='')}"


def wait_for_first(page: Page) -> float:
    """Seconds from the navigation until slices were drawn."""
    page.wait_for_function("() => bench.first", polling=100, timeout=OURS_MOST_SECONDS * 1000)
    return float(page.evaluate("() => bench.first")) / 1000


def settle(page: Page) -> dict[str, Any]:
    """The state of the canvas once nothing loads."""
    page.evaluate("() => bench.drawn()")
    page.wait_for_function("() => !stepscope.timeline.debug().loading")
    page.evaluate("() => bench.drawn()")
    state: dict[str, Any] = page.evaluate("() => stepscope.timeline.debug()")
    return state


def first_seconds(browser: Browser, url: str) -> float:
    """Of one page."""
    with opened(browser, url) as page:
        page.evaluate("() => bench.watchFirst()")
        return wait_for_first(page)


def zoom_and_drag(page: Page, state: dict[str, Any]) -> None:
    """The hand turns the wheel in and out, drags to and fro, and goes back to the whole."""
    box = page.locator(".timeline-canvas").bounding_box()
    assert box is not None
    middle = box["x"] + (state["left"] + state["width"]) / 2
    y = box["y"] + state["top"] + 60
    page.mouse.move(middle, y)
    page.keyboard.down("Control")
    for notch in [-60] * 20 + [60] * 8:
        page.mouse.wheel(0, notch)
        page.evaluate("() => bench.drawn()")
    page.keyboard.up("Control")
    page.mouse.down()
    for by in [*range(0, 400, 20), *range(400, -400, -20), *range(-400, 0, 20)]:
        page.mouse.move(middle + by, y)
    page.mouse.up()
    page.keyboard.press("0")
    settle(page)


def frames_of_ours(browser: Browser, page: Page, act: Callable[[], None]) -> Frames:
    """The frames of a gesture, the second time, and how long each drawing took."""
    act()
    page.evaluate("() => bench.record()")
    with traced(browser, page) as frames:
        act()
    frames["drawing"] = page.evaluate("() => bench.stop()")
    return frames


def random_views(page: Page) -> tuple[list[float], list[str]]:
    """Goes to random places; kilobytes that each view took, and what was asked of the server for windows."""
    asked: list[Request] = []
    page.on("requestfinished", lambda request: asked.append(request) if ROUTES in request.url else None)
    generator = random.Random(0)
    page.emulate_media(reduced_motion="reduce")
    kilobytes: list[float] = []
    urls: list[str] = []
    for _ in range(VIEWS):
        page.keyboard.press("0")
        whole = settle(page)["range"]
        asked.clear()
        page.evaluate("asked => bench.zoom(...asked)", [generator.random(), generator.randint(1, MOST_NOTCHES)])
        part = settle(page)["range"]
        assert part[1] - part[0] < 0.9 * (whole[1] - whole[0]), "the wheel does not zoom"
        kilobytes.append(sum(request.sizes()["responseBodySize"] for request in asked) / 1000)
        urls += [request.url for request in asked if urlsplit(request.url).path.endswith(WINDOWS)]
    return kilobytes, urls


def request_milliseconds(urls: list[str]) -> list[float]:
    """How long the server takes for each, compressed, over one connection."""
    host = urlsplit(urls[0]).netloc
    connection = http.client.HTTPConnection(host)
    taken = []
    for url in urls:
        parts = urlsplit(url)
        begin = time.perf_counter()
        connection.request("GET", f"{parts.path}?{parts.query}", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        answer.read()
        taken.append(1e3 * (time.perf_counter() - begin))
        assert answer.status == 200, url
    connection.close()
    return taken


def first_of_ours(playwright: Playwright, logs: Logs, served: Served) -> list[Figure]:
    """The first paint before and after the server has read the trace."""
    url = trace_url(served)
    seconds = []
    for _ in range(2):
        with launched(playwright) as browser:
            seconds.append(first_seconds(browser, url))
    say(f"{logs.title}: opened in {seconds[0]:.2f} s, of which {logs.parse_seconds:.2f} s are parsing")
    return [
        Figure(f"{title}, {logs.title}", value, MARK_FIRST_SECONDS, "the mark", "s", higher_is_better=False)
        for title, value in (
            ("open to first paint beyond parsing", max(seconds[0] - logs.parse_seconds, 1e-3)),
            ("open to first paint, already parsed", seconds[1]),
        )
    ]


def views_of_ours(playwright: Playwright, logs: Logs, served: Served) -> tuple[list[Figure], Opened]:
    """Figures of frames, requests and memory beside the marks, and what to compare with other tools."""
    with launched(playwright) as browser, opened(browser, trace_url(served)) as page:
        page.evaluate("() => bench.watchFirst()")
        wait_for_first(page)
        state = settle(page)
        page.mouse.move(0.55 * SCREEN["width"], 0.6 * SCREEN["height"])
        frames = frames_of_ours(browser, page, partial(hold_keys, page))
        heap_megabytes(page)
        moved = process_megabytes(browser)
        page.keyboard.press("0")
        settle(page)
        hand = frames_of_ours(browser, page, partial(zoom_and_drag, page, state))
        kilobytes, urls = random_views(page)
        heap, process = heap_megabytes(page), process_megabytes(browser)
    taken = request_milliseconds(urls)
    say(
        f"{logs.title}: {len(frames['drawing'])} frames drawn by keys, {len(hand['drawing'])} by mouse; "
        f"{len(urls)} requests for {VIEWS} views, median {np.median(kilobytes):.0f} kB; 95th percentile of a frame's "
        f"processor time {late(frames['processor']):.1f} ms by keys, {late(hand['processor']):.1f} ms by mouse"
    )
    rows = [
        ("frame while keys are held, drawing, 95th percentile", late(frames["drawing"]), MARK_FRAME_MS, "ms"),
        ("frame while keys are held, all of the page's, 95th percentile", late(frames["work"]), MARK_FRAME_MS, "ms"),
        ("frame of wheel and drag, drawing, 95th percentile", late(hand["drawing"]), MARK_FRAME_MS, "ms"),
        ("frame of wheel and drag, all of the page's, 95th percentile", late(hand["work"]), MARK_FRAME_MS, "ms"),
        ("window from the server, median", float(np.median(taken)), MARK_REQUEST_MS, "ms"),
        ("window from the server, 95th percentile", late(taken), MARK_REQUEST_MS, "ms"),
        ("payload of a view, most", max(kilobytes), MARK_VIEW_KILOBYTES, "kB"),
        (f"heap after {VIEWS} views", heap, MARK_MEGABYTES, "MB"),
        (f"memory of the page's process after {VIEWS} views", process, MARK_MEGABYTES, "MB"),
    ]
    figures = [
        Figure(f"{title}, {logs.events:,} events", value, mark, "the mark", unit, higher_is_better=False)
        for title, value, mark, unit in rows
    ]
    return figures, Opened(0.0, frames, moved)


# --- other viewers ------------------------------------------------------------------------------------------------


def picture(page: Page) -> NDArray[np.int16]:
    """Height x width x red, green and blue of a small picture of the tracks; nothing of a page never painted yet."""
    session = page.context.new_cdp_session(page)
    try:
        shot = session.send("Page.captureScreenshot", {"format": "png", "clip": TRACKS})
    except BrowserError:
        return np.zeros((1, 1, 3), np.int16)
    finally:
        session.detach()
    return np.asarray(Image.open(BytesIO(base64.b64decode(shot["data"]))).convert("RGB")).astype(np.int16)


def has_colors(page: Page) -> bool:
    """Whether the tracks are colored enough for slices."""
    return bool((np.ptp(picture(page), axis=2) > SATURATED).mean() > COLORED)


def frames_of_viewer(viewer: Viewer, browser: Browser, page: Page) -> Frames:
    """The frames while keys are held, once all tracks are unfolded; raises where the page does not follow keys."""
    if viewer.unfold:
        page.locator(viewer.unfold).click()
    x, y = 0.55 * SCREEN["width"], 0.2 * SCREEN["height"]
    # Below all tracks, so that nothing is selected: some viewers accept keys only after a click.
    page.mouse.click(x, 0.84 * SCREEN["height"])
    page.mouse.move(x, y)
    before = picture(page)
    hold(page, "w", REPEAT_SECONDS)
    time.sleep(1)
    if np.array_equal(before, picture(page)):
        raise BrowserError("it does not zoom where a key says so")
    hold_keys(page)
    with traced(browser, page) as frames:
        hold_keys(page)
    return frames


def wait_for_colors(page: Page, begin: float) -> float | None:
    """Seconds since `begin` until the first picture with colors was asked for; none where it takes too long."""
    while (asked := time.monotonic()) - begin < MOST_SECONDS:
        if has_colors(page):
            return asked - begin
        time.sleep(0.1)
    return None


def measured(playwright: Playwright, viewer: Viewer, trace: Path) -> Opened | None:
    """What a viewer needs for the trace; none, said on standard error, where it does not open it."""

    def route(asked: Route) -> None:
        url = asked.request.url
        if url.startswith((address, "blob:", "data:")):
            asked.continue_()
        elif (name := url.rsplit("/", 1)[-1]) in viewer.elsewhere:
            asked.fulfill(path=viewer.elsewhere[name])
        else:
            asked.abort()

    with viewer_served(viewer, trace) as address, launched(playwright) as browser:
        context = browser.new_context(viewport=SCREEN, color_scheme="light")
        page = context.new_page()
        page.set_default_timeout(MOST_SECONDS * 1000)
        page.add_init_script(_WATCH)
        page.route("**/*", route)
        try:
            begin = time.monotonic()
            page.goto(address + viewer.page, wait_until="commit")
            seconds = wait_for_colors(page, begin)
            if seconds is None:
                say(f"{viewer.name} did not open in {MOST_SECONDS:g} s")
                return None
            frames = frames_of_viewer(viewer, browser, page)
            heap_megabytes(page)
            say(f"{viewer.name}: 95th percentile of a frame's processor time {late(frames['processor']):.1f} ms")
            return Opened(seconds, frames, process_megabytes(browser))
        except BrowserError as error:
            say(f"{viewer.name} cannot be run: {error.message.splitlines()[0]}")
            return None


def beside(viewer: Viewer, logs: Logs, ours: Opened, theirs: Opened | None) -> list[Figure]:
    """Ours and theirs; of one that did not open, only how long it was given."""
    title = f"{logs.events:,} events"
    opening = f"open to first paint, {title}"
    if theirs is None:
        name = f"{viewer.name}, not open in {MOST_SECONDS:g} s"
        return [Figure(opening, ours.seconds, MOST_SECONDS, name, "s", higher_is_better=False)]
    rows = [
        (opening, ours.seconds, theirs.seconds, "s"),
        (
            f"frame while keys are held, all of the page's, 95th percentile, {title}",
            late(ours.frames["work"]),
            late(theirs.frames["work"]),
            "ms",
        ),
        (
            f"time between frames while keys are held, 95th percentile, {title}",
            late(ours.frames["interval"]),
            late(theirs.frames["interval"]),
            "ms",
        ),
        (f"memory of the page's process, {title}", ours.megabytes, theirs.megabytes, "MB"),
    ]
    return [Figure(name, mine, other, viewer.name, unit, higher_is_better=False) for name, mine, other, unit in rows]


def figures_of(playwright: Playwright, least: int, peers: bool) -> list[Figure]:
    """All figures of a trace of so many events."""
    with tempfile.TemporaryDirectory() as folder:
        logs = write_logs(Path(folder) / "logs", least)
        with stepscope(logs.folder) as served:
            first = first_of_ours(playwright, logs, served)
            views, ours = views_of_ours(playwright, logs, served)
        figures = [*first, *views]
        ours = Opened(first[0].ours + logs.parse_seconds, ours.frames, ours.megabytes)
        if peers:
            for viewer in viewers(Path(folder)):
                figures += beside(viewer, logs, ours, measured(playwright, viewer, logs.trace))
    return figures


def run(*, events: int = EVENTS, large: bool = False, peers: bool = True) -> list[Figure]:
    """All figures; a large trace comes besides, without the other viewers."""
    with sync_playwright() as playwright:
        figures = figures_of(playwright, events, peers)
        if large:
            figures += figures_of(playwright, LARGE, peers=False)
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measures the Timeline and other trace viewers in a browser.")
    parser.add_argument("--events", type=int, default=EVENTS, help="how many the trace has")
    parser.add_argument("--large", action="store_true", help=f"also a trace of {LARGE:,} events, which takes minutes")
    parser.add_argument("--no-peers", action="store_true", help="Stepscope alone")
    arguments = parser.parse_args()
    print_figures(run(events=arguments.events, large=arguments.large, peers=not arguments.no_peers))
