"""Makes traces that are meant to hurt, opens each, asks what the Timeline's routes ask, and says what that costs.

    python -m tools.attack_traces --scale 0.01
    python -m tools.attack_traces bomb0 overlap --seconds 200 --gigabytes 20

Every attack runs in a process of its own, bounded in time and memory, on a file in a temporary folder. ``--scale``
makes all of them smaller. Of each step it prints seconds, the most memory that the process ever had, and the bytes of
the answer.
"""

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from stepscope.dashboard.panels.timeline import area, details, overlays, payloads, relations
from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace, Progress
from stepscope.dashboard.traces.sources import OpenedTrace, TraceSource, TraceUnavailableError, open_trace
from stepscope.profiler.analysis.critical_path import path_of
from stepscope.summary.contents import Companion

T = TypeVar("T")

_PIECE: Final = 1 << 20
_EVENT: Final = '{"ph":"X","name":"a","pid":1,"tid":%d,"ts":%d,"dur":%d},\n'


def _repeated(pattern: bytes, size: int) -> Iterator[bytes]:
    piece = pattern * (_PIECE // len(pattern))
    for _ in range(-(-size // len(piece))):
        yield piece


def _surrounded(before: bytes, middle: Iterator[bytes], after: bytes) -> Iterator[bytes]:
    yield before
    yield from middle
    yield after


def _events(count: int, event: Callable[[int], str]) -> Iterator[bytes]:
    for first in range(0, count, 10_000):
        yield "".join(event(number) for number in range(first, min(first + 10_000, count))).encode()


def _one_event(key: str, size: int) -> Iterator[bytes]:
    """Return a slice with a text of ``size`` bytes under ``key``."""
    rest = '"ph":"X","pid":1,"tid":1,"ts":0,"dur":5'
    return _surrounded(f'[{{{rest},{key}:"'.encode(), _repeated(b"a", size), b'"' + b"}" * key.count("{") + b"}]")


def _json(events: Iterator[bytes]) -> Iterator[bytes]:
    return _surrounded(b"[\n", events, b'{"ph":"X","name":"last","pid":1,"tid":1,"ts":0,"dur":1}]\n')


ATTACKS: Final[dict[str, Callable[[float], Iterator[bytes]]]] = {
    "bomb0": lambda scale: _repeated(b"\0", int(scale * (2 << 30))),
    "bombspace": lambda scale: _repeated(b" ", int(scale * (2 << 30))),
    "bombtext": lambda scale: _repeated(b"dev_stats { }\n", int(scale * (2 << 30))),
    "bombnodes": lambda scale: _step_stats(int(scale * (1 << 28))),
    "bombstr": lambda scale: _one_event('"name"', int(scale * (1 << 30))),
    "bombargs": lambda scale: _one_event('"name":"a","args":{"text"', int(scale * (1 << 30))),
    "bombev": lambda scale: _json(_events(int(scale * 10_000_000), lambda _: _EVENT % (1, 0, 5))),
    "overlap": lambda scale: _json(_events(int(scale * 100_000), lambda n: _EVENT % (1, n, 200_000))),
    "manylanes": lambda scale: _json(_events(int(scale * 200_000), lambda n: _EVENT % (n, n, 5))),
    "manynames": lambda scale: _json(
        _events(int(scale * 1_000_000), lambda n: f'{{"ph":"X","name":"{n}","pid":1,"tid":1,"ts":{n},"dur":1}},')
    ),
    "flows": lambda scale: _json(_overlapping_flows(int(scale * 50_000))),
}
"""For each name, the pieces of the unpacked file at a scale."""


def _step_stats(nodes: int) -> Iterator[bytes]:
    """Return StepStats of a device with this many empty nodes, two bytes each."""
    body = -(-2 * nodes // _PIECE) * _PIECE
    return _surrounded(b"\x0a" + _varint(body + 6) + b"\x0a\x04/cpu", _repeated(b"\x12\x00", body), b"")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _overlapping_flows(count: int) -> Iterator[bytes]:
    """Yield slices that all overlap, and as many arrows that begin and end among them."""
    yield from _events(count, lambda n: _EVENT % (1, n, 200_000))
    arrow = '{"ph":"%s","name":"f","cat":"f","id":%d,"pid":1,"tid":1,"ts":%d.5},\n'
    yield from _events(count, lambda n: arrow % ("s", n, n) + arrow % ("f", n, n + 7))


def write(name: str, scale: float, path: Path) -> None:
    """Write the compressed file of an attack."""
    packer = zlib.compressobj(9 if name.startswith("bomb") else 1, wbits=31)
    with path.open("wb") as file:
        for piece in ATTACKS[name](scale):
            file.write(packer.compress(piece))
        file.write(packer.flush())


def measure(path: Path) -> None:
    """Open a trace and make the requests of the panel and of a click on a slice; print a line for each."""
    _opened_once(path.with_name("first.trace.json.gz"))
    companion = Companion("r", PurePosixPath("r") / path.name, str(path), path.stat().st_size, 0)
    source = TraceSource("r|file|a", "r", path.name, "file", None, companion.size, 0.0, (0,), companion)
    try:
        opened = _said("open", partial(open_trace, source))
    except TraceUnavailableError as error:
        print(f"    refused: {str(error)[:300]}")
        return
    losses = {reason: count for reason, count in opened.trace.losses.counts.items() if count}
    print(f"    {len(opened.trace):,} slices, {len(opened.trace.lanes):,} lanes; losses {str(losses)[:400]}")
    print(f"    notes {str(opened.trace.losses.notes)[:400]}")
    ask(opened)


def _opened_once(path: Path) -> None:
    """Load and compile what reading needs, so that only the attack is measured."""
    path.write_bytes(gzip.compress(json.dumps([{"ph": "X", "name": "a", "ts": 0, "dur": 1, "pid": 1}]).encode()))
    companion = Companion("r", PurePosixPath("r") / path.name, str(path), path.stat().st_size, 0)
    opened = open_trace(TraceSource("r|file|b", "r", path.name, "file", None, 1, 0.0, (0,), companion))
    for question in _questions(opened).values():
        question()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"    (programs and compiled code: {peak:,.0f} MB)")


def ask(opened: OpenedTrace) -> None:
    """Make a request to each of a trace's routes."""
    for name, question in _questions(opened).items():
        _said(name, question)


def _questions(opened: OpenedTrace) -> dict[str, Callable[[], bytes]]:
    end = max(opened.end_ns - opened.start_ns, 1)
    analyzed = AnalyzedTrace(opened, Progress())
    middle = len(opened.trace) // 2

    def critical_path() -> bytes:
        path = path_of(analyzed.facts, step=None)
        return json_bytes(overlays.critical_path_window(path, opened.trace, opened.start_ns, 0, end, 2000))

    of_slice: dict[str, Callable[[], bytes]] = {
        "slice": lambda: json_bytes(details.slice_details(opened, middle)),
        "relations": lambda: json_bytes(relations.relations(analyzed, opened, middle)),
        "critical_path": critical_path,
    }
    return {
        "trace": lambda: json_bytes(payloads.summary(opened)),
        "window": lambda: payloads.window(opened, 0, end, 2000, None),
        "search": lambda: json_bytes(payloads.search_result(opened, "a", "text", 0, 2000, 0)),
        "area": lambda: json_bytes(area.area_answer(opened, 0, end)),
        **(of_slice if len(opened.trace) else {}),
    }


def _said(what: str, work: Callable[[], T]) -> T:
    begin = time.perf_counter()
    size = ""
    try:
        result = work()
        size = f", {len(result):,} bytes" if isinstance(result, bytes) else ""
        return result
    finally:
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"    {what:13} {seconds:7.2f} s, {peak:7,.0f} MB at most{size}", flush=True)


def main() -> None:
    """Run the attacks that are named, or all of them."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which, all if none: {', '.join(ATTACKS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="of the size of each (1)")
    parser.add_argument("--seconds", type=float, default=200.0, help="for each at most (200)")
    parser.add_argument("--gigabytes", type=float, default=20.0, help="of address space for each at most (20)")
    parser.add_argument("--file", type=Path, help="measure this trace in this process, and make none")
    options = parser.parse_args()
    if options.file:
        measure(options.file)
        return
    for name in options.names or ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.trace.json.gz"
            write(name, options.scale, path)
            print(f"{name}: {path.stat().st_size:,} bytes", flush=True)
            _run(path, options.seconds, int(options.gigabytes * 1e9))


def _run(path: Path, seconds: float, most_bytes: int) -> None:
    command = [sys.executable, "-m", "tools.attack_traces", "--file", str(path)]
    bounded = partial(resource.setrlimit, resource.RLIMIT_AS, (most_bytes, most_bytes))
    try:
        code = subprocess.run(command, timeout=seconds, preexec_fn=bounded).returncode
    except subprocess.TimeoutExpired:
        print(f"    NOT DONE within {seconds:g} s", flush=True)
    else:
        if code:
            print(f"    FAILED with exit code {code}", flush=True)


if __name__ == "__main__":
    main()
