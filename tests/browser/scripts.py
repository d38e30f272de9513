"""Modules of the page as one script, for tests that put part of the page on a blank one."""

import subprocess
from functools import cache
from pathlib import Path

from stepscope.dashboard.page import bundle

ENTRIES = Path(__file__).with_name("entries")


@cache
def script_of(entry: str) -> str:
    """The modules that an entry of ``entries`` imports, as one classic script."""
    command = [bundle.deno(), "bundle", "--quiet", "--platform", "browser", "--format", "iife", str(ENTRIES / entry)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
