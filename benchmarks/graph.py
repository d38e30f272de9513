"""The Graph panel in headless Chromium on graphs of 10,000 and 100,000 nodes, beside TensorBoard's graph dashboard.

The graphs are made up, see _graphs.py. Both servers have read the log directory before a page is opened; each page has
a browser of its own with an empty cache. Opening lasts from the start of the navigation until nodes are drawn. Both
tools then open the same scope of 300 children by a double click; it lasts until all of them are drawn, without
animation. What the server takes of it is asked again over a connection of its own, the first scene once with nothing
opened before. TensorBoard first looks for subgraphs that are alike, to color them, but not in graphs of more than
10,000 nodes and edges; so the larger graph is open sooner than the smaller one.

Frames are those of one hand that turns the wheel and drags over more than 2,000 nodes and edges. What a frame takes of
the page's main thread is told by Chromium; ours also tells how long it drew.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, Playwright, ViewportSize, sync_playwright
from playwright.sync_api import Error as BrowserError

from benchmarks._graphs import large
from benchmarks._report import Figure, print_figures
from benchmarks.browser import Served, stepscope
from benchmarks.timeline import Frames, late, launched, say, traced
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.kinds.graph import graph as graph_event

NODES: Final = 10_000
LARGE: Final = 100_000
CHILDREN: Final = 300
WIDE: Final = "model/wide"
MARK_OPEN_SECONDS: Final = 2.0
MARK_SERVER_SECONDS: Final = 1.0
MARK_EXPAND_MS: Final = 300.0
MARK_SERVER_EXPAND_MS: Final = 150.0
MARK_FRAME_MS: Final = 1000 / 60
ELEMENTS: Final = 2_000
AT_ONCE: Final = 40
"""Groups that are opened before it is looked how many elements there are."""
ROUNDS: Final = 5
MOST_SECONDS: Final = 180.0
SCREEN: Final = ViewportSize(width=1920, height=1080)
ROUTE: Final = "api/graph/"
_WATCH: Final = Path(__file__).with_name("graph_watch.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Logs:
    """A log directory with one graph."""

    folder: Path
    nodes: int

    @property
    def title(self) -> str:
        return f"{self.nodes:,} nodes"


@dataclass(frozen=True)
class Shown:
    """What a tool needs for a graph: seconds until it is open, milliseconds until the wide scope is."""

    seconds: float
    expand_ms: float


def write_logs(folder: Path, nodes: int) -> Logs:
    """An event file with a graph, and one without: a dashboard is awaited until it tells of several."""
    made = large(nodes, CHILDREN)
    EventFileWriter(folder / "other").close()
    writer = EventFileWriter(folder / "run")
    writer.add_event(graph_event(made), 1.7e9)
    writer.close()
    return Logs(folder, len(made.node))


@contextlib.contextmanager
def opened(browser: Browser, url: str) -> Iterator[Page]:
    """A page that is watched from its start, without animation."""
    context = browser.new_context(viewport=SCREEN, color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(MOST_SECONDS * 1000)
    page.add_init_script(_WATCH)
    # Do not wait for addresses that cannot be reached.
    page.route(_is_elsewhere, lambda route: route.abort())
    try:
        page.goto(url, wait_until="commit")
        yield page
    finally:
        context.close()


def _is_elsewhere(url: str) -> bool:
    return urlsplit(url).scheme.startswith("http") and urlsplit(url).hostname not in ("localhost", "127.0.0.1")


# --- Stepscope ----------------------------------------------------------------------------------------------------


def ask(served: Served, route: str, **parameters: Any) -> tuple[float, Any]:
    """Seconds that the server takes, and its answer."""
    begin = time.perf_counter()
    with urlopen(f"{served.url}{ROUTE}{route}?{urlencode(parameters, doseq=True)}") as answer:
        body = answer.read()
    return time.perf_counter() - begin, json.loads(body)


def graph_id(served: Served) -> str:
    """Of the only graph."""
    (row,) = ask(served, "graphs")[1]
    return str(row["id"])


def server_figures(logs: Logs, served: Served) -> list[Figure]:
    """What the server takes for the first scene, and for that of the wide scope."""
    asked = graph_id(served)
    cold, _ = ask(served, "scene", id=asked)
    ask(served, "scene", id=asked, expanded=["model"])
    expanding, scene = ask(served, "scene", id=asked, expanded=["model", WIDE])
    shown = len(scene["nodes"]) + len(scene["aside"])
    assert shown > CHILDREN, f"{WIDE} has {shown} nodes"
    again = median(ask(served, "scene", id=asked, expanded=["model", WIDE])[0] for _ in range(ROUNDS))
    rows = [
        ("first scene from the server, graph not read before", cold, MARK_SERVER_SECONDS, "s"),
        (f"scene with {CHILDREN} more nodes from the server", 1e3 * expanding, MARK_SERVER_EXPAND_MS, "ms"),
        ("the same scene again from the server", 1e3 * again, MARK_SERVER_EXPAND_MS, "ms"),
    ]
    say(f"{logs.title}: first scene from the server in {cold:.2f} s, the wide scope's in {1e3 * expanding:.0f} ms")
    return marked(logs, rows)


def marked(logs: Logs, rows: list[tuple[str, float, float, str]]) -> list[Figure]:
    """Figures of titles, values, marks and units."""
    return [
        Figure(f"{title}, {logs.title}", value, mark, "the mark", unit, higher_is_better=False)
        for title, value, mark, unit in rows
    ]


def panel_url(served: Served, asked: str, *expanded: str) -> str:
    """The Graph panel with some groups open."""
    return f"{served.url}?{urlencode({'tab': 'graph', 'graph.id': asked, 'graph.expanded': expanded}, doseq=True)}"


def shown_by_ours(playwright: Playwright, served: Served) -> Shown:
    """How long the page takes; the server has read the graph only if it did before."""
    asked = graph_id(served)
    with launched(playwright) as browser:
        with opened(browser, panel_url(served, asked)) as page:
            seconds = page.evaluate("() => bench.drawn(1)") / 1000
        with opened(browser, panel_url(served, asked, "model")) as page:
            page.evaluate("() => bench.drawn(4)")
            page.evaluate("() => bench.settled()")
            expanding = page.evaluate("asked => bench.expand(...asked)", [WIDE, CHILDREN - 10])
    return Shown(seconds, expanding)


def move_about(page: Page) -> None:
    """The hand turns the wheel in and out and drags to and fro."""
    x, y = 0.5 * SCREEN["width"], 0.55 * SCREEN["height"]
    page.mouse.move(x, y)
    for notch in [-40] * 20 + [40] * 20:
        page.mouse.wheel(0, notch)
        page.evaluate("() => bench.settled()")
    page.mouse.down()
    for by in [*range(0, 400, 20), *range(400, -400, -20), *range(-400, 0, 20)]:
        page.mouse.move(x + by, y + by / 3)
        page.evaluate("() => bench.settled()")
    page.mouse.up()


def frames_of_ours(playwright: Playwright, served: Served) -> tuple[Frames, dict[str, Any]]:
    """Frames while a hand moves over a graph with many groups open, and the state of the canvas before."""
    asked = graph_id(served)
    expanded = ["model", WIDE]
    while True:
        _, scene = ask(served, "scene", id=asked, expanded=expanded)
        if len(scene["nodes"]) + len(scene["edges"]) >= ELEMENTS:
            break
        closed = [row["id"] for row in scene["nodes"] if row["kind"] != "op" and not row["expanded"]]
        expanded += closed[:AT_ONCE]
    with (
        launched(playwright) as browser,
        opened(browser, panel_url(served, asked, *expanded)) as page,
    ):
        page.evaluate("() => bench.drawn(1)")
        page.evaluate("() => bench.settled()")
        state: dict[str, Any] = page.evaluate("() => stepscope.graph.debug()")
        move_about(page)
        page.evaluate("() => bench.record()")
        with traced(browser, page) as frames:
            move_about(page)
        frames["drawing"] = page.evaluate("() => bench.stop()")
    return frames, state


def frame_figures(playwright: Playwright, logs: Logs, served: Served) -> list[Figure]:
    """Frames of a hand over thousands of elements."""
    frames, state = frames_of_ours(playwright, served)
    visible = state["visible"] + state["visibleEdges"]
    assert visible >= ELEMENTS, f"only {visible} elements are visible"
    say(f"{logs.title}: {len(frames['drawing'])} frames drawn, {visible:,} nodes and edges visible at first")
    return [
        Figure(f"{title}, 95th percentile, {visible:,} visible", value, MARK_FRAME_MS, "the mark", "ms", False)
        for title, value in (
            ("frame of wheel and drag, drawing", late(frames["drawing"])),
            ("frame of wheel and drag, all of the page's", late(frames["work"])),
        )
    ]


# --- TensorBoard --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def tensorboard(logs: Logs) -> Iterator[str]:
    """The address of TensorBoard once it knows the graph."""
    options = ["--logdir", str(logs.folder), "--port", "0", "--host", "localhost"]
    command = [sys.executable, "-m", "tensorboard.main", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout)
            url = next(word for line in lines for word in line.split() if word.startswith("http://"))
            end = time.monotonic() + MOST_SECONDS
            while not _knows_graph(url):
                if time.monotonic() > end:
                    raise TimeoutError(f"TensorBoard has not read the graph after {MOST_SECONDS:g} s")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def _knows_graph(url: str) -> bool:
    with urlopen(url + "data/plugin/graphs/info") as answer:
        return bool(json.load(answer))


def shown_by_tensorboard(playwright: Playwright, logs: Logs) -> Shown | None:
    """How long its page takes; none, said on standard error, where it does not get there."""
    try:
        with tensorboard(logs) as url, launched(playwright) as browser, opened(browser, f"{url}#graphs") as page:
            page.wait_for_function("() => bench.nodes() > 0", polling=250)
            seconds = page.evaluate("() => bench.drawn(1)") / 1000
            page.evaluate("asked => bench.expand(...asked)", ["model", 1])
            page.evaluate("() => bench.settled()")
            expanding = page.evaluate("asked => bench.expand(...asked)", [WIDE, CHILDREN - 10])
            return Shown(seconds, expanding)
    except (BrowserError, TimeoutError) as error:
        say(f"TensorBoard, {logs.title}: {str(error).splitlines()[0]}")
        return None


def beside(logs: Logs, ours: Shown, theirs: Shown | None) -> list[Figure]:
    """Ours and TensorBoard's; of what did not come, only how long it was given."""
    name = "TensorBoard's graphs" if theirs else f"TensorBoard's graphs, not done in {MOST_SECONDS:g} s"
    theirs = theirs or Shown(MOST_SECONDS, 1e3 * MOST_SECONDS)
    rows = [
        ("open to first graph", ours.seconds, theirs.seconds, "s"),
        (f"open a scope of {CHILDREN} children", ours.expand_ms, theirs.expand_ms, "ms"),
    ]
    return [
        Figure(f"{title}, {logs.title}", mine, other, name, unit, higher_is_better=False)
        for title, mine, other, unit in rows
    ]


