"""The browser that tests, benchmarks and screenshots drive."""

import os
import shutil
from typing import Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SHELLS: Final = ("chromium-headless-shell", "chrome-headless-shell")
FLAGS: Final = (
    # Containers rarely allow the browser its own sandbox; it only ever opens pages on this machine.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.*",
)
"""Flags with which Chromium contacts no other hosts, and runs without a display or a graphics card."""


def browser_path() -> str:
    """Return the Chromium or Chrome of this machine: ``$CHROMIUM``, or the first that is installed.

    Raises:
        FileNotFoundError: no browser is installed.
    """
    return _first_of(NAMES)


def headless_browser_path() -> str:
    """Return what opens pages the soonest: ``$CHROMIUM``, the headless shell, or else the browser of `browser_path`.

    The shell draws pages as Chromium does, but has no windows, so that it opens pages with less work. It is no stand-in
    for a telephone: each tap is followed by a move of a mouse that is elsewhere.

    Raises:
        FileNotFoundError: no browser is installed.
    """
    return _first_of((*SHELLS, *NAMES))


def _first_of(names: tuple[str, ...]) -> str:
    found = os.environ.get("CHROMIUM") or next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise FileNotFoundError("no Chromium or Chrome found: install chromium, or name one in $CHROMIUM")
    return found
