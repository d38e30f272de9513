"""Results of benchmarks as they are kept: figures with the day, the commit and the machine that they are of."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks._report import Figure

REPOSITORY: Final = Path(__file__).resolve().parent.parent
RESULTS: Final = REPOSITORY / "benchmarks" / "results.json"
MADE_OF_RESULTS: Final = ("benchmarks/results.json", "docs/benchmarks.md", "docs/growth", "README.md")
PEERS: Final = ("tensorboard", "tensorboardX", "torch", "viztracer", "scikit-learn", "umap-learn")
"""Packages that benchmarks compare with, whose versions belong to the figures."""


@dataclass(frozen=True)
class Conditions:
    """What a run of a benchmark is of."""

    date: str
    """As in 2026-11-23, UTC."""
    commit: str
    """Abbreviated; with ``+`` where files differed from it."""
    machine: str
    """Processor, cores, memory, system and Python."""
    load: float
    """Processes that wanted a core in the minute before, on average: others' work, which makes figures worse."""
    peers: str
    """Versions of what is compared with."""


@dataclass(frozen=True)
class Result:
    """One run of one benchmark."""

    conditions: Conditions
    seconds: float
    """How long it took."""
    figures: Sequence[Figure]


def conditions_now() -> Conditions:
    """Return what a run that begins now is of."""
    return Conditions(datetime.now(UTC).date().isoformat(), _commit(), machine(), round(_load(), 1), _versions())


def machine() -> str:
    """Return the machine in words, without its name."""
    memory = psutil.virtual_memory().total / 2**30
    parts = (
        _processor(),
        f"{os.cpu_count()} cores",
        f"{memory:.0f} GiB",
        platform.system(),
        f"Python {platform.python_version()}",
    )
    return ", ".join(parts)


def load_results(path: Path = RESULTS) -> dict[str, Result]:
    """Return the results of a file by the names of benchmarks; none where there is no file."""
    return dict(_results(json.loads(path.read_text()))) if path.exists() else {}


def save_results(results: Mapping[str, Result], path: Path = RESULTS) -> None:
    """Write results, in the order that they have."""
    path.write_text(json.dumps({name: asdict(result) for name, result in results.items()}, indent=1) + "\n")


def _results(content: Mapping[str, Any]) -> Iterator[tuple[str, Result]]:
    for name, found in content.items():
        figures = [Figure(**figure) for figure in found["figures"]]
        yield name, Result(Conditions(**found["conditions"]), found["seconds"], figures)


def _commit() -> str:
    """Return the commit of the checkout; what benchmarks themselves write does not count as a difference."""
    commit = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "--", ".", *(f":!{path}" for path in MADE_OF_RESULTS))
    return commit + ("+" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _versions() -> str:
    return ", ".join(f"{name} {found}" for name in PEERS if (found := _version(name)))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
