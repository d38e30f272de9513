"""From ``flush()`` in a training process to changed pixels in the browser.

A dashboard is served as users serve it; a page with a chart is open in headless Chromium. A point is added and flushed,
and the page says when the drawn line has changed. TensorBoard polls every 30 seconds at the soonest, so it has no
figure of this kind; the peer is the mark of one second.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from playwright.sync_api import Page, sync_playwright

from benchmarks._report import Figure, print_figures
from summary import SummaryWriter
from tools.browser import FLAGS, browser_path

ROUNDS: Final = 20
MARK_SECONDS: Final = 1.0
_WATCH_LINES: Final = """() => {
    const drawn = () => [...document.querySelectorAll('.js-plotly-plot .scatterlayer path.js-line')]
        .map(path => path.getAttribute('d')).join('|');
    window.seen = drawn();
    window.changedAt = 0;
    const look = () => {
        const now = drawn();
        if (now !== window.seen && window.changedAt === 0) window.changedAt = Date.now();
        requestAnimationFrame(look);
    };
    window.arm = () => { window.seen = drawn(); window.changedAt = 0; };
    look();
}"""


def latencies(page: Page, writer: SummaryWriter) -> list[float]:
    """Seconds from each flush to the first frame with another line."""
    page.wait_for_selector(".js-plotly-plot .scatterlayer path.js-line", timeout=60_000)
    page.evaluate(_WATCH_LINES)
    seconds = []
    for step in range(100, 100 + ROUNDS):
        page.evaluate("() => window.arm()")
        writer.add_scalar("loss", 1 + step % 7, step)
        writer.flush()
        flushed = time.time()
        page.wait_for_function("() => window.changedAt > 0", timeout=30_000)
        seconds.append(page.evaluate("() => window.changedAt") / 1000 - flushed)
    return seconds


def run() -> list[Figure]:
    """Median and worst of the rounds."""
    with tempfile.TemporaryDirectory() as folder, SummaryWriter(Path(folder) / "run") as writer:
        for step in range(100):
            writer.add_scalar("loss", 100 / (step + 1), step)
        writer.flush()
        command = [sys.executable, "-m", "dashboard", "--logdir", folder, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
                    page = browser.new_page()
                    page.goto(url)
                    seconds = latencies(page, writer)
                    browser.close()
            finally:
                server.terminate()
    return [
        Figure(f"{name} of {ROUNDS} flushes to pixels", value, MARK_SECONDS, "the mark", "s", higher_is_better=False)
        for name, value in (("median", median(seconds)), ("worst", max(seconds)))
    ]


if __name__ == "__main__":
    print_figures(run())
