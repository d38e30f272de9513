"""What a user waits for in headless Chromium: first charts, slider, cursor, runs; and memory while runs grow.

The peer is TensorBoard's Time Series dashboard with its data server, on the same log directories in the same run. Both
servers have loaded everything before a page is opened, and each page has an empty cache. TensorBoard draws on canvases
in workers, or in SVG elements with ``?forceSVG=true``; the faster of the two counts for the first charts. In the rest
it draws SVG, as nothing outside sees when its workers have drawn. It shows no run at first where there are more than
500, so all of them are switched on as soon as its table of runs is there. It shows 1,000 points of each series.

Times are the page's own, see browser_watch.js: from the start of the navigation, or the timestamp of the input event,
until after the frame that shows the change in all charts on the screen. What the compositor does after that counts for
neither. Whether a chart of ours is drawn is asked of its drawing loop, one of TensorBoard's of its elements, which is
in its favor: they change before they are painted. Its slider counts from where it is let go, as its lines follow then.

The page is tailed faster than training writes, but as often. What it holds is counted after garbage collections.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final, Literal, TypeAlias
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np
from playwright.sync_api import Browser, CDPSession, Page, ViewportSize, sync_playwright
from playwright.sync_api import TimeoutError as TooLong
from rich.console import Console

from benchmarks._report import Figure, print_figures
from stepscope.dashboard.page import bundle
from stepscope.dashboard.page.assets import VARIANT
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.scalar_batch import POINT, encode_scalars, scalar_template
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.records import frame
from tools.browser import FLAGS, browser_path

Tool: TypeAlias = Literal["stepscope", "tensorboard"]
Gesture: TypeAlias = Literal["smoothing", "cursor", "toggle"]

CHARTS: Final = 4
ROUNDS: Final = 5
SAMPLES: Final[dict[Tool, dict[Gesture, int]]] = {
    "stepscope": {"smoothing": 60, "cursor": 60, "toggle": 20},
    # Fewer samples of gestures that take it seconds.
    "tensorboard": {"smoothing": 20, "cursor": 60, "toggle": 10},
}
MARK_MS: Final[dict[Gesture, float]] = {"smoothing": 50, "cursor": 50, "toggle": 150}
WHAT: Final[dict[Gesture, str]] = {
    "smoothing": "move of the smoothing slider",
    "cursor": "move of the cursor",
    "toggle": "run switched on or off",
}
REST_MS: Final = 250
MARK_MANY_SECONDS: Final = 3.0
MOST_SECONDS: Final = 120.0
UPDATES: Final = 600
UPDATES_OF_AN_HOUR: Final = 3600
AWAITED_EVERY: Final = 5
TAILED_RUNS: Final = 5
TAILED_TAGS: Final = 20
TAILED_STEPS: Final = 5_000
MOST_GROWTH: Final = 1.0
LEAST: Final = 0.01
MOST_HEAP: Final = 100.0
SCREEN: Final = ViewportSize(width=1920, height=1300)
TALL: Final = ViewportSize(width=1920, height=3000)
SVG: Final = "?forceSVG=true#timeseries"
PEER_NAMES: Final = {SVG: "TensorBoard Time Series, SVG", "#timeseries": "TensorBoard Time Series, canvas"}
_WATCH: Final = Path(__file__).with_name("browser_watch.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Logs:
    """A log directory of so many scalars."""

    folder: Path
    runs: int
    tags: int
    steps: int

    @property
    def title(self) -> str:
        return f"{self.runs:,} runs x {self.tags} tags x {self.steps:,} steps"


@dataclass(frozen=True)
class Served:
    """A dashboard that runs."""

    tool: Tool
    url: str
    pid: int


def tag_name(tag: int) -> str:
    """Ten to a group."""
    return f"group_{tag // 10}/metric_{tag:02d}"


def write_logs(folder: Path, runs: int, tags: int, steps: int) -> Logs:
    """Event files of curves that fall and are noisy, all tags of a step one after another."""
    templates = [scalar_template(tag_name(tag), "simple_value") for tag in range(tags)]
    generator = np.random.default_rng(0)
    points = np.empty(steps * tags, POINT)
    points["template"] = np.tile(np.arange(tags), steps)
    points["step"] = np.repeat(np.arange(steps), tags)
    curve = np.exp(-points["step"] * (4 / steps))
    for run in range(runs):
        points["wall_time"] = 1.7e9 + run + points["step"]
        points["number"] = (1 + run / runs) * curve + generator.normal(scale=0.05, size=len(points))
        path = folder / f"run_{run:04d}"
        path.mkdir(parents=True)
        head = frame(Event(wall_time=1.7e9 + run, file_version="brain.Event:2").SerializeToString())
        (path / f"events.out.tfevents.1700000000.host.{run}").write_bytes(head + encode_scalars(templates, points))
    return Logs(folder, runs, tags, steps)


# --- servers ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _process(*module: str, variant: str) -> Iterator[tuple[int, Iterator[str]]]:
    command = [sys.executable, "-m", *module]
    environment = {**os.environ, VARIANT: variant}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        try:
            yield process.pid, iter(process.stdout)
        finally:
            process.terminate()


def _url(lines: Iterator[str]) -> str:
    return next(word for line in lines for word in line.split() if word.startswith("http://"))


@contextlib.contextmanager
def stepscope(folder: Path, variant: str = bundle.DEBUG) -> Iterator[Served]:
    """A dashboard as users start it, once it has read everything; its page has the handles of debug.ts."""
    with _process("stepscope", "--logdir", str(folder), "--port", "0", "--no-cache", variant=variant) as (pid, lines):
        url = _url(lines)
        # There may be only traces.
        next(line for line in lines if re.search(r"\d (event file|trace)", line))
        yield Served("stepscope", url, pid)


@contextlib.contextmanager
def tensorboard(logs: Logs) -> Iterator[Served]:
    """TensorBoard with its data server, once all runs have all steps."""
    options = ("--logdir", str(logs.folder), "--port", "0", "--host", "localhost", "--load_fast=true")
    with _process("tensorboard.main", *options, variant="") as (pid, lines):
        url = _url(lines)
        end = time.monotonic() + MOST_SECONDS
        while _complete_runs(url, logs) < logs.runs:
            if time.monotonic() > end:
                raise RuntimeError(f"TensorBoard has not loaded {logs.title} after {MOST_SECONDS:g} s")
            time.sleep(0.2)
        yield Served("tensorboard", url, pid)


def _complete_runs(url: str, logs: Logs) -> int:
    """How many runs have the last step of the last tag."""
    asked = [{"plugin": "scalars", "tag": tag_name(logs.tags - 1)}]
    form = urlencode({"requests": json.dumps(asked)}).encode()
    with urlopen(url + "experiment/defaultExperimentId/data/plugin/timeseries/timeSeries", form) as answer:
        series = json.load(answer)[0].get("runToSeries", {})
    return sum(points[-1]["step"] == logs.steps - 1 for points in series.values())


# --- first charts -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(browser: Browser, served: Served, query: str = "", viewport: ViewportSize = SCREEN) -> Iterator[Page]:
    """A page with an empty cache that is watched from its start."""
    context = browser.new_context(viewport=viewport, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(MOST_SECONDS * 1000)
    page.add_init_script(f"{_WATCH}\nbench.watchFirst('{served.tool}', {CHARTS});")
    try:
        page.goto(served.url + query, wait_until="commit")
        yield page
    finally:
        context.close()


def wait_for_first(page: Page) -> float:
    """Seconds from the navigation until the first charts were drawn."""
    page.wait_for_function("() => bench.first", polling=100)
    return float(page.evaluate("() => bench.first")) / 1000


def median_of_first(browser: Browser, served: Served, query: str = "", rounds: int = ROUNDS) -> float:
    """Of pages that are opened one after another."""
    seconds = []
    for _ in range(rounds):
        with opened(browser, served, query) as page:
            seconds.append(wait_for_first(page))
    return median(seconds)


def first_of_many(browser: Browser, served: Served, query: str = "") -> float:
    """Seconds with all runs switched on; infinite where that takes too long."""
    with opened(browser, served, query) as page:
        try:
            if served.tool == "tensorboard":
                page.locator("tb-data-table-header-cell mat-checkbox input").click()
            return wait_for_first(page)
        except TooLong:
            return float("inf")


def figures_of_first(browser: Browser, logs: Logs, ours: Served, peer: Served) -> list[Figure]:
    """One page of the peer each way shows which is the faster."""
    tried = {query: median_of_first(browser, peer, query, rounds=1) for query in PEER_NAMES}
    query = min(tried, key=tried.__getitem__)
    mine, theirs = median_of_first(browser, ours), median_of_first(browser, peer, query)
    title = f"first {CHARTS} charts of {logs.title}"
    return [Figure(title, mine, theirs, PEER_NAMES[query], "s", higher_is_better=False)]


def figures_of_many(browser: Browser, logs: Logs) -> list[Figure]:
    """The same with very many runs, once."""
    title = f"first {CHARTS} charts of {logs.title}"
    with stepscope(logs.folder) as served:
        ours = first_of_many(browser, served)
    with tensorboard(logs) as served:
        seconds = first_of_many(browser, served, SVG)
    late = f", > {MOST_SECONDS:g} s" if seconds == float("inf") else ""
    theirs = min(seconds, MOST_SECONDS)
    return [
        Figure(title, ours, MARK_MANY_SECONDS, "the mark", "s", higher_is_better=False),
        Figure(title, ours, theirs, f"{PEER_NAMES[SVG]}{late}", "s", higher_is_better=False),
    ]


# --- gestures -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Handles:
    """Where a tool has what the hand takes: CSS selectors."""

    query: str
    slider: str
    chart: str
    run: str


EIGHT: Final = "metric_0[0-7]"
"""The tags of eight charts, which all fit on the screen."""
HANDLES: Final[dict[Tool, Handles]] = {
    "stepscope": Handles(
        "?" + urlencode({"tag_filter": EIGHT}), ".smoothing", ".scalars-card .curve", ".run-grid .swatch"
    ),
    "tensorboard": Handles(
        SVG.replace("#", "&" + urlencode({"tagFilter": EIGHT}) + "#"),
        ".scalars-smoothing mat-slider",
        "scalar-card line-chart .series-view",
        "tb-data-table-content-row mat-checkbox input",
    ),
}


def milliseconds(
    page: Page, served: Served, gesture: Gesture, event: str, act: Callable[[], None], target: float | None = None
) -> float:
    """From the input event that `act` makes until all charts on the screen show what it changes."""
    page.evaluate("asked => bench.arm(...asked)", [served.tool, gesture, event, target])
    act()
    return float(page.evaluate("() => bench.took"))


def _box(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Left, top, width and height on the page."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["width"], box["height"]


def _places(count: int) -> list[float]:
    """Shares of a length, each far from the one before."""
    return [0.3 + 0.55 * (7 * place % 20) / 20 for place in range(count)]


def drag_slider(page: Page, served: Served) -> list[float]:
    """The pointer moves the slider to and fro. TensorBoard's lines follow when it lets go, so it does every time."""
    left, top, width, height = _box(page, HANDLES[served.tool].slider)
    middle = top + height / 2
    page.mouse.move(left + width / 2, middle)
    page.mouse.down()
    page.evaluate("ms => bench.rest(ms)", REST_MS)
    taken = []
    for share in _places(SAMPLES[served.tool]["smoothing"]):
        move = partial(page.mouse.move, left + share * width, middle)
        if served.tool == "stepscope":
            taken.append(milliseconds(page, served, "smoothing", "pointermove", move, share))
        else:
            move()
            taken.append(milliseconds(page, served, "smoothing", "pointerup", page.mouse.up))
            page.mouse.down()
            page.evaluate("ms => bench.rest(ms)", REST_MS)
    page.mouse.up()
    page.evaluate("ms => bench.rest(ms)", REST_MS)
    return taken


