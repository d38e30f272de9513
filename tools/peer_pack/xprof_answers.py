"""The traces that xprof shows of the XSpaces in ``tensorflow2`` and ``gpu``, as ``tensorflow2.xprof_trace.json`` and
``gpu/jax.xprof_trace.json``.

    python xprof_answers.py FOLDER

Needs xprof.
"""

import json
import sys
from pathlib import Path

from xprof.convert import raw_to_tool_data


def main(folder: Path) -> None:
    """Convert the only XSpace in each of both folders."""
    for part, answer in (("tensorflow2", "tensorflow2.xprof_trace.json"), ("gpu", "gpu/jax.xprof_trace.json")):
        (path,) = (folder / part).rglob("*.xplane.pb")
        trace, _ = raw_to_tool_data.xspace_to_tool_data([str(path)], "trace_viewer", {})
        (folder / answer).write_text(json.dumps(json.loads(trace), separators=(",", ":")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
