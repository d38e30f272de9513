"""The command beside modules of the user's that have the names of Stepscope's packages."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Python, with the user's folder on its path before Stepscope's."""
    path = os.pathsep.join([str(folder), str(REPOSITORY)])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["summary", "profiler", "dashboard"])
@pytest.mark.parametrize("is_package", [False, True])
def test_a_module_of_the_users_is_named_in_a_sentence(tmp_path: Path, name: str, is_package: bool) -> None:
    module = tmp_path / name if is_package else tmp_path / f"{name}.py"
    if is_package:
        module.mkdir()
    (module / "__init__.py" if is_package else module).write_text("raise SystemExit('it must not run')")
    assert run(tmp_path, "-m", "stepscope", "--version") == (
        2,
        "",
        f"stepscope: {module} hides Stepscope's package {name!r}: rename it, or run this where {tmp_path} is not on "
        "Python's path, such as without it in PYTHONPATH.\n",
    )
    code, _, errors = run(tmp_path, "-c", "import stepscope; stepscope.load_ipython_extension(None)")
    assert (code, errors.splitlines()[-1].split(":")[0]) == (1, "ImportError")


def test_the_command_runs_beside_other_modules(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    # Without a module in it, a folder hides nothing.
    (tmp_path / "dashboard").mkdir()
    assert run(tmp_path, "-m", "stepscope", "--version") == (0, "stepscope 0.1.0\n", "")


def test_the_command_begins_with_the_look_at_its_packages() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["scripts"] == {"stepscope": "stepscope.command:main"}