def move_cursor(page: Page, served: Served) -> list[float]:
    """The pointer moves over the first chart."""
    left, top, width, height = _box(page, HANDLES[served.tool].chart)
    taken = []
    for share in _places(SAMPLES[served.tool]["cursor"]):
        act = partial(page.mouse.move, left + share * width, top + height / 2)
        taken.append(milliseconds(page, served, "cursor", "pointermove", act))
    page.mouse.move(0, 0)
    return taken


def toggle_run(page: Page, served: Served) -> list[float]:
    """The second run is switched off and on, a moment after the page has come to rest."""
    run = page.locator(HANDLES[served.tool].run).nth(1)
    taken = []
    for _ in range(SAMPLES[served.tool]["toggle"]):
        taken.append(milliseconds(page, served, "toggle", "click", run.click))
        page.evaluate("ms => bench.rest(ms)", REST_MS)
    return taken


GESTURES: Final[dict[Gesture, Callable[[Page, Served], list[float]]]] = {
    "smoothing": drag_slider,
    "cursor": move_cursor,
    "toggle": toggle_run,
}


def gestures(browser: Browser, served: Served) -> tuple[int, dict[Gesture, list[float]]]:
    """How many charts are on the screen, and milliseconds of each kind."""
    taken: dict[Gesture, list[float]] = {}
    with opened(browser, served, HANDLES[served.tool].query) as page:
        wait_for_first(page)
        page.evaluate("tool => bench.all(tool)", served.tool)
        page.evaluate("ms => bench.rest(ms)", 4 * REST_MS)
        charts = page.evaluate("tool => bench.charts(tool)", served.tool)
        for gesture, act in GESTURES.items():
            taken[gesture] = act(page, served)
    return charts, taken


