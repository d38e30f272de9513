"""``stepscope capture``: record running programs from outside."""

import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, assert_never

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from stepscope.dashboard.cli.reading import print_lines
from stepscope.dashboard.server.numbers import count
from stepscope.profiler.capture_files import CapturedSteps
from stepscope.profiler.capture_request import (
    DEFAULT_PORT,
    MOST_SECONDS,
    MOST_STEPS,
    CaptureOptions,
    CaptureRequest,
    checked_request,
)
from stepscope.profiler.client import (
    Address,
    Capture,
    CaptureError,
    CaptureEvent,
    Phase,
    capture_all,
    check_writable,
    parse_address,
)
from stepscope.profiler.collectors.registry import all_collectors
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError
from stepscope.summary.storage import is_address

TOKEN_VARIABLE: Final = "STEPSCOPE_TOKEN"
DEFAULT_DURATION_MS: Final = 2000
STEPS_WITHIN_MS: Final = 60_000
"""Maximum time to wait for steps if no duration is given."""
_UNITS: Final[Mapping[str, int]] = {"ms": 1, "s": 1000, "m": 60_000}


class CaptureVerb:
    """Captures running programs."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the addresses, the log directory, how long to record, and what."""
        parser.add_argument(
            "addresses",
            nargs="+",
            metavar="HOST:PORT",
            help=f"addresses of programs that called stepscope.profiler.server.start({DEFAULT_PORT}); all are recorded "
            "at once",
        )
        parser.add_argument("--logdir", required=True, metavar="DIR", help="the directory of the run to write into")
        parser.add_argument(
            "--duration",
            type=duration_ms,
            metavar="TIME",
            help="how long, such as 2s, 500ms or 1m (default: 2s); with --steps, the longest to wait for them "
            "(default: 1m)",
        )
        parser.add_argument(
            "--steps",
            type=_whole(1, MOST_STEPS),
            metavar="N",
            help="record N complete training steps instead of a duration",
        )
        parser.add_argument(
            "--collector",
            action="append",
            metavar="NAME",
            help="use this collector instead of those that the levels choose; may be given several times: "
            + ", ".join(all_collectors()),
        )
        parser.add_argument(
            "--host-tracer-level",
            type=_whole(0, 3),
            default=2,
            metavar="LEVEL",
            help="0: steps only, 1: also scopes, 2: also memory and CPU (default: %(default)s)",
        )
        parser.add_argument(
            "--python-tracer-level",
            type=_whole(0, 1),
            default=0,
            metavar="LEVEL",
            help="1: every call of a Python function (default: %(default)s)",
        )
        parser.add_argument(
            "--device-tracer-level",
            type=_whole(0, 1),
            default=1,
            metavar="LEVEL",
            help="1: kernels and copies, where there is a device (default: %(default)s)",
        )
        parser.add_argument(
            "--delay",
            type=duration_ms,
            default=0,
            metavar="TIME",
            help="discard the first TIME of the recording, such as 500ms",
        )
        parser.add_argument(
            "--token",
            help="the token of the programs; prefer the environment variable "
            f"{TOKEN_VARIABLE}, which other users cannot see",
        )
        parser.add_argument(
            "--attempts",
            type=_whole(1, 1000),
            default=3,
            metavar="N",
            help="how many times to try while nothing listens or another recording runs, one per second "
            "(default: %(default)s)",
        )

    def run(self, arguments: Namespace) -> int:
        """Record, and report on standard output what was written where.

        Raises:
            UserError: an argument is invalid, nothing can be written, or a program was not recorded; data from the
                other programs is written nevertheless.
        """
        addresses = [parse_address(text) for text in arguments.addresses]
        if len(set(addresses)) != len(addresses):
            raise UserError(
                "an address is given twice, but a program has one recording at a time. Expected each address once."
            )
        if is_address(arguments.logdir):
            raise UserError(
                f"--logdir {arguments.logdir} is not a local directory. Record into a local one, then copy it there."
            )
        logdir = Path(os.path.expanduser(arguments.logdir))
        request = request_of(arguments)
        check_writable(logdir)
        token = arguments.token or os.environ.get(TOKEN_VARIABLE) or None
        events = capture_all(addresses, request, logdir, token=token, attempts=arguments.attempts)
        captures, errors = _followed(addresses, request, events)
        if captures:
            report = [line for capture in captures for line in _report(capture)]
            print_lines(*report, f"Open it with: stepscope --logdir {arguments.logdir}")
        if errors:
            raise UserError("\n".join(_advised(error) for error in errors))
        return 0


