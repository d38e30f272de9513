"""What TensorFlow's debugger writes of a training in each of its modes, and what TensorBoard says of these dumps.

    python debugger_dumps.py FOLDER

Writes ``debugger/MODE`` by ``debugged_training.py``, with the code of that file alone and paths of no machine, and
``debugger/MODE.tensorboard.json``: for each route of ``/data/plugin/debugger-v2/``, below the name of the run, its
answer, by what was asked for where that is needed. TensorBoard does not answer about whole tensors. Needs tensorflow
and tensorboard.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.debugger_v2.debugger_v2_plugin import DebuggerV2Plugin
from tensorflow.core.protobuf.debug_event_pb2 import DebugEvent
from werkzeug.test import Client

TRAINING = Path(__file__).with_name("debugged_training.py")
MODES = ("NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_TENSOR")
UNANSWERED = "FULL_TENSOR"
RUN = "__default_debugger_run__"
HOST = "vm"
OWN = "/home/user/train.py"
LIBRARY = "/opt/venv/lib/python3.11/site-packages"
PATIENCE_S = 60
MOST_OPERATIONS = 12
"""Each has a stack, and those around it, in its answer."""
Answers = dict[str, Any]


def records(path: Path) -> list[Any]:
    """Return the events of a file."""
    return [DebugEvent.FromString(bytes(each.numpy())) for each in tf.data.TFRecordDataset(str(path))]


def without_machine(event: Any) -> Any:
    """Return an event with the names of no machine, and of code only that of the training."""
    if event.HasField("source_file"):
        source = event.source_file
        is_own = source.file_path == str(TRAINING)
        source.file_path = OWN if is_own else re.sub(r"^.*?/site-packages", LIBRARY, source.file_path)
        if not is_own:
            del source.lines[:]
    for name in ("source_file", "execution", "graph_op_creation"):
        if event.HasField(name):
            part = getattr(event, name)
            owner = part if name == "source_file" else part.code_location
            owner.host_name = HOST
    return event


def rewrite(dump: Path) -> None:
    """Put every file of a dump in the place of one without the names of this machine."""
    for path in sorted(dump.iterdir()):
        prefix, time_s, *_, kind = path.name.split(".")
        events = [without_machine(event) for event in records(path)]
        path.unlink()
        target = path.with_name(f"{prefix}.{time_s}.{HOST}.{kind}")
        with tf.io.TFRecordWriter(str(target)) as writer:
            for event in events:
                writer.write(event.SerializeToString(deterministic=True))
        for word in (str(Path.home()), str(Path.cwd()), str(TRAINING.parent)):
            if word.encode() in target.read_bytes():
                raise ValueError(f"{target} names {word}")


class Board:
    """TensorBoard's debugger over a dump."""

    def __init__(self, dump: Path) -> None:
        plugin = DebuggerV2Plugin(TBContext(logdir=str(dump)))
        self._clients = {route: Client(app) for route, app in plugin.get_plugin_apps().items()}
        self._wait_for_all(dump)

    def _wait_for_all(self, dump: Path) -> None:
        """Return when its thread, which the first question starts, has read all."""
        whole = {
            f"{kind}/digests": len(records(next(dump.glob(f"*.{file}"))))
            for kind, file in (("execution", "execution"), ("graph_execution", "graph_execution_traces"))
        }
        until = time.monotonic() + PATIENCE_S
        self.json("runs")
        while any(self.json(route, run=RUN)["num_digests"] < count for route, count in whole.items()):
            if time.monotonic() > until:
                raise TimeoutError(f"TensorBoard has not read all of {dump}")
            time.sleep(0.1)

    def get(self, route: str, **query: Any) -> Any:
        return self._clients[f"/{route}"].get("/", query_string=query or None)

    def json(self, route: str, **query: Any) -> Any:
        answer = self.get(route, **query)
        if answer.status_code != 200:
            raise ValueError(f"{route} {query}: {answer.get_data(as_text=True)}")
        return json.loads(answer.get_data())


def all_graphs(board: Board, ids: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield what is said of graphs and of those around them."""
    known = set()
    waiting = list(ids)
    while waiting:
        graph = waiting.pop()
        if graph not in known:
            known.add(graph)
            said = board.json("graphs/graph_info", run=RUN, graph_id=graph)
            yield graph, said
            waiting.extend(filter(None, [said["outer_graph_id"]]))


def answers_of(dump: Path) -> Answers:
    """Return the answers of every route."""
    board = Board(dump)
    found: Answers = {"alerts": board.json("alerts", run=RUN, begin=0, end=-1)}
    for kind in found["alerts"]["alerts_breakdown"]:
        found[f"alerts/{kind}"] = board.json("alerts", run=RUN, alert_type=kind, begin=0, end=-1)
    for route in ("execution/digests", "execution/data", "graph_execution/digests", "graph_execution/data"):
        found[route] = board.json(route, run=RUN, begin=0, end=-1)
    ran = found["graph_execution/data"]["graph_executions"]
    found["graphs/graph_info"] = dict(sorted(all_graphs(board, [each["graph_id"] for each in ran])))
    operations = list(dict.fromkeys((each["graph_id"], each["op_name"]) for each in ran))[:MOST_OPERATIONS]
    found["graphs/op_info"] = {
        f"{graph}|{name}": board.json("graphs/op_info", run=RUN, graph_id=graph, op_name=name)
        for graph, name in operations
    }
    found["source_files/list"] = board.json("source_files/list", run=RUN)
    found["source_files/file"] = [board.json("source_files/file", run=RUN, index=index) for index in range(2)]
    stacks = [each["stack_frame_ids"] for each in found["execution/data"]["executions"]]
    found["stack_frames"] = {
        ids: board.json("stack_frames/stack_frames", run=RUN, stack_frame_ids=ids)
        for ids in (",".join(stacks[0]), stacks[-1][-1])
    }
    wrong: dict[str, tuple[str, dict[str, Any]]] = {
        "digests_out_of_range": ("execution/digests", {"run": RUN, "begin": 0, "end": 1000000}),
        "alert_unknown": ("alerts", {"run": RUN, "alert_type": "nope"}),
        "no_run": ("alerts", {}),
    }
    refused = {name: board.get(route, **query) for name, (route, query) in wrong.items()}
    found["errors"] = {
        name: {"http_error": answer.status_code, "body": answer.get_data(as_text=True)}
        for name, answer in refused.items()
    }
    return {"runs": board.json("runs"), RUN: found}


def main(folder: Path) -> None:
    """Write the dumps and the answers below a folder."""
    for mode in MODES:
        dump = folder / "debugger" / mode
        subprocess.run([sys.executable, str(TRAINING), str(dump), mode], check=True)
        rewrite(dump)
        if mode != UNANSWERED:
            text = json.dumps(answers_of(dump), separators=(",", ":"), sort_keys=True)
            dump.with_name(f"{mode}.tensorboard.json").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