def figures_of_gestures(browser: Browser, logs: Logs, ours: Served, peer: Served) -> list[Figure]:
    """Medians and 95th percentiles, beside the marks and the peer."""
    charts, mine = gestures(browser, ours)
    other_charts, theirs = gestures(browser, peer)
    figures = []
    for gesture, values in mine.items():
        title = f"{WHAT[gesture]}, {logs.runs} runs on {charts} charts"
        middle, late = np.quantile(values, (0.5, 0.95), method="higher")
        peer_middle, peer_late = np.quantile(theirs[gesture], (0.5, 0.95), method="higher")
        name = f"{PEER_NAMES[SVG]}, {other_charts} charts"
        figures += [
            Figure(f"{title}, median", middle, peer_middle, name, "ms", higher_is_better=False),
            Figure(f"{title}, 95th percentile", late, peer_late, name, "ms", higher_is_better=False),
            Figure(f"{title}, 95th percentile", late, MARK_MS[gesture], "the mark", "ms", higher_is_better=False),
        ]
    return figures


# --- memory -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """What a page, garbage collected, and its server hold after so many updates, drawn in so many answers."""

    updates: int
    answers: int
    heap_megabytes: float
    nodes: int
    listeners: int
    server_megabytes: float


def held(page: Page, session: CDPSession, updates: int, server: int) -> Held:
    """Asks the browser, and the system about the server's process."""
    answers = page.evaluate("() => stepscope.curveCards.drawn")
    session.send("HeapProfiler.collectGarbage")
    metrics = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
    status = Path(f"/proc/{server}/status").read_text(encoding="ascii")
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return Held(
        updates,
        answers,
        metrics["JSHeapUsedSize"] / 1e6,
        int(metrics["Nodes"]),
        int(metrics["JSEventListeners"]),
        resident * 1024 / 1e6,
    )


