"""What a first visit costs: bytes on the wire, and seconds over a line like that of a home.

Chromium has an empty cache. Of the page's own code, and of all that a visit of Scalars fetches until its charts are
drawn, the bytes are those of the bodies as they were sent. The line is Chromium's own emulation; it delays each
request and shares its rate among all of them.
"""

import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from playwright.sync_api import Browser, Page, Response, sync_playwright

from benchmarks._report import Figure, print_figures
from benchmarks.browser import (
    CHARTS,
    MOST_SECONDS,
    SCREEN,
    SVG,
    Logs,
    Served,
    stepscope,
    tensorboard,
    write_logs,
)
from stepscope.dashboard.page import bundle
from tools.browser import FLAGS, browser_path

SAMPLE_LOGS: Final = Path(__file__).resolve().parents[1] / "sample_logs"
LINE: Final = {"offline": False, "latency": 40, "downloadThroughput": 20e6 / 8, "uploadThroughput": 20e6 / 8}
MARK_OWN_KB: Final = 150.0
MARK_ALL_KB: Final = 1600.0
MARK_LINE_SECONDS: Final = 2.5
ROUNDS: Final = 5
_DRAWN: Final[dict[str, str]] = {
    "stepscope": ".scalars-card.drawn",
    "tensorboard": "tb-scalar-card-line-chart, line-chart .series-view svg path, line-chart .series-view canvas",
}
"""Elements that are there once a chart is drawn."""


def visit(browser: Browser, served: Served, *, over_line: bool = False) -> tuple[float, list[tuple[str, int]]]:
    """Seconds until the first charts are drawn, and of each answer its address and the bytes of its body."""
    context = browser.new_context(viewport=SCREEN, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(MOST_SECONDS * 1000)
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))
    if over_line:
        line = context.new_cdp_session(page)
        line.send("Network.enable")
        line.send("Network.emulateNetworkConditions", LINE)
    try:
        page.goto(served.url + (SVG if served.tool == "tensorboard" else ""), wait_until="commit")
        seconds = drawn(page, served)
        page.wait_for_load_state("load")
        return seconds, [(answer.url, body_bytes(answer)) for answer in answers]
    finally:
        context.close()


def drawn(page: Page, served: Served) -> float:
    """Seconds from the navigation until so many charts were drawn."""
    page.wait_for_function(f"() => document.querySelectorAll({_DRAWN[served.tool]!r}).length >= {CHARTS}", polling=20)
    return float(page.evaluate("() => performance.now()")) / 1000


def body_bytes(answer: Response) -> int:
    """Bytes of the body as it came; none of a stream that has no end."""
    if answer.url.endswith("/api/revision"):
        return 0
    return answer.request.sizes()["responseBodySize"]


def figures_of(browser: Browser, logs: Logs) -> list[Figure]:
    """The marks, and TensorBoard beside them over the same logs."""
    with stepscope(SAMPLE_LOGS, bundle.SHIPPED) as served:
        _, answers = visit(browser, served)
        over_line = median(visit(browser, served, over_line=True)[0] for _ in range(ROUNDS))
        here = median(visit(browser, served)[0] for _ in range(ROUNDS))
    own = sum(size for url, size in answers if "/page/" in url) / 1e3
    total = sum(size for _, size in answers) / 1e3
    with stepscope(logs.folder, bundle.SHIPPED) as served:
        ours, mine = visit(browser, served, over_line=True)
    with tensorboard(logs) as served:
        theirs, peers = visit(browser, served, over_line=True)
    line = "over 20 Mbit/s and 40 ms"
    title = f"first {CHARTS} charts of the sample logs"
    peer = "TensorBoard"
    return [
        Figure("own code of a first visit", own, MARK_OWN_KB, "the mark", "kB", higher_is_better=False),
        Figure(
            f"all of a first visit, {len(answers)} requests",
            total,
            MARK_ALL_KB,
            "the mark",
            "kB",
            higher_is_better=False,
        ),
        Figure(f"{title} {line}", over_line, MARK_LINE_SECONDS, "the mark", "s", higher_is_better=False),
        Figure(
            f"{title} on this machine", here, MARK_LINE_SECONDS, "the mark of the line", "s", higher_is_better=False
        ),
        Figure(f"first charts of {logs.title} {line}", ours, theirs, peer, "s", higher_is_better=False),
        Figure(
            f"all of a first visit of {logs.title}",
            sum(size for _, size in mine) / 1e3,
            sum(size for _, size in peers) / 1e3,
            f"{peer}, {len(peers)} requests",
            "kB",
            higher_is_better=False,
        ),
    ]


def run() -> list[Figure]:
    """All figures."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        try:
            return figures_of(browser, write_logs(Path(folder), runs=20, tags=10, steps=1000))
        finally:
            browser.close()


if __name__ == "__main__":
    print_figures(run())
