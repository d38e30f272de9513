"""The browser that tests, benchmarks and screenshots drive."""

import os
import shutil
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
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


def browser_path() -> str:
    """Return the Chromium or Chrome of this machine: ``$CHROMIUM``, or the first that is installed.

    Raises:
        FileNotFoundError: no browser is installed.
    """
    found = os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise FileNotFoundError("no Chromium or Chrome found: install chromium, or name one in $CHROMIUM")
    return found
