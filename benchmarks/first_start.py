"""What a newcomer waits for: from ``stepscope demo`` to the first chart, with nothing kept of a start before.

Each time has a home folder of its own that is empty, so neither the first page nor compiled loops are there. The
browser runs already. What the installation itself has is as it is: for a fresh one make an environment, install the
wheels into it, and name its command, ``python -m benchmarks.first_start --command ENVIRONMENT/bin/stepscope``.
"""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from tools.browser import FLAGS, browser_path

_MOST_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.01
_DRAWN: Final = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(".card.drawn canvas")) return;
  observer.disconnect();
  requestAnimationFrame(() => performance.mark("drawn"));
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
"""
"""Marks the frame with the first curve."""
_PHASES: Final = """() => {
  const ended = (part) => Math.max(0, ...performance.getEntriesByType("resource")
    .filter(({ name }) => name.includes(part)).map(({ responseEnd }) => responseEnd));
  const [page] = performance.getEntriesByType("navigation");
  const [drawn] = performance.getEntriesByName("drawn");
  return [page.responseEnd, ended("/dash_mantine_components"), ended("_dash-layout"), drawn.startTime]
    .map((moment) => (performance.timeOrigin + moment) / 1000);
}"""


@dataclass(frozen=True)
class Start:
    """Seconds since the command was given."""

    listens: float
    page: float
    scripts: float
    layout: float
    """The whole server is imported then."""
    drawn: float

    def __str__(self) -> str:
        return (
            f"listens {self.listens:.2f} s, page {self.page:.2f}, scripts {self.scripts:.2f}, "
            f"layout {self.layout:.2f}, first chart {self.drawn:.2f}"
        )


def fresh_environment(home: Path) -> dict[str, str]:
    """The variables of a user who has just come."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NUMBA_", "STEPSCOPE_"))}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "NUMBA_CACHE_DIR": str(home / "numba")}


def wait_for_port(port: int) -> None:
    """Returns when something listens."""
    give_up = time.monotonic() + _MOST_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("localhost", port), 1):
            return
        if time.monotonic() > give_up:
            raise TimeoutError(f"nothing listens after {_MOST_SECONDS:g} s")
        time.sleep(_LOOK_SECONDS)


def started(browser: Browser, command: list[str]) -> Start:
    """One start."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    # The process that compiles loops may still be writing when it is told to end.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, browser.new_context() as context:
        page = context.new_page()
        page.add_init_script(_DRAWN)
        begin = time.time()
        given = [*command, "demo", "--port", str(port)]
        with subprocess.Popen(given, env=fresh_environment(Path(home)), cwd=home, stdout=subprocess.DEVNULL) as server:
            try:
                wait_for_port(port)
                listens = time.time()
                page.goto(f"http://localhost:{port}/", wait_until="commit", timeout=1000 * _MOST_SECONDS)
                page.wait_for_selector(".card.drawn canvas", timeout=1000 * _MOST_SECONDS)
                page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                return Start(*(moment - begin for moment in (listens, *page.evaluate(_PHASES))))
            finally:
                server.terminate()


def main() -> None:
    """Prints each start, and the median of the time to the first chart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--command", help="the command of another environment (this one's)")
    options = parser.parse_args()
    command = [options.command] if options.command else [sys.executable, "-m", "stepscope"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        found = []
        for _ in range(options.times):
            found.append(started(browser, command))
            print(found[-1], flush=True)
    print(f"first chart after {median(start.drawn for start in found):.2f} s at the median of {len(found)} starts")


if __name__ == "__main__":
    main()
