"""From ``flush()`` in a training process to changed pixels in the browser.

A dashboard is served as users serve it; a page with a chart is open in headless Chromium. A point is added and flushed,
and the page says when the drawn line has changed; once with nothing else going on, and once while a hundred other runs
grow. TensorBoard polls every 30 seconds at the soonest, so it has no figure of this kind; the peer is the mark.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from playwright.sync_api import Page, sync_playwright

from benchmarks._report import Figure, print_figures
from stepscope.dashboard.page import bundle
from stepscope.dashboard.page.assets import VARIANT
from stepscope.summary import SummaryWriter
from tools.browser import FLAGS, browser_path

ROUNDS: Final = 40
MARK_SECONDS: Final = 0.3
OTHER_RUNS: Final = 100
_GROW: Final = """
import sys, time
from pathlib import Path
from stepscope.summary import SummaryWriter
writers = [SummaryWriter(Path(sys.argv[1]) / f"other_{number:03d}") for number in range(int(sys.argv[2]))]
print("growing", flush=True)
step = 0
while True:
    step += 1
    for writer in writers:
        writer.add_scalar("loss", 1 / step, step)
        writer.flush()
    time.sleep(1)
"""
_WATCH_LINE: Final = """() => {
    const { curveCards, curves } = window.stepscope;
    const reached = () => curveCards.visible().some(({ model, plot }) => {
        const line = model && !curves.loop.waiting.has(plot) && model.lines.find((line) => line.label === 'run');
        return line && line.x[line.x.length - 1] === window.awaited;
    });
    const look = () => {
        if (window.changedAt === 0 && reached()) window.changedAt = Date.now();
        requestAnimationFrame(look);
    };
    window.arm = (step) => { window.awaited = step; window.changedAt = 0; };
    look();
}"""
_DRAWN: Final = ".card.drawn canvas"


def latencies(page: Page, writer: SummaryWriter) -> list[float]:
    """Seconds from each flush to the first frame behind the one that drew the point."""
    page.wait_for_selector(_DRAWN, timeout=60_000)
    page.evaluate(_WATCH_LINE)
    seconds = []
    for step in range(100, 100 + ROUNDS):
        page.evaluate("step => window.arm(step)", step)
        writer.add_scalar("loss", 1 + step % 7, step)
        writer.flush()
        flushed = time.time()
        page.wait_for_function("() => window.changedAt > 0", timeout=30_000)
        seconds.append(page.evaluate("() => window.changedAt") / 1000 - flushed)
    return seconds


def measure(others: int) -> list[float]:
    """Seconds of all rounds, while so many other runs get a point a second each."""
    with tempfile.TemporaryDirectory() as folder, SummaryWriter(Path(folder) / "run") as writer:
        for step in range(100):
            writer.add_scalar("loss", 100 / (step + 1), step)
        writer.flush()
        with _process("-c", _GROW, folder, str(others)) as growing, _dashboard(folder) as url:
            assert growing.stdout is not None
            growing.stdout.readline()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
                page = browser.new_page()
                page.goto(f"{url}?runs=none&show=run")
                seconds = latencies(page, writer)
                browser.close()
    return seconds


@contextlib.contextmanager
def _process(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, VARIANT: bundle.DEBUG}
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def _dashboard(folder: str) -> Iterator[str]:
    with _process("-m", "stepscope", "--logdir", folder, "--port", "0", "--no-cache") as server:
        assert server.stdout is not None
        yield next(word for line in server.stdout for word in line.split() if word.startswith("http://"))


def run() -> list[Figure]:
    """Medians and 95th percentiles."""
    figures = []
    for others in (0, OTHER_RUNS):
        seconds = measure(others)
        beside = f", {others} other runs growing" if others else ""
        for name, share in (("median", 0.5), ("95th percentile", 0.95)):
            value = float(np.quantile(seconds, share))
            title = f"{name} of {ROUNDS} flushes to pixels{beside}"
            figures.append(Figure(title, value, MARK_SECONDS, "the mark", "s", higher_is_better=False))
    return figures


if __name__ == "__main__":
    print_figures(run())
