"""Packages with plug-ins, laid out as an installer does, without one."""

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "plugin"


def install(into: Path, name: str, groups: Mapping[str, Mapping[str, str]], files: Mapping[str, str]) -> None:
    """Put files into a folder for modules, with the metadata of a distribution ``name`` 1.0 and its entry points.

    Args:
        into: the folder, for ``PYTHONPATH``.
        name: of the distribution.
        groups: entry points by the full names of their groups.
        files: contents by path.
    """
    for path, content in files.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        (into / path).write_text(content, "utf-8")
    metadata = into / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join([*lines, ""]), "utf-8")


def install_example(into: Path) -> None:
    """Put the example of the repository there, with what its pyproject.toml says."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    install(into, project["name"], project["entry-points"], {})
    shutil.copytree(
        EXAMPLE / "stepscope_example", into / "stepscope_example", ignore=shutil.ignore_patterns("__pycache__")
    )
