"""The Projector panel in headless Chromium over 100,000 points of 256 dimensions, beside TensorBoard's projector.

The points are those of the t-SNE benchmark: clusters on sheets with noise, written as float32 with a column of labels.
Opening lasts from the start of the navigation until all points are painted along three principal components: once with
a server that has read nothing, once more with the components known. A hand then drags to and fro over the cloud; what
counts is the time between frames that painted it, see projector_watch.js. While it moves, ours leaves points out where
painting is slow and paints them all at rest; how many it painted is part of the figure's name. TensorBoard draws by
WebGL, here on the processor, and takes its components from 50,000 points and 200 dimensions; ours takes all of both.

Requests go to the server over connections of their own. Memory is that of the server and its worker together, at its
peak from reading the points to the finished picture and its quality: the proportional set size, which counts a page
that both have once, those of mapped files included; on Linux only. It is what they have more than a server and a
worker that wait for work; once more with all that such a worker has, its libraries above all. t-SNE is begun in a
server without a worker, and once more with one. Updates are answers with other coordinates, to somebody who asks for
the next as soon as one is there, and clouds that the page takes.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
import psutil
from playwright.sync_api import Browser, Page, Playwright, ViewportSize, sync_playwright
from playwright.sync_api import Error as BrowserError

from benchmarks._report import Figure, print_figures
from benchmarks.browser import Served, stepscope
from benchmarks.projector_tsne import points_of
from benchmarks.timeline import late, launched, say
from stepscope.dashboard.server.binary import unpack
from stepscope.summary import SummaryWriter
from tools.browser import FLAGS, browser_path

POINTS: Final = 100_000
WIDTH: Final = 256
MADE: Final = "made"
FEW: Final = "few"
LAID_OUT: Final = 10_000
LAID_OUT_WIDTH: Final = 64
COUNT: Final = 100
"""Neighbors that are asked for."""
ROWS: Final = 20
OTHERS: Final = 40
"""Requests to another route while a t-SNE runs."""
WATCHED_SECONDS: Final = 6.0
DRAG_SECONDS: Final = 4.0
MOVE_SECONDS: Final = 1 / 60
MARK_FRAMES: Final = 30.0
MARK_NEIGHBORS_MS: Final = 50.0
MARK_MEMORY: Final = 3.0
MARK_FIRST_SECONDS: Final = 1.0
MARK_UPDATES: Final = 5.0
MOST_SECONDS: Final = 180.0
LOOK_SECONDS: Final = 0.01
REST_SECONDS: Final = 1.0
SCREEN: Final = ViewportSize(width=1920, height=1080)
ROUTE: Final = "api/projector/"
PEER: Final = "TensorBoard's projector"
SOFTWARE_WEBGL: Final = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""For the peer, which needs WebGL; `FLAGS` switch the graphics card off."""
_WATCH: Final = Path(__file__).with_name("projector_watch.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Dragged:
    """What a page painted while a hand dragged: milliseconds between frames, and points of each frame."""

    gaps: list[float]
    points: list[int]

    @property
    def per_second(self) -> float:
        return 1e3 * len(self.gaps) / sum(self.gaps)


@dataclass(frozen=True)
class Laid:
    """A t-SNE as somebody who asks for frames sees it: seconds to the first picture, and pictures per second."""

    first: float
    updates: float


def write_logs(folder: Path, count: int, width: int) -> None:
    """A run with one embedding and the names of its points, and one with a few points."""
    for run, tag, points in (("run", MADE, points_of(count, width)), ("other", FEW, points_of(50, 8))):
        labels = [f"point {number}" for number in range(len(points))]
        with SummaryWriter(folder / run) as writer:
            writer.add_scalar("loss", 1.0, 0)
            writer.add_embedding(points, metadata=labels, tag=tag, tensor_format="float32")


# --- requests -----------------------------------------------------------------------------------------------------


def fetch(served: Served, route: str, **parameters: Any) -> tuple[float, bytes]:
    """Seconds that the server takes, and its answer."""
    begin = time.perf_counter()
    with urlopen(f"{served.url}{ROUTE}{route}?{urlencode(parameters)}") as answer:
        body: bytes = answer.read()
    return time.perf_counter() - begin, body


def post(served: Served, route: str, order: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{served.url}{ROUTE}{route}", json.dumps(order).encode(), headers)) as answer:
        return json.load(answer)


def embedding_id(served: Served, tag: str = MADE) -> str:
    """Of the only embedding of a tag."""
    (row,) = (row for row in json.loads(fetch(served, "embeddings")[1])["embeddings"] if tag in row["id"])
    return str(row["id"])


def frames_of(served: Served, job: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """What is told of a job, answer after answer until it is done, and whether there are other coordinates."""
    version, state = -1, "queued"
    while state not in ("done", "failed", "cancelled"):
        _, body = fetch(served, "frame", job=job, after=version, wait=10)
        header, arrays = unpack(body)
        version, state = header["version"], header["state"]
        if state == "failed":
            raise RuntimeError(header["message"])
        yield header, bool(arrays)


def neighbor_milliseconds(served: Served, asked: str) -> list[float]:
    """Of rows all over the embedding, after a first one."""
    taken = []
    for row in np.linspace(0, POINTS - 1, ROWS + 1).astype(int).tolist():
        seconds, body = fetch(served, "neighbors", id=asked, row=row, count=COUNT)
        assert len(json.loads(body)["rows"]) == COUNT
        taken.append(1e3 * seconds)
    return taken[1:]


class MemoryWatch:
    """Looks all the time at the memory of a server and its workers together."""

    def __init__(self, served: Served) -> None:
        self._server = psutil.Process(served.pid)
        self.peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def now(self) -> int:
        """Bytes; each page that several have counts once."""
        processes = [self._server, *self._server.children(recursive=True)]
        return sum(int(process.memory_full_info().pss) for process in processes)

    def at_rest(self) -> int:
        """Bytes once they are the same for a while."""
        while True:
            before = self.now()
            time.sleep(REST_SECONDS)
            if abs(self.now() - before) < 1 << 20:
                return self.now()

    def worker_bytes(self) -> int:
        """Those of the workers alone."""
        return sum(int(child.memory_full_info().pss) for child in self._server.children(recursive=True))

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            with contextlib.suppress(psutil.Error):
                self.peak = max(self.peak, self.now())

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def memory_figures(folder: Path) -> list[Figure]:
    """Of each projection with what a page asks for next, in a server of its own."""
    if sys.platform != "linux":
        say("memory is measured on Linux only")
        return []
    figures = []
    data = 4 * POINTS * WIDTH
    for projection, title in (("pca", "PCA"), ("tsne", "t-SNE"), ("umap", "UMAP")):
        with stepscope(folder) as served:
            fetch(served, "dataset", id=embedding_id(served, FEW))
            asked = embedding_id(served)
            watch = MemoryWatch(served)
            idle, idle_worker = watch.at_rest(), watch.worker_bytes()
            with watch:
                fetch(served, "dataset", id=asked)
                job = post(served, "project", {"id": asked, "projection": projection})["job"]
                for _ in frames_of(served, job):
                    pass
                neighbor_milliseconds(served, asked)
                while unpack(fetch(served, "quality", job=job, components="0,1")[1])[0]["state"] != "done":
                    pass
        grown = watch.peak - idle
        say(f"{title}: {grown / 1e6:.0f} MB over {idle / 1e6:.0f} MB, {idle_worker / 1e6:.0f} MB of these the worker's")
        named = f"memory of server and worker, times the data, {title} of {POINTS:,} x {WIDTH}, neighbors and quality"
        for name, taken in ((named, grown), (f"{named}, with all that an idle worker has", grown + idle_worker)):
            figures.append(Figure(name, taken / data, MARK_MEMORY, "the mark", "x", higher_is_better=False))
    return figures


def large_figures(folder: Path) -> list[Figure]:
    """Principal components and neighbors of a server that has read nothing of the points before."""
    with stepscope(folder) as served:
        asked = embedding_id(served)
        begin = time.perf_counter()
        fetch(served, "dataset", id=asked)
        opened_seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        job = post(served, "project", {"id": asked, "projection": "pca"})["job"]
        for _ in frames_of(served, job):
            pass
        pca_seconds = time.perf_counter() - begin
        taken = neighbor_milliseconds(served, asked)
    say(f"server: read in {opened_seconds:.2f} s, components in {pca_seconds:.2f} s more")
    title = f"{POINTS:,} x {WIDTH}"
    return [
        Figure(
            f"{COUNT} neighbors from the server, {name}, {title}", value, MARK_NEIGHBORS_MS, "the mark", "ms",
            higher_is_better=False,
        )
        for name, value in (("median", median(taken)), ("95th percentile", late(taken)))
    ]  # fmt: skip


def laid_out(served: Served, asked: str, seed: int) -> tuple[Laid, list[float]]:
    """A t-SNE, cancelled after a while; and milliseconds of another route meanwhile."""
    begin = time.perf_counter()
    order = {"id": asked, "projection": "tsne", "settings": {"seed": seed, "iterations": 5_000}}
    job = post(served, "project", order)["job"]
    first = since = None
    told = 0
    for header, moved in frames_of(served, job):
        now = time.perf_counter()
        if first is None and moved:
            first = now - begin
        if since is None and header["iteration"] > 0:
            since = now
        elif since is not None:
            told += moved
            if now - since > WATCHED_SECONDS:
                break
    assert first is not None
    assert since is not None
    laid = Laid(first, told / (now - since))
    others = [1e3 * fetch(served, "row", id=asked, row=row)[0] for row in range(OTHERS)]
    state = unpack(fetch(served, "frame", job=job, wait=0)[1])[0]["state"]
    assert state == "running", f"the t-SNE was {state} when something else was asked for"
    post(served, "job", {"job": job, "action": "cancel"})
    return laid, others


def laid_out_figures(folder: Path) -> list[Figure]:
    """t-SNE by the routes, without a worker and with one."""
    with stepscope(folder) as served:
        asked = embedding_id(served)
        fetch(served, "dataset", id=asked)
        alone = [1e3 * fetch(served, "row", id=asked, row=row)[0] for row in range(OTHERS)]
        cold, _ = laid_out(served, asked, 0)
        warm, others = laid_out(served, asked, 1)
    title = f"t-SNE of {LAID_OUT:,} x {LAID_OUT_WIDTH}"
    say(f"{title}: another route takes {median(others):.1f} ms meanwhile, {median(alone):.1f} ms without")
    return [
        Figure(f"{title}: to the first frame, no worker yet", cold.first, MARK_FIRST_SECONDS, "the mark", "s", False),
        Figure(f"{title}: to the first frame", warm.first, MARK_FIRST_SECONDS, "the mark", "s", False),
        Figure(f"{title}: frames from the server", min(cold.updates, warm.updates), MARK_UPDATES, "the mark", "1/s"),
        Figure(f"another route during a {title}, median", median(others), median(alone), "without", "ms", False),
        Figure(f"another route during a {title}, 95th percentile", late(others), late(alone), "without", "ms", False),
    ]


# --- pages --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(browser: Browser, url: str, least: int) -> Iterator[Page]:
    """A page that is watched from its start for clouds of so many points."""
    context = browser.new_context(viewport=SCREEN, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(MOST_SECONDS * 1000)
    page.add_init_script(f"{_WATCH}\nbench.watch({least});")
    try:
        page.goto(url, wait_until="commit")
        yield page
    finally:
        context.close()


def wait_for_first(page: Page) -> float:
    """Seconds from the navigation until all points were painted."""
    page.wait_for_function("() => bench.first() !== null", polling=100)
    return float(page.evaluate("() => bench.first()")) / 1000


def drag(page: Page, x: float, y: float) -> None:
    """The hand goes to and fro once a second, as a mouse of 60 reports a second does."""
    page.mouse.move(x, y)
    page.mouse.down()
    begin = time.monotonic()
    # A page that is slow to accept a report gets fewer of them.
    while (gone := time.monotonic() - begin) < DRAG_SECONDS:
        by = 300 * np.sin(2 * np.pi * gone)
        page.mouse.move(x + by, y + by / 3)
        time.sleep(max(0.0, begin + gone + MOVE_SECONDS - time.monotonic()))
    page.evaluate("() => bench.settled()")


def dragged(page: Page, selector: str) -> Dragged:
    """The second time that a hand drags over the cloud."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for _ in range(2):
        page.evaluate("() => bench.forget()")
        drag(page, x, y)
        seen = page.evaluate("() => bench.seen()")
        page.mouse.up()
        page.evaluate("() => bench.settled()")
    gaps = [after - before for before, after in pairwise(seen["painted"])]
    if not gaps:
        raise BrowserError("the page painted nothing while a hand dragged")
    return Dragged(gaps, seen["points"])


def panel_url(served: Served, asked: str, projection: str, dimensions: int) -> str:
    names = {"tab": "projector", "projector.id": asked, "projector.projection": projection}
    return f"{served.url}?{urlencode({**names, 'projector.dims': dimensions})}"


def ours(playwright: Playwright, folder: Path) -> tuple[float, float, Dragged]:
    """Seconds to the first picture, those once the components are known, and the drag."""
    seconds = []
    with stepscope(folder) as served:
        url = panel_url(served, embedding_id(served), "pca", 3)
        for _ in range(2):
            with launched(playwright) as browser, opened(browser, url, POINTS) as page:
                seconds.append(wait_for_first(page))
                page.wait_for_function("() => !stepscope.projector.debug().loading")
                found = dragged(page, "canvas.pj-overlay")
    return seconds[0], seconds[1], found


def updates_of_page(playwright: Playwright, folder: Path) -> float:
    """Clouds of a t-SNE that the page takes and paints in a second, once iterations run."""
    with stepscope(folder) as served:
        url = panel_url(served, embedding_id(served), "tsne", 2)
        with launched(playwright) as browser, opened(browser, url, LAID_OUT) as page:
            page.wait_for_function("() => window.stepscope?.projector?.debug?.()?.job?.iteration > 0", polling=50)
            asked = "() => [performance.now(), stepscope.projector.debug().job.updates]"
            begin, before = page.evaluate(asked)
            page.wait_for_timeout(1e3 * WATCHED_SECONDS)
            end, after = page.evaluate(asked)
            state = page.evaluate("() => stepscope.projector.debug().job.state")
            assert state == "running", f"the t-SNE is {state}"
    return 1e3 * float(after - before) / float(end - begin)


@contextlib.contextmanager
def tensorboard(folder: Path) -> Iterator[str]:
    """The address of TensorBoard once its projector knows the run."""
    options = ["--logdir", str(folder), "--port", "0", "--host", "localhost"]
    command = [sys.executable, "-m", "tensorboard.main", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            url = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
            end = time.monotonic() + MOST_SECONDS
            while not _knows_run(url):
                if time.monotonic() > end:
                    raise TimeoutError(f"TensorBoard has not found the embedding after {MOST_SECONDS:g} s")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def _knows_run(url: str) -> bool:
    with urlopen(url + "data/plugin/projector/runs") as answer:
        return bool(json.load(answer))


def theirs(playwright: Playwright, folder: Path) -> tuple[float, Dragged] | None:
    """Seconds to TensorBoard's first picture, and the drag; none, said on standard error, where it has none."""
    flags = [flag for flag in FLAGS if flag != "--disable-gpu"]
    try:
        with tensorboard(folder) as url:
            browser = playwright.chromium.launch(executable_path=browser_path(), args=[*flags, *SOFTWARE_WEBGL])
            try:
                # The page of the plugin itself, which TensorBoard shows in a frame.
                with opened(browser, f"{url}data/plugin/projector/projector_binary.html", POINTS) as page:
                    seconds = wait_for_first(page)
                    say(f"{PEER}: open to first cloud {seconds:.2f} s")
                    return seconds, dragged(page, "#scatter canvas")
            finally:
                browser.close()
    except (BrowserError, TimeoutError) as error:
        say(f"{PEER}: {str(error).splitlines()[0]}")
        return None


def page_figures(playwright: Playwright, folder: Path, peers: bool) -> list[Figure]:
    """Opening and dragging, beside the mark and TensorBoard."""
    first, again, mine = ours(playwright, folder)
    title = f"{POINTS:,} x {WIDTH}"
    painted = int(median(mine.points))
    say(
        f"open to first cloud {first:.2f} s, {again:.2f} s with components known; {len(mine.gaps)} frames of a drag "
        f"with {painted:,} points each in the median, {min(mine.points):,} at least"
    )
    moving = f"drag over {POINTS:,} points in 3-D, {painted:,} painted while it moves"
    least_ms = 1e3 / MARK_FRAMES
    figures = [
        Figure(f"{moving}: frames", mine.per_second, MARK_FRAMES, "the mark", "1/s"),
        Figure(f"{moving}: between frames, median", median(mine.gaps), least_ms, "the mark", "ms", False),
        Figure(f"{moving}: between frames, 95th percentile", late(mine.gaps), least_ms, "the mark", "ms", False),
        Figure(f"open to first cloud, {title}", first, again, "ours, components known", "s", False),
    ]
    peer = theirs(playwright, folder) if peers else None
    if peer:
        seconds, other = peer
        say(f"{PEER}: {len(other.gaps)} frames of a drag with {int(median(other.points)):,} points each")
        figures += [
            Figure(f"open to first cloud, {title}", first, seconds, PEER, "s", False),
            Figure(f"{moving}: frames", mine.per_second, other.per_second, PEER, "1/s"),
            Figure(f"{moving}: between frames, 95th percentile", late(mine.gaps), late(other.gaps), PEER, "ms", False),
        ]
    return figures


def run(*, peers: bool = True) -> list[Figure]:
    """All figures."""
    say(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        large, small = Path(name, "large"), Path(name, "small")
        write_logs(large, POINTS, WIDTH)
        write_logs(small, LAID_OUT, LAID_OUT_WIDTH)
        figures = page_figures(playwright, large, peers)
        figures += large_figures(large)
        figures += memory_figures(large)
        figures += laid_out_figures(small)
        updates = updates_of_page(playwright, small)
    title = f"t-SNE of {LAID_OUT:,} x {LAID_OUT_WIDTH}: clouds that the page takes"
    return [*figures, Figure(title, updates, MARK_UPDATES, "the mark", "1/s")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measures the Projector panel and TensorBoard's in a browser.")
    parser.add_argument("--no-peers", action="store_true", help="Stepscope alone")
    print_figures(run(peers=not parser.parse_args().no_peers))