def request_of(arguments: Namespace) -> CaptureRequest:
    """Return the request described by the arguments. Raises UserError."""
    usual = DEFAULT_DURATION_MS if arguments.steps is None else STEPS_WITHIN_MS
    return checked_request(
        CaptureRequest(
            duration_ms=usual if arguments.duration is None else arguments.duration,
            steps=arguments.steps,
            options=CaptureOptions(
                host_tracer_level=arguments.host_tracer_level,
                python_tracer_level=arguments.python_tracer_level,
                device_tracer_level=arguments.device_tracer_level,
                delay_ms=arguments.delay,
            ),
            collectors=arguments.collector,
        )
    )


def duration_ms(text: str) -> int:
    """Return a duration such as ``2s``, ``500ms`` or ``1.5m`` in milliseconds.

    Raises:
        ArgumentTypeError: the text is not a duration, or the duration is longer than a recording may be.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|m)", text.strip())
    milliseconds = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    if not 0 < milliseconds <= MOST_SECONDS * 1000:
        raise ArgumentTypeError(
            f"{text!r} is not a duration; expected one such as 2s, 500ms or 1m, {MOST_SECONDS} s at most"
        )
    return milliseconds


def _whole(least: int, most: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= most:
            raise ArgumentTypeError(f"{text!r} must be a whole number from {least} to {most}")
        return int(text)

    return whole


def _followed(
    addresses: Sequence[Address], request: CaptureRequest, events: Iterable[CaptureEvent]
) -> tuple[list[Capture], list[CaptureError]]:
    """Return the outcome for each address, in their order, and show progress on standard error meanwhile."""
    ended: dict[Address, Capture | CaptureError] = {}
    console = Console(stderr=True)
    shown = ("{task.fields[address]}", "{task.description}")
    columns = (SpinnerColumn(), *(TextColumn(text, markup=False) for text in shown), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks = {address: progress.add_task("", total=None, address=str(address)) for address in addresses}
        for event in events:
            what = event.what
            if isinstance(what, Capture | CaptureError):
                ended[event.address] = what
                progress.update(tasks[event.address], description=_outcome(what), total=1, completed=1)
            else:
                progress.update(tasks[event.address], description=_phase(what, request))
    found = [ended[address] for address in addresses]
    return [x for x in found if isinstance(x, Capture)], [x for x in found if isinstance(x, CaptureError)]


def _outcome(what: Capture | CaptureError) -> str:
    return "done" if isinstance(what, Capture) else "failed"


def _phase(phase: Phase, request: CaptureRequest) -> str:
    match phase:
        case "connecting":
            return "connecting"
        case "recording":
            return "recording " + (counted(request.steps, "step") if request.steps else f"{request.seconds:g} s")
        case "receiving":
            return "receiving"
        case "writing":
            return "writing"
        case _:
            assert_never(phase)


def _report(capture: Capture) -> list[str]:
    files = capture.files
    unfinished = f", {count(files.unfinished)} unfinished" if files.unfinished else ""
    return [
        f"{capture.address} (process {files.pid} on {files.host}): {steps_text(files.steps)}, "
        f"{counted(files.records, 'record')}{unfinished}",
        f"  {files.trace_path}",
        *(f"  Note: {note.rstrip('.')}." for note in files.notes),
    ]


def steps_text(steps: CapturedSteps) -> str:
    """Return the steps of a recording in words: "step 7", "20 steps, 12 to 31"."""
    if not steps.count:
        return "no steps"
    if steps.count == 1:
        return f"step {steps.first}"
    return f"{counted(steps.count, 'step')}, {steps.first} to {steps.last}"


def _advised(error: CaptureError) -> str:
    if error.problem == "token":
        return f"{error} Set it in the environment variable {TOKEN_VARIABLE}, or pass it with --token."
    return str(error)
