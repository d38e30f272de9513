"""Takes the pictures of the documentation: every panel over the sample logs, in light and in dark.

``make screenshots`` writes them beside this script. Look at them after every change to what users see.
The health panel is shown over a copy of the logs in which a few bits were flipped.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from dashboard.panels import PANELS
from tools.browser import FLAGS, browser_path

FOLDER: Final = Path(__file__).resolve().parent
SAMPLE_LOGS: Final = FOLDER.parent.parent / "sample_logs"
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTH, HEIGHT = 1280, 860
READY: Final = {
    "scalars": ".js-plotly-plot .scatterlayer path.js-line",
    "images": "img[src*='/api/images/']",
    "histograms": ".js-plotly-plot .scatterlayer path",
    "text": "table",
    "timeline": "canvas",
    "health": "#health-details tbody tr",
}
"""A selector that matches once a panel has drawn."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serves a log directory and gives the URL."""
    command = [sys.executable, "-m", "dashboard", "--logdir", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        finally:
            server.terminate()


def settle(page: Page, panel: str) -> None:
    """Waits until the panel has drawn and nothing has been fetched for a while."""
    page.wait_for_selector(READY[panel], state="attached", timeout=60_000)
    if panel == "timeline":
        page.wait_for_function("() => window.stepscope.timeline.debug().slices > 0", timeout=60_000)
    page.wait_for_timeout(1_000)


def damaged_copy(folder: Path) -> str:
    """Copies the sample logs into a folder and damages one file of them; returns its path in the folder."""
    shutil.copytree(SAMPLE_LOGS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    files = sorted(folder.rglob("*tfevents*"))
    damaged, cut = files[1], files[-1]
    content = bytearray(damaged.read_bytes())
    for place in (len(content) // 3, len(content) // 2, len(content) - 5):
        content[place] ^= 0x10
    damaged.write_bytes(content)
    cut.write_bytes(cut.read_bytes()[:-9])
    return damaged.relative_to(folder).as_posix()


def take(browser: Browser, url: str, panel: str) -> None:
    """Takes the pictures of one panel."""
    for scheme in SCHEMES:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
        page.goto(url)
        settle(page, panel)
        page.screenshot(path=FOLDER / f"{panel}_{scheme}.png")
        print(f"{panel}_{scheme}.png")
        page.close()


def main() -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        with serving(SAMPLE_LOGS) as url:
            for panel in PANELS:
                if panel.name != "health":
                    take(browser, f"{url}?tab={panel.name}", panel.name)
        damaged = damaged_copy(Path(scratch))
        with serving(Path(scratch)) as url:
            take(browser, f"{url}?{urlencode({'tab': 'health', 'health.file': damaged})}", "health")
        browser.close()


if __name__ == "__main__":
    main()
