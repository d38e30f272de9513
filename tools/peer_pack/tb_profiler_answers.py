"""What torch-tb-profiler makes of a trace, as ``NAME.expected.json`` beside it.

    python tb_profiler_answers.py FOLDER

Needs torch-tb-profiler, which was last released when PyTorch called some categories otherwise; it gets the trace under
these. The parts are the answers of its routes: overview, operators, kernels.
"""

import gzip
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch_tb_profiler import io
from torch_tb_profiler.profiler.loader import RunLoader

OLDER_CATEGORIES = {"cuda_runtime": "Runtime", "kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}


def with_older_categories(trace: Path) -> dict[str, Any]:
    """Return a trace as PyTorch 1.9 would have written it."""
    found: dict[str, Any] = json.loads(gzip.decompress(trace.read_bytes()))
    for event in found["traceEvents"]:
        if event.get("name", "").startswith("enumerate(DataLoader)"):
            event["cat"] = "Operator"
        elif "cat" in event:
            event["cat"] = OLDER_CATEGORIES.get(event["cat"], event["cat"])
    return found


def answers_of(trace: Path) -> dict[str, Any]:
    """Return the overview, the operators and the kernels."""
    with TemporaryDirectory() as folder:
        Path(folder, "worker.pt.trace.json").write_text(json.dumps(with_older_categories(trace)))
        profile = RunLoader("run", folder, io.Cache()).load().get_profiles(worker="worker")[0]
    overview = {**profile.overview, "gpu_metrics": {"data": profile.gpu_summary}}
    return {"overview": overview, "operators": profile.operation_table_by_name, "kernels": profile.kernel_table}


def main(folder: Path) -> None:
    """Write the figures of the first rank's trace."""
    answer = json.dumps(answers_of(folder / "kineto/rank-0.json.gz"), separators=(",", ":"))
    (folder / "kineto/rank-0.expected.json").write_text(answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
