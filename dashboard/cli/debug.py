"""``stepscope debug``: report which tensor of a training run went bad first, where it was made, and what rules find."""

import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import orjson

from stepscope.dashboard.cli.reading import add_directories, directories, printable, read_logdir, standard_output
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError

if TYPE_CHECKING:
    from stepscope.dashboard.debugger.findings import Findings
    from stepscope.dashboard.debugger.opened import OpenedDebug
    from stepscope.dashboard.debugger.sources import DebugSource
    from stepscope.summary.debugger.model import Alert

CONDITION_HELD: Final = 1
"""Exit code when a condition of ``--fail-if`` holds; errors end with 2."""
ANY: Final = "any"
BAD: Final = "bad"


class DebugVerb:
    """Reports what went bad first in each tensor recording of a log directory."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the log directories, which of their recordings to read, and the conditions to fail on."""
        add_directories(parser)
        parser.add_argument("--run", action="append", metavar="NAME", help="only this run; may be given several times")
        parser.add_argument(
            "--top",
            type=int,
            default=10,
            metavar="N",
            help="maximum number of alerts to print per recording (default: %(default)s)",
        )
        parser.add_argument(
            "--fail-if",
            action="append",
            metavar="RULE",
            help=f"exit with code {CONDITION_HELD} if this rule raised an alert, such as exploding; {BAD!r} "
            f"stands for any non-finite value, {ANY!r} for any alert; may be given several times",
        )
        parser.add_argument("--json", action="store_true", help="print the full report as JSON, with all alerts")

    def run(self, arguments: Namespace) -> int:
        """Print what was found, and report on standard error which conditions hold.

        Raises:
            UserError: there is no such log directory, run or rule, nothing was recorded, or a recording cannot be read.
        """
        from stepscope.dashboard.debugger.findings import findings, scalars_of
        from stepscope.dashboard.debugger.sources import DebugCache, DebugUnavailableError

        conditions = _checked(arguments.fail_if or [])
        given = directories(arguments)
        snapshot = read_logdir(given)
        cache = DebugCache()
        content: list[dict[str, Any]] = []
        texts: list[str] = []
        held: list[str] = []
        unreadable = 0
        for source in _chosen(snapshot, arguments.run or [], given):
            try:
                opened = cache.get(source)
                found = findings(opened, scalars_of(snapshot, source.run))
            except DebugUnavailableError as error:
                unreadable += 1
                print(printable(str(error)), file=sys.stderr)
                content.append({"id": source.id, "run": source.run, "problem": str(error)})
                continue
            content.append(_facts(source, opened, found))
            texts.append(_text(source, opened, found, arguments.top))
            held += [
                f"{source.label}: {condition}: {why}" for condition in conditions if (why := _holds(condition, found))
            ]
        with standard_output() as stream:
            if arguments.json:
                stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            else:
                stream.write("\n".join(texts).encode())
        for line in held:
            print(printable(line), file=sys.stderr)
        return CONDITION_HELD if held else 2 if unreadable else 0


def _checked(conditions: Sequence[str]) -> list[str]:
    from stepscope.debug.rules import ALL

    known = [BAD, ANY, *(rule.name for rule in ALL)]
    for condition in conditions:
        if condition not in known:
            raise UserError(f"--fail-if is {condition!r}; expected one of {', '.join(known)}")
    return list(conditions)


def _chosen(snapshot: Any, runs: Sequence[str], given: Sequence[str]) -> list["DebugSource"]:
    from stepscope.dashboard.debugger.sources import debug_sources

    sources = debug_sources(snapshot)
    if not sources:
        raise UserError(
            f"{', '.join(given)} has no recording of tensors; expected runs that stepscope.debug.watch wrote, or dumps "
            "of tf.debugging.experimental.enable_dump_debug_info."
        )
    for run in runs:
        if all(run not in (source.run, source.title) for source in sources):
            known = ", ".join(dict.fromkeys(source.title for source in sources))
            raise UserError(f"--run {run!r} has no recording; expected one of {known}")
    return [source for source in sources if not runs or source.run in runs or source.title in runs]


def _holds(condition: str, found: "Findings") -> str:
    """Return in words why a condition holds; empty if it does not."""
    if condition == BAD:
        return "" if found.verdict is None else found.verdict.sentence
    alerts = [alert for alert in found.alerts if condition in (ANY, alert.rule)]
    return f"{counted(len(alerts), 'alert')}, the first at step {alerts[0].step}: {alerts[0].message}" if alerts else ""


def _place(opened: "OpenedDebug", tensor: int | None) -> tuple[str, int] | None:
    """Return the program's own line that made a tensor."""
    from stepscope.summary.debugger.own_frames import own_frame

    stack = opened.data.tensors[tensor].stack if tensor is not None else None
    frame = own_frame(opened.data.stack(stack)) if stack is not None else None
    return None if frame is None else (frame.path, frame.line)


def _text(source: "DebugSource", opened: "OpenedDebug", found: "Findings", top: int) -> str:
    data = opened.data
    values = f"{counted(data.observation_count, 'value')} of {counted(len(data.tensors), 'tensor')}"
    lines = [f"{source.label}: {values}, {data.source}"]
    lines.append(f"  {found.sentence}")
    lines += [f"  Note: {problem}" for problem in data.problems]
    for alert in found.alerts[: max(top, 0)]:
        place = _place(opened, alert.tensor)
        where = "" if place is None else f"  ({place[0]}:{place[1]})"
        lines.append(f"  step {alert.step}  {alert.rule}: {alert.message}{where}")
    if len(found.alerts) > max(top, 0):
        lines.append(f"  and {counted(len(found.alerts) - max(top, 0), 'more alert')}")
    return "".join(printable(line) + "\n" for line in lines)


def _facts(source: "DebugSource", opened: "OpenedDebug", found: "Findings") -> dict[str, Any]:
    data, verdict = opened.data, found.verdict
    return {
        "id": source.id,
        "run": source.run,
        "source": data.source,
        "tensors": len(data.tensors),
        "observations": data.observation_count,
        "problems": list(data.problems),
        "sentence": found.sentence,
        "first_bad": None
        if verdict is None
        else {
            "step": verdict.step,
            "observation": verdict.observation,
            "part": verdict.part,
            **_tensor(opened, verdict.tensor),
        },
        "alerts": [_alert(opened, alert) for alert in found.alerts],
    }


def _alert(opened: "OpenedDebug", alert: "Alert") -> dict[str, Any]:
    return {
        "rule": alert.rule,
        "step": alert.step,
        "wall_time": alert.wall_time if math.isfinite(alert.wall_time) else None,
        "message": alert.message,
        "observation": alert.observation,
        **_tensor(opened, alert.tensor),
    }


def _tensor(opened: "OpenedDebug", number: int | None) -> dict[str, Any]:
    tensor = None if number is None else opened.data.tensors[number]
    path, line = _place(opened, number) or (None, None)
    return {
        "tensor": tensor and tensor.name,
        "phase": tensor and tensor.phase,
        "module": tensor and tensor.module,
        "operation": tensor and tensor.op_type,
        "file": path,
        "line": line,
    }
