"""Imports run one way: dashboard -> profiler -> summary."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.page import bundle

REPOSITORY = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "summary": {"summary"},
    "profiler": {"profiler", "summary"},
    "dashboard": {"dashboard", "profiler", "summary"},
}
ROOMS = set(MAY_IMPORT)


def imported_rooms(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case _:
                continue
        yield from (module.split(".")[0] for module in modules if module.split(".")[0] in ROOMS)


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_imports_run_one_way(room: str) -> None:
    wrong = {
        f"{path.relative_to(REPOSITORY)} imports {imported}"
        for path in (REPOSITORY / room).rglob("*.py")
        for imported in imported_rooms(path)
        if imported not in MAY_IMPORT[room]
    }
    assert not wrong


def test_the_profiler_uses_of_summary_nothing_that_reads_log_directories() -> None:
    allowed = (
        "summary.proto",
        "summary.records",
        "summary.writer",
        "summary.conditions",
        "summary.errors",
        "summary.patterns",
        "summary.storage",
        "summary.hooks",
        "summary.cancellation",
        "summary.kernels",
    )
    for path in (REPOSITORY / "profiler").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "summary":
                assert node.module.startswith(allowed), f"{path.name} imports {node.module}"


@pytest.mark.parametrize("module", ["summary", "profiler"])
def test_training_code_pays_for_no_heavy_import(module: str) -> None:
    heavy = ("numba", "dash", "plotly", "torch", "tensorflow", "pandas", "sklearn", "polars")
    code = f"import sys, {module}; print(*sorted(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout.split() == []


def test_no_source_of_others_and_no_address_off_the_host_is_in_the_pages_modules_and_styles() -> None:
    sources = [*bundle.modules(), *bundle.styles()]
    assert {".ts", ".css"} <= {path.suffix for path in sources}
    for path in sources:
        text = path.read_text()
        for address in ("http://", "https://", "//cdn", "@import"):
            assert address not in text.replace("http://www.w3.org/", ""), f"{path.name} has {address}"
