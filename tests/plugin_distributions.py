"""Distributions that add to Stepscope, as an installer would leave them: modules and metadata in one folder."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent


def write_distribution(
    folder: Path, modules: Mapping[str, str], points: Mapping[str, Mapping[str, str]], name: str = "stepscope-mine"
) -> None:
    """Write version 1.2 of a distribution.

    Args:
        folder: the folder that is to be on the path.
        modules: text of each module by name, or of another file by its path, which contains a slash.
        points: by group, such as "analyses", places of records by the name of their entry point.
        name: the distribution's name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for module, text in modules.items():
        path = folder / (module if "/" in module else f"{module}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = []
    for group, places in points.items():
        lines += [f"[stepscope.{group}]", *(f"{point} = {place}" for point, place in places.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))


EXAMPLE = REPOSITORY / "examples" / "plugin"


def pip_install(project: Path, folder: Path) -> None:
    """Have pip install only a project into a folder: its dependencies are installed already."""
    alone = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", *alone, "--target", str(folder), str(project)]
    installed = subprocess.run(pip, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr


def points_of(project: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the entry points of a pyproject.toml's table in the form that `write_distribution` takes."""
    return {group.removeprefix("stepscope."): places for group, places in project["entry-points"].items()}


def run_python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the distributions of a folder on its path."""
    path = os.pathsep.join([str(REPOSITORY), str(folder)])
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "160"} | environment,
        timeout=120,
    )


def stepscope(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the distributions of a folder on its path."""
    return run_python(folder, "-m", "stepscope", *arguments, **environment)
