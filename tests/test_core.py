"""Everything stepscope-core is for works with its dependencies and nothing else."""

import json
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from packaging.utils import canonicalize_name

from tests.installed import OWN, REPOSITORY, closure, needs

pytestmark = pytest.mark.long
_BEYOND_CORE: Final = ("numba", "polars", "watchdog", "regex", "fsspec", "h5py", "orjson", "PIL")


@cache
def others() -> list[str]:
    """The modules that are installed, but not by stepscope-core nor for it."""
    core = {*closure(needs(REPOSITORY / "core/pyproject.toml")), *OWN}
    found = sorted(
        module for module, owners in packages_distributions().items() if not core & set(map(canonicalize_name, owners))
    )
    # In tests with the lowest versions of core's dependencies, these are not even installed.
    installed = {name for name in _BEYOND_CORE if find_spec(name) is not None}
    assert installed <= set(found)
    return found


def without_others(code: str) -> "subprocess.CompletedProcess[str]":
    """Runs Python code where only the modules of stepscope-core and of its dependencies can be imported."""
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({others()!r}))\n{code}"
    return subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, cwd=REPOSITORY)


def test_every_kind_is_logged_and_read_and_a_loop_profiled_with_what_core_depends_on(tmp_path: Path) -> None:
    program = str(REPOSITORY / "tests/core_program.py")
    code = f"import runpy; sys.argv = {[program, str(tmp_path)]!r}; runpy.run_path({program!r}, run_name='__main__')"
    done = without_others(code)
    assert json.loads(done.stdout or done.stderr) == {
        "needs_pillow": [
            f"{what} needs Pillow. Run: pip install 'stepscope-core[images]'"
            for what in ("Drawing boxes", "Writing a video", "A film")
        ],
        "forward": 3,
        "loss": True,
        "kinds": [],
        "unread": [],
    }
    assert done.stderr == (
        "Numba is not installed, so event files are read by plain Python, many times slower. "
        "Run: pip install stepscope\n"
    )


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("from stepscope.summary.snapshot import EMPTY_SNAPSHOT; EMPTY_SNAPSHOT.scalars()", "A table needs polars"),
        ("from stepscope import SummaryWriter; SummaryWriter('memory://x')", "The address memory://x needs fsspec"),
        ("from stepscope import open_logdir; open_logdir('memory://x')", "The address memory://x needs fsspec"),
        ("from stepscope.summary.safe_regex import Pattern; Pattern('x')", "Searching by a pattern needs regex"),
        pytest.param(
            "import stepscope.profiler.traces",
            "Reading traces needs backports.zstd",
            marks=pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python itself unpacks zstd"),
        ),
        ("import stepscope.profiler.analysis.longest_path", "Reading and analyzing traces needs numba"),
    ],
)
def test_what_needs_more_says_in_one_sentence_what_to_install(code: str, what: str) -> None:
    done = without_others(f"{code}")
    assert done.stderr.splitlines()[-1] == (
        f"stepscope.summary.full_install.NotInstalledError: {what}, which stepscope-core does not include. "
        "Run: pip install stepscope"
    )


def test_log_directories_are_followed_by_the_clock(tmp_path: Path) -> None:
    done = without_others(
        f"""
import queue
from stepscope.summary.follow import Follower
from stepscope.summary.logdir import Logdir
published = queue.Queue()
follower = Follower(Logdir({str(tmp_path)!r}), published.put, poll_seconds=0.01)
follower.start()
print(published.get(timeout=30).revision)
follower.stop()
"""
    )
    assert (done.stdout, done.stderr) == (
        "1\n",
        "polling instead: Watching a folder needs watchdog, which stepscope-core does not include. "
        "Run: pip install stepscope\n",
    )


def test_core_depends_on_so_little() -> None:
    installed = closure(needs(REPOSITORY / "core/pyproject.toml"))
    assert sorted(installed) == ["crc32c", "msgspec", "numpy", "protobuf", "psutil", "zlib-ng"]


def test_both_distributions_are_of_one_version() -> None:
    whole, core = (
        tomllib.loads((REPOSITORY / path / "pyproject.toml").read_text())["project"] for path in (".", "core")
    )
    assert whole["version"] == core["version"]
    assert f"stepscope-core=={core['version']}" in whole["dependencies"]
    assert (REPOSITORY / "core/LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_what_comes_with_core_is_not_asked_for_twice_with_other_bounds() -> None:
    core = {*needs(REPOSITORY / "core/pyproject.toml"), "numpy>=2,<3"}
    names = {text.split(">")[0] for text in core}
    assert {text for text in needs(REPOSITORY / "pyproject.toml") if text.split(">")[0] in names} <= core
