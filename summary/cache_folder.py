"""The folders of caches, whose content can be recreated."""

import os
import sys
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the folder of a cache of this user on this system; it need not exist."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "stepscope" / name
