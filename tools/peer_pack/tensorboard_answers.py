"""What TensorBoard serves of a log directory, as ``NAME.tensorboard.json`` beside it.

    python -m tools.peer_pack.tensorboard_answers FOLDER NAME=LOGDIR...

Nothing is sampled, and TensorBoard's own reader in Python reads. Keys are ``runs``, routes that have one answer, and
for each kind ``<kind>/tags`` and ``<kind>``: run, tag, then the body of ``/data/plugin/<kind>/<kind>``. Needs
tensorboard.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.peers.tensorboard_server import TensorBoard

KINDS = ("scalars", "images", "audio", "histograms", "distributions", "text", "pr_curves")
ROUTES = (
    "plugin/custom_scalars/layout",
    "plugin/graphs/info",
    "plugin/mesh/tags",
    "plugin/projector/runs",
)


def answers_of(logdir: Path) -> dict[str, Any]:
    """Return every answer by route, run and tag."""
    board = TensorBoard(logdir)
    found: dict[str, Any] = {"runs": board.json("runs")}
    found |= {route: board.json(route) for route in ROUTES}
    for kind in KINDS:
        tags = found[f"{kind}/tags"] = board.json(f"plugin/{kind}/tags")
        found[kind] = {
            run: {tag: board.json(f"plugin/{kind}/{kind}", run=run, tag=tag) for tag in of_run}
            for run, of_run in tags.items()
            if of_run
        }
    return found


def main(folder: Path, *logdirs: str) -> None:
    """Write the answers for each ``NAME=LOGDIR`` below a folder."""
    for given in logdirs:
        name, _, logdir = given.partition("=")
        text = json.dumps(answers_of(folder / logdir), separators=(",", ":"), sort_keys=True)
        (folder / f"{name}.tensorboard.json").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