def figures_of(playwright: Playwright, nodes: int, peers: bool) -> list[Figure]:
    """All figures of a graph of so many nodes; marks are for `NODES` of them."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        logs = write_logs(Path(folder), nodes)
        with stepscope(logs.folder) as served:
            server = server_figures(logs, served)
        with stepscope(logs.folder) as served:
            ours = shown_by_ours(playwright, served)
            page = [
                ("open to first graph, not read before", ours.seconds, MARK_OPEN_SECONDS, "s"),
                (f"open a scope of {CHILDREN} children", ours.expand_ms, MARK_EXPAND_MS, "ms"),
            ]
            if nodes == NODES:
                figures += server
                figures += marked(logs, page)
                figures += frame_figures(playwright, logs, served)
        if peers:
            figures += beside(logs, ours, shown_by_tensorboard(playwright, logs))
    return figures


def run(*, large_too: bool = True, peers: bool = True) -> list[Figure]:
    """All figures."""
    with sync_playwright() as playwright:
        figures = figures_of(playwright, NODES, peers)
        if large_too:
            figures += figures_of(playwright, LARGE, peers)
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measures the Graph panel and TensorBoard's in a browser.")
    parser.add_argument("--no-large", action="store_true", help=f"without the graph of {LARGE:,} nodes")
    parser.add_argument("--no-peers", action="store_true", help="Stepscope alone")
    arguments = parser.parse_args()
    print_figures(run(large_too=not arguments.no_large, peers=not arguments.no_peers))
