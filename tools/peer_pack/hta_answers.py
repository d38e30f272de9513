"""What HolisticTraceAnalysis makes of traces, as ``NAME.hta.json`` beside each.

    python hta_answers.py FOLDER

Needs HolisticTraceAnalysis. Each table is a list of its rows. ``critical_path`` has, by the number of a step, how many
microseconds its path explains; it takes steps of traces on GPUs alone that were recorded, not made up. It gets these
without their annotations on streams, whose steps it would take for the host's.
"""

import gzip
import json
import os
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hta.trace_analysis import TraceAnalysis

TABLES: dict[str, dict[str, Any]] = {
    "get_temporal_breakdown": {"visualize": False},
    "get_gpu_kernel_breakdown": {"visualize": False, "num_kernels": 100, "duration_ratio": 1.0},
    "get_idle_time_breakdown": {"visualize": False, "ranks": [0], "consecutive_kernel_delay": 30},
    "get_comm_comp_overlap": {"visualize": False},
    "get_memory_bw_summary": {"ranks": [0]},
    "get_queue_length_summary": {"ranks": [0]},
}


def plain(table: Any) -> list[dict[str, Any]]:
    """Return a table's rows; what is no number is None."""
    rows = json.loads(table.reset_index().to_json(orient="records", double_precision=10))
    return list(rows)


def critical_paths(analysis: TraceAnalysis, steps: list[str]) -> dict[str, float]:
    """Return by step how much of it its critical path explains, in microseconds; the last one is not read whole."""
    explained = {}
    for number, step in enumerate(steps[:-1]):
        path, _ = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=number)
        explained[step] = float(path.get_critical_path_breakdown()["duration"].sum())
    return explained


def answers_of(trace: Path) -> dict[str, Any]:
    """Return the tables of each method."""
    analysis = TraceAnalysis({0: str(trace.resolve())})
    found: dict[str, Any] = {}
    for name, options in TABLES.items():
        tables = getattr(analysis, name)(**options)
        tables = tables if isinstance(tables, tuple) else (tables,)
        found[name] = [plain(table) for table in tables if table is not None]
    return found


def answers_of_recorded(trace: Path) -> dict[str, Any]:
    """Return the tables of each method, and the critical paths, of a trace that was recorded on a GPU."""
    whole = json.loads(gzip.decompress(trace.read_bytes()))
    whole["traceEvents"] = [event for event in whole["traceEvents"] if event.get("cat") != "gpu_user_annotation"]
    annotations = (event["name"] for event in whole["traceEvents"] if event.get("cat") == "user_annotation")
    steps = sorted(name.removeprefix("ProfilerStep#") for name in annotations if name.startswith("ProfilerStep#"))
    with TemporaryDirectory() as folder:
        changed = Path(folder, trace.name)
        changed.write_bytes(gzip.compress(json.dumps(whole).encode()))
        analysis = TraceAnalysis({0: str(changed)})
        return answers_of(changed) | {"critical_path": critical_paths(analysis, steps)}


def written_beside(trace: Path, answers: dict[str, Any]) -> None:
    """Write what is found of a trace."""
    target = trace.with_name(trace.name.removesuffix(".json.gz") + ".hta.json")
    target.write_text(json.dumps(answers, separators=(",", ":")))


def main(folder: Path) -> None:
    """Write the figures of every trace below a folder."""
    warnings.simplefilter("ignore")
    # Read nanoseconds as such.
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    for trace in sorted((folder / "kineto").glob("*.json.gz")):
        written_beside(trace, answers_of(trace))
    for trace in sorted((folder / "gpu").glob("*.json.gz")):
        written_beside(trace, answers_of_recorded(trace))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
