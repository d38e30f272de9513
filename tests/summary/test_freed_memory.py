"""Freed memory is returned to the system."""

import re
import subprocess
import sys

import pytest

FREES: str = """
import re
from stepscope.summary.freed_memory import give_back

def held():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])

# One of a hundred stays, so that no whole piece of the heap is free at its end.
pieces = [bytes(1000) for _ in range(100_000)]
pieces = pieces[::100]
before = held()
give_back()
print(before - held())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the C library has no such call")
def test_what_was_freed_between_what_is_kept_is_given_back() -> None:
    environment = {"PYTHONMALLOC": "malloc"}
    done = subprocess.run([sys.executable, "-c", FREES], capture_output=True, text=True, check=True, env=environment)
    assert re.fullmatch(r"-?\d+\n", done.stdout)
    assert int(done.stdout) > 20_000
