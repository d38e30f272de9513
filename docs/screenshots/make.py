"""Takes the pictures of the documentation: every panel over the sample logs, in light and in dark.

``make screenshots`` writes them beside this script. Look at them after every change to what users see.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Page, sync_playwright

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


def main() -> None:
    with serving(SAMPLE_LOGS) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
        for scheme in SCHEMES:
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
            for panel in PANELS:
                page.goto(f"{url}?tab={panel.name}")
                settle(page, panel.name)
                page.screenshot(path=FOLDER / f"{panel.name}_{scheme}.png")
                print(f"{panel.name}_{scheme}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