def tail(page: Page, server: int, folder: Path, steps: int, updates: int, awaited_every: int) -> list[Held]:
    """Appends a point to every series so often; the page must show every so manyth before the next."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    looks = {round(updates * share) for share in (1 / 9, 1 / 3, 2 / 3, 1)}
    seen = []
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(SummaryWriter(run)) for run in sorted(folder.iterdir())]
        for update in range(1, updates + 1):
            for number, writer in enumerate(writers):
                for tag in range(TAILED_TAGS):
                    writer.add_scalar(tag_name(tag), (number + update % 7) / 10, steps + update)
                writer.flush()
            if update in looks or update % awaited_every == 0:
                page.evaluate("step => bench.reached(step)", steps + update)
            if update in looks:
                seen.append(held(page, session, update, server))
    return seen


def figures_of_memory(browser: Browser, folder: Path, updates: int, awaited_every: int) -> list[Figure]:
    """Growth by a line through what was held: the charts have as many points at the first look as at the last."""
    logs = write_logs(folder, TAILED_RUNS, TAILED_TAGS, TAILED_STEPS)
    with stepscope(folder) as served, opened(browser, served, viewport=TALL) as page:
        wait_for_first(page)
        page.evaluate("step => bench.reached(step)", logs.steps - 1)
        seen = tail(page, served.pid, folder, logs.steps, updates, awaited_every)
        charts = page.evaluate("() => bench.charts('stepscope')")
    for one in seen:
        Console(stderr=True).print(f"  {one}")
    at = [one.answers / 1000 for one in seen]
    heap, nodes, listeners = (
        np.polyfit(at, values, 1)[0]
        for values in zip(*((one.heap_megabytes, one.nodes, one.listeners) for one in seen), strict=True)
    )
    title = f"{charts} charts tailed for {updates:,} updates, drawn in {seen[-1].answers:,}"
    mark = f"the mark; {nodes:+.0f} nodes, {listeners:+.0f} listeners"
    return [
        Figure(f"{title}: heap per 1,000 drawn", max(heap, LEAST), MOST_GROWTH, mark, "MB", higher_is_better=False),
        Figure(f"{title}: heap", seen[-1].heap_megabytes, MOST_HEAP, "the mark", "MB", higher_is_better=False),
        Figure(
            f"{title}: memory of the server",
            seen[-1].server_megabytes,
            seen[0].server_megabytes,
            f"after {seen[0].updates:,}",
            "MB",
            higher_is_better=False,
        ),
    ]


def run(*, full: bool = False) -> list[Figure]:
    """All figures; in full, an hour's updates are tailed and each is waited for."""
    figures = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        with tempfile.TemporaryDirectory() as folder:
            logs = write_logs(Path(folder), runs=20, tags=10, steps=10_000)
            with stepscope(logs.folder) as ours, tensorboard(logs) as peer:
                figures += figures_of_first(browser, logs, ours, peer)
                figures += figures_of_gestures(browser, logs, ours, peer)
        with tempfile.TemporaryDirectory() as folder:
            figures += figures_of_many(browser, write_logs(Path(folder), runs=1000, tags=20, steps=100))
        with tempfile.TemporaryDirectory() as folder:
            updates, awaited_every = (UPDATES_OF_AN_HOUR, 1) if full else (UPDATES, AWAITED_EVERY)
            figures += figures_of_memory(browser, Path(folder), updates, awaited_every)
        browser.close()
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measures Stepscope and TensorBoard in a browser.")
    parser.add_argument(
        "--full", action="store_true", help=f"tail for an hour's {UPDATES_OF_AN_HOUR:,} updates, one by one"
    )
    print_figures(run(full=parser.parse_args().full))
