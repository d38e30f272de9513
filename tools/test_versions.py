"""Runs the tests with the lowest and the newest of each dependency, on each Python that Stepscope supports.

    python -m tools.test_versions [--python 3.11 --python 3.14] [--which core] [--resolution lowest-direct]

Each of the environments gets the dependencies of a ``pyproject.toml`` by ``uv``, at their lowest or newest versions,
and runs the tests that need neither a browser nor another tool. A Python that is not on this machine, and that uv
cannot fetch, is passed over with a word, unless it was asked for.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parent.parent
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS: Final = ("lowest-direct", "highest")
PROJECTS: Final = {"core": ["core/pyproject.toml"], "whole": ["core/pyproject.toml", "pyproject.toml"]}
"""What is installed: the dependencies listed in these files."""
EXTRAS: Final = {
    "core": [("core/pyproject.toml", "images")],
    "whole": [("core/pyproject.toml", "hdf5"), ("pyproject.toml", "scikit-learn")],
}
TEST_TOOLS: Final = ("hatchling", "httpx", "hypothesis", "packaging", "pip", "pytest", "pytest-timeout")
TESTS: Final = {
    "core": [
        "tests/summary",
        "tests/profiler",
        "tests/test_core.py",
        # For the command, and for loops.
        "--ignore=tests/summary/test_kinds_registry.py",
        "--ignore=tests/summary/debugger/test_many_at_once.py",
    ],
    "whole": ["tests/summary", "tests/profiler", "tests/dashboard/projections", "tests/dashboard/graphs"],
}


def interpreter(version: str) -> Path | None:
    """Return a Python of a version, such as "3.12", from this machine, pyenv or uv; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for candidate in [*([Path(on_path)] if on_path else []), *sorted(pyenv.glob(f"{version}*/bin/python"))]:
        if subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    found = subprocess.run(["uv", "python", "install", version], capture_output=True, text=True)
    if found.returncode != 0:
        return None
    return Path(subprocess.check_output(["uv", "python", "find", version], text=True).strip())


def run_tests(python: Path, which: str, resolution: str, folder: Path, arguments: Sequence[str]) -> bool:
    """Make an environment, run the tests in it, and return whether they passed."""
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    install = ["uv", "pip", "install", "--quiet", "--python", str(programs / "python")]
    listed = [word for file in PROJECTS[which] for word in ("--requirement", str(REPOSITORY / file))]
    for file, extra in EXTRAS[which]:
        listed += tomllib.loads((REPOSITORY / file).read_text())["project"]["optional-dependencies"][extra]
    # The lowest versions with wheels for this Python: older ones cannot be installed there without compilers.
    wheels = ["--only-binary", ":all:"]
    commands: list[list[str]] = [
        ["uv", "venv", "--quiet", "--python", str(python), str(folder)],
        [*install, *wheels, "--resolution", resolution, *listed, "--editable", str(REPOSITORY / "core")],
        # The command reports its version, which is that of the distribution.
        *([[*install, "--no-deps", "--editable", str(REPOSITORY)]] if which == "whole" else []),
        [*install, *TEST_TOOLS],
        ["uv", "pip", "list", "--python", str(programs / "python")],
        [str(programs / "python"), "-m", "pytest", "-p", "tools.test_versions_plugin", *arguments],
    ]
    environment = {**os.environ, "STEPSCOPE_INSTALLED": which, "PYTHONPATH": str(REPOSITORY)}
    return all(subprocess.run(command, cwd=REPOSITORY, env=environment).returncode == 0 for command in commands)


def main() -> int:
    """Run the requested combinations; return 1 if the tests of one failed or a Python is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", choices=PYTHONS, help="all by default")
    parser.add_argument("--which", action="append", choices=PROJECTS, help="both by default")
    parser.add_argument("--resolution", action="append", choices=RESOLUTIONS, help="both by default")
    parser.add_argument("tests", nargs="*", help="files, folders and options for pytest")
    arguments = parser.parse_args()
    failed = []
    for version in arguments.python or PYTHONS:
        python = interpreter(version)
        if python is None:
            print(f"Python {version} is not on this machine, and cannot be fetched.", flush=True)
            if arguments.python:
                failed.append(f"Python {version}")
            continue
        for which in arguments.which or PROJECTS:
            for resolution in arguments.resolution or RESOLUTIONS:
                name = f"Python {version}, {which}, {resolution}"
                print(f"== {name}", flush=True)
                with TemporaryDirectory() as folder:
                    if not run_tests(python, which, resolution, Path(folder), arguments.tests or TESTS[which]):
                        failed.append(name)
    print(f"failed: {'; '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
