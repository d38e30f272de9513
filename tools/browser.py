"""The browser that tests, benchmarks and screenshots drive."""

import os
import shutil
from typing import Final

HEADLESS_SHELL: Final = "chromium-headless-shell"
"""Chromium without windows, as Debian packages it: it draws the same pages with a fifth less work."""
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", HEADLESS_SHELL)
FLAGS: Final = (
    # Containers rarely allow the browser its own sandbox; it only ever opens pages on this machine.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)
"""Flags with which Chromium contacts no other hosts, and runs without a display or a graphics card."""


def browser_path(first: str = NAMES[0]) -> str:
    """Return the Chromium or Chrome of this machine: ``$CHROMIUM``, or ``first``, or the first that is installed.

    Raises:
        FileNotFoundError: no browser is installed.
    """
    names = (first, *NAMES)
    found = os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise FileNotFoundError("no Chromium or Chrome found: install chromium, or name one in $CHROMIUM")
    return found
