"""The trace that xprof shows of the XSpace in ``tensorflow2``, as ``tensorflow2.xprof_trace.json``.

    python xprof_answers.py FOLDER

Needs xprof.
"""

import json
import sys
from pathlib import Path

from xprof.convert import raw_to_tool_data


def main(folder: Path) -> None:
    """Convert the only XSpace below a folder."""
    (path,) = (folder / "tensorflow2").rglob("*.xplane.pb")
    trace, _ = raw_to_tool_data.xspace_to_tool_data([str(path)], "trace_viewer", {})
    (folder / "tensorflow2.xprof_trace.json").write_text(json.dumps(json.loads(trace), separators=(",", ":")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
