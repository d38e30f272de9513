"""What the example plug-in adds besides its panel: a kind, a trace format and a verb."""

import shutil
from pathlib import Path

import pytest

from tests.plugin_distributions import run_python, stepscope

LOG = """
import numpy as np
from stepscope import SummaryWriter
from stepscope_example import add_spectrum

with SummaryWriter("logs/run") as writer:
    for step in (0, 10):
        add_spectrum(writer, "weight", np.diag([2.0, 2.0, 0.0]), step)
"""
SPANS = "# spans 1\nloader 0 250 next batch\ngpu 100 50.5 matmul\nnothing\n"


@pytest.fixture
def folder(tmp_path: Path, installed_example: Path) -> Path:
    shutil.copytree(installed_example, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_its_kind_is_logged_and_its_verb_prints_what_was_logged(folder: Path) -> None:
    logged = run_python(folder, "-c", LOG)
    assert logged.returncode == 0, logged.stderr
    printed = stepscope(folder, "rank", "logs")
    assert (printed.returncode, printed.stdout) == (0, "run\tweight\t10\t2.00\t3\n"), printed.stderr


def test_its_trace_format_is_read(folder: Path) -> None:
    (folder / "loop.spans").write_text(SPANS)
    code = (
        "from stepscope.profiler.traces import load_trace\n"
        "trace = load_trace('loop.spans')\n"
        "print([lane.name for lane in trace.lanes], trace.names, trace.duration_ns.tolist(), trace.losses.notes)"
    )
    read = run_python(folder, "-c", code)
    expected = "['loader', 'gpu'] ('next batch', 'matmul') [250000, 50500] ('lines that are not spans: 1',)\n"
    assert read.stdout == expected, read.stderr
