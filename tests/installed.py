"""The installed distributions that a distribution needs, and an interpreter that has those and nothing else."""

import subprocess
import sys
import tomllib
import venv
from collections.abc import Collection, Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY: Final = Path(__file__).resolve().parent.parent
OWN: Final = ("stepscope", "stepscope-core")


def needs(pyproject: Path) -> list[str]:
    """The requirements that a pyproject.toml lists."""
    listed: list[str] = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    return listed


def closure(requirements: Iterable[str]) -> dict[str, Distribution]:
    """The required distributions and all that those need, by name; those of this repository are left out."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    open_ones = [(Requirement(text), "") for text in requirements]
    while open_ones:
        requirement, extra = open_ones.pop()
        name = canonicalize_name(requirement.name)
        if name in OWN or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
            continue
        found.setdefault(name, distribution(name))
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                open_ones += [(Requirement(text), wanted) for text in found[name].requires or ()]
    return found


def link_files(distributions: Collection[Distribution], folder: Path) -> None:
    """Link the files of some distributions into a folder: whole packages, except those that several share."""
    folder.mkdir()
    for each in distributions:
        for file in each.files or ():
            root = Path(str(each.locate_file("")))
            parts = file.parts
            if parts[0] == ".." or parts[0] == "__pycache__":
                continue
            # A namespace: `google` and `backports` contain parts of many distributions.
            shared = len(parts) > 2 and not parts[0].endswith("-info") and not any(root.glob(f"{parts[0]}/__init__.*"))
            link = folder.joinpath(*parts[: 2 if shared else 1])
            if not link.exists():
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(root / link.relative_to(folder))


def environment(folder: Path, wheels: Collection[Path], distributions: Collection[Distribution]) -> Path:
    """Make an environment with the files of some wheels and distributions, and return its folder of programs."""
    venv.create(folder / "venv", symlinks=True)
    link_files(distributions, folder / "dependencies")
    programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    install = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", *map(str, wheels)]
    command = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", *install]
    subprocess.run(command, check=True)
    (packages,) = (folder / "venv").glob("[lL]ib/**/site-packages")
    # The folder is searched after the wheels' own files, and its .pth files, which lead to the checkout, are ignored.
    (packages / "dependencies.pth").write_text(f"{folder / 'dependencies'}\n")
    return programs
