"""What HolisticTraceAnalysis makes of traces, as ``NAME.hta.json`` beside each.

    python hta_answers.py FOLDER

Needs HolisticTraceAnalysis. Each table is a list of its rows.
"""

import json
import sys
import warnings
from pathlib import Path
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


def answers_of(trace: Path) -> dict[str, list[list[dict[str, Any]]]]:
    """Return the tables of each method."""
    analysis = TraceAnalysis({0: str(trace.resolve())})
    found = {}
    for name, options in TABLES.items():
        tables = getattr(analysis, name)(**options)
        tables = tables if isinstance(tables, tuple) else (tables,)
        found[name] = [plain(table) for table in tables if table is not None]
    return found


def main(folder: Path) -> None:
    """Write the figures of every trace below a folder."""
    warnings.simplefilter("ignore")
    for trace in sorted((folder / "kineto").glob("*.json.gz")):
        target = trace.with_name(trace.name.removesuffix(".json.gz") + ".hta.json")
        target.write_text(json.dumps(answers_of(trace), separators=(",", ":")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
