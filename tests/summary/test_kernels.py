"""Compiled loops run where nothing can be kept, and nothing waits for them while another process compiles them."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

from stepscope.summary import kernels, scan_kernel
from stepscope.summary.kernels import Group, is_compiled, kernel

ROOT = Path(kernels.__file__).parents[2]


@kernel()
def double(number: int) -> int:
    return 2 * number


def test_a_kernel_is_compiled_when_it_is_first_called_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    fresh = kernel()(double.py_func)  # type: ignore[attr-defined]
    assert not is_compiled(fresh)
    assert fresh(4) == 8
    assert is_compiled(fresh)
    assert is_compiled(kernel()(double.py_func))  # type: ignore[attr-defined]


def test_what_was_compiled_is_good_for_as_long_as_the_source_is_the_same_whatever_its_time(tmp_path: Path) -> None:
    source = tmp_path / "loops.py"
    source.write_text("from stepscope.summary.kernels import kernel\n@kernel()\ndef double(n):\n    return 2 * n\n")
    code = (
        "from stepscope.summary.kernels import is_compiled as c; import loops; print(c(loops.double), loops.double(2))"
    )
    environment = {
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def told() -> str:
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert told() == "False 4\n"
    assert told() == "True 4\n"
    os.utime(source, (4e9, 4e9))
    # Older versions of Numba go by the time, and compile once more.
    assert [told(), told()][1] == "True 4\n"
    source.write_text(source.read_text().replace("2", "3"))
    assert told() == "False 6\n"


@kernel()
def fourfold(number: int) -> int:
    return double(double(number))


def test_a_kernel_calls_those_of_its_module_though_none_was_called_before() -> None:
    assert (fourfold(3), fourfold.__name__, fourfold.__module__) == (12, "fourfold", __name__)


def test_numba_is_imported_with_the_first_call() -> None:
    code = (
        "import sys; from stepscope.profiler.traces import read_trace; before = 'numba' in sys.modules; "
        """trace = read_trace(b'[{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]', name="a.json"); """
        "print(before, len(trace), 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False 1 True\n"


def test_a_group_is_ready_unless_another_process_is_about_to_compile_it() -> None:
    group = Group("loops", [__name__])
    assert (group.ready, [each.__name__ for each in group.kernels()]) == (True, ["double", "fourfold"])
    done = threading.Event()
    group.compiled_elsewhere(done)
    assert (group.ready, group.wait(0)) == (False, False)
    done.set()
    assert (group.ready, group.wait(0)) == (True, True)


def test_little_may_be_done_without_a_group_that_nobody_has_called() -> None:
    group = Group("loops", [__name__])
    group.spare(10)
    assert [group.take(amount) for amount in (4, 5, 4)] == [False, False, True]
    group.spare(10)
    assert (group.spared, group.take(1)) == (False, True)


def test_whoever_first_asks_for_a_group_has_it_looked_at() -> None:
    group = Group("loops", [__name__])
    done = threading.Event()
    looks: list[str] = []

    def look() -> None:
        looks.append("look")
        done.set()

    group.compiled_elsewhere(done, look)
    assert looks == []
    assert (group.ready, group.ready, group.wait(0), looks) == (True, True, True, ["look"])


def test_every_module_with_kernels_is_in_a_group_or_in_the_workers() -> None:
    from stepscope.dashboard.server.warm_up import GROUPS

    found = {
        str(path.relative_to(ROOT).with_suffix("")).replace(os.sep, ".")
        for room in ("summary", "profiler", "debug", "dashboard")
        for path in (ROOT / "stepscope" / room).rglob("*.py")
        if any(line.startswith("@kernel") for line in path.read_text("utf-8").splitlines())
    }
    known = {name for group in GROUPS.values() for name in group.modules}
    assert {name for name in found if not name.startswith("stepscope.dashboard.projections.")} == known


@pytest.mark.parametrize("folder_of_all", [True, False])
def test_an_installation_that_cannot_be_written_to_reads(tmp_path: Path, folder_of_all: bool) -> None:
    """In a container without a writable home, all reading commands once ended with Numba's "no locator available"."""
    package = tmp_path / "stepscope"
    package.mkdir()
    shutil.copy(ROOT / "stepscope/__init__.py", package)
    shutil.copytree(ROOT / "summary", package / "summary", ignore=shutil.ignore_patterns("__pycache__"))
    # Files in the place of folders also stop users who may write everywhere.
    for folder in [package, *package.rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.write_text("")
    temporary.mkdir()
    if not folder_of_all:
        (temporary / f"stepscope-kernels-{os.getuid()}").write_text("in the way")
    code = (
        "from stepscope.summary.kernels import kernel; import stepscope.summary.scan_kernel as k, numpy as np; "
        "print(int(k._masked_crc(np.frombuffer(b'123456789', np.uint8), 0, 9)))"
    )
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{scan_kernel._masked_crc(np.frombuffer(b'123456789', np.uint8), 0, 9)}\n"
        assert done.stderr.count("Compiled loops are kept in") == 1
    kept = list(temporary.rglob("*.nbi"))
    assert bool(kept) == folder_of_all
    if folder_of_all:
        assert kept[0].parents[1].stat().st_mode & 0o077 == 0


def test_code_is_not_loaded_from_a_folder_that_others_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shared = tmp_path / f"stepscope-kernels-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    kernels._temporary_folder.cache_clear()
    try:
        assert kernels._temporary_folder() != str(shared)
    finally:
        kernels._temporary_folder.cache_clear()
