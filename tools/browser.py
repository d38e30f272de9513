"""The browser that tests, benchmarks and screenshots drive."""

import os
import shutil
from collections.abc import Sequence
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEADLESS: Final = ("chromium-headless-shell", *NAMES)
"""The first is Chromium without all that needs a window, a tenth less work."""
FLAGS: Final = (
    # Containers rarely allow the browser its own sandbox; it only ever opens pages of this machine.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)
"""Chromium asks nothing of other hosts, and runs without a display or a graphics card."""


def browser_path(names: Sequence[str] = NAMES) -> str:
    """Return the Chromium or Chrome of this machine: ``$CHROMIUM``, or the first of the names that is installed.

    Raises:
        FileNotFoundError: there is none.
    """
    found = os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise FileNotFoundError("no Chromium or Chrome found: install chromium, or name one in $CHROMIUM")
    return found
