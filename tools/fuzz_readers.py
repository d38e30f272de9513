"""Feed damaged, nonsensical and changing event files to the readers, and compare the results with plain readers.

    python -m tools.fuzz_readers --seconds 60 --seed 1

Each case is made from its own number; ``--scenario NAME --case NUMBER`` repeats one. If a case shows something wrong,
raises, or does not end, its files are left in a folder, which is printed.
"""

import faulthandler
import io
import sys
import tempfile
import time
import traceback
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, Final
from unittest.mock import patch

from google.protobuf.message import DecodeError

from stepscope.summary import event_file, kinds
from stepscope.summary.column_cache import ColumnCache
from stepscope.summary.event_file import EventFile
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.logdir import Logdir
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.records import frame
from stepscope.summary.series import SCALARS
from stepscope.summary.snapshot import Snapshot
from tools.event_file_cases import (
    FIELDS,
    MemorySource,
    Unreliable,
    Wire,
    damaged,
    random_file,
    random_tensor,
    random_value,
    with_kind,
)
from tools.plain_reader import FindingError, check_as_plainly_read, damages_of, plainly_read, plainly_shown

_SECONDS_PER_CASE: Final = 60
_PATH: Final = PurePosixPath("events.out.tfevents.1")


def read_in_pieces(content: bytes, random: Random) -> EventFile:
    """Read a file that arrives in pieces over an unreliable connection, in windows of any size."""
    arrived = 0
    failing = True
    file = EventFile(_PATH, lambda _: Unreliable(content[:arrived], random, 0.1 if failing else 0.0))
    with patch.object(event_file, "_WINDOW_BYTES", random.choice([16, 64, 300, 4096, 1 << 20])):
        for piece in sorted(random.randint(0, len(content)) for _ in range(random.randint(0, 4))):
            arrived = piece
            with suppress(OSError):
                file.read_new(random.randint(0, 2 * piece))
        arrived, failing = len(content), False
        file.read_new(arrived)
    return file


def fuzz_damaged_file(random: Random) -> None:
    """Check that a file with a few mishaps, read in pieces, shows what a plain reader finds in it."""
    content = random_file(random)
    for _ in range(random.choice([0, 1, 1, 2, 4])):
        content = damaged(content, random)
    check_as_plainly_read(read_in_pieces(content, random), content)


def fuzz_random_bytes(random: Random) -> None:
    """Check that bytes that are not an event file show nothing, and are one damage from beginning to end."""
    content = random.randbytes(random.choice([0, 5, 11, 12, 13, 100, 5000]))
    check_as_plainly_read(read_in_pieces(content, random), content)


def fuzz_wire_format(random: Random) -> None:
    """Check that a record of any protobuf fields shows what protobuf finds in it, or is damage as a whole."""
    wire = Wire(random)
    data = wire.message(FIELDS["event"])
    content = frame(data)
    file = EventFile(_PATH, lambda _: io.BytesIO(content))
    file.read_new(len(content))
    with suppress(DecodeError):
        Event.FromString(data)
        if not (damages_of(file) == [(0, len(content))] and (wire.groups or wire.payloads > 1)):
            check_as_plainly_read(file, content)


def fuzz_payloads(random: Random) -> None:
    """Check that whatever a value holds is read as its kind's payload, or raises `PayloadError`."""
    value = random.choice([random_value(random), Summary.Value(tensor=random_tensor(random))])
    encoded = value.SerializeToString()
    for _ in range(random.choice([0, 1, 1, 3])):
        encoded = damaged(encoded, random)
    with suppress(DecodeError):
        value = Summary.Value.FromString(encoded)
    source = MemorySource()
    kind = random.choice(list(kinds.KINDS))
    named = with_kind(kind, value.tag, TensorProto())
    content = b"".join(
        frame(Event(step=step, summary=Summary(value=[held])).SerializeToString())
        for step, held in enumerate((named, value))
    )
    source.put("events.out.tfevents.1", content)
    for series in Logdir(source).update().runs["."].series.values():
        for index in range(len(series)):
            try:
                series.read(index)
            except PayloadError:
                continue
            except Exception as error:
                raise FindingError(f"reading point {index} of {series.kind}: {error!r}", content) from error


def fuzz_runs(random: Random) -> None:
    """Check that a run whose files grow, are cut, replaced and deleted matches a first look after each change."""
    source = MemorySource()
    followed, keeping = Logdir(source), Logdir(source, keep_superseded=True)
    for _ in range(random.randint(1, 6)):
        for _ in range(random.randint(1, 2)):
            _change(source, random)
        for logdir in (followed, keeping):
            snapshot = logdir.update()
            fresh = Logdir(source, keep_superseded=logdir is keeping).update()
            check_same(seen(snapshot), seen(fresh), source)
        check_same(_shown(followed.snapshot), _plainly_shown(source), source)


def fuzz_cache(random: Random) -> None:
    """Check that cached data of files that have changed since then shows what a first look shows."""
    source = MemorySource()
    with tempfile.TemporaryDirectory() as folder, patch("stepscope.summary.kept_files.LEAST_CACHED", 1):
        for _ in range(random.randint(2, 4)):
            # One or the other: data already read from a file that has grown is not compared in full.
            if random.random() < 0.3:
                path = random.choice(_RUN_FILES)
                source.put(path, damaged(source.content(path), random))
            else:
                _change(source, random)
            logdir = Logdir(source, cache=ColumnCache(Path(folder)))
            snapshot = logdir.update()
            logdir.wait_until_stored()
            check_same(seen(snapshot), seen(Logdir(source).update()), source)


_RUN_FILES: Final = ("run/events.out.tfevents.1", "run/events.out.tfevents.2", "other/events.out.tfevents.1")


def _change(source: MemorySource, random: Random) -> None:
    path = random.choice(_RUN_FILES)
    content = source.content(path)
    match random.randint(0, 9):
        case 0:
            source.put(path, content[: random.randint(0, len(content))])
        case 1:
            source.put(path, random_file(random), other_file=random.random() < 0.5)
        case 2:
            source.delete(path)
        case 3:
            source.put(path, content[: random.randint(0, len(content))] + random_file(random))
        case _:
            source.put(path, content + random_file(random, 5))


def seen(snapshot: Snapshot) -> dict[str, Any]:
    """Return all that readers can see of a log directory, except payloads."""
    series = [series for run in snapshot.runs.values() for series in run.series.values()]
    return {
        "health": sorted(snapshot.health, key=lambda file: file.path),
        "names": sorted((s.run, s.tag, s.kind, s.display_name, s.superseded) for s in series if len(s)),
        "points": {
            (s.run, s.tag): (s.steps.tolist(), repr(s.wall_times.tolist()), repr(s.values.tolist()))
            for s in series
            if len(s)
        },
    }


def _shown(snapshot: Snapshot) -> dict[str, dict[str, list[tuple[int, str, str]]]]:
    shown: dict[str, dict[str, list[tuple[int, str, str]]]] = {}
    for series in (series for run in snapshot.runs.values() for series in run.series.values() if len(series)):
        numbers = [repr(value) for value in series.values.tolist()] if series.kind == SCALARS else [""] * len(series)
        rows = zip(series.steps.tolist(), map(repr, series.wall_times.tolist()), numbers, strict=True)
        shown.setdefault(series.run, {})[series.tag] = list(rows)
    return shown


def _plainly_shown(source: MemorySource) -> dict[str, dict[str, list[tuple[int, str, str]]]]:
    paths: dict[str, list[str]] = {}
    for found in sorted(source.list(), key=lambda found: str(found.path)):
        paths.setdefault(str(found.path.parent), []).append(str(found.path))
    return {
        run: shown
        for run, of_run in paths.items()
        if (shown := plainly_shown([plainly_read(source.content(path)) for path in of_run]))
    }


def check_same(one: Mapping[str, Any], other: Mapping[str, Any], source: MemorySource) -> None:
    """Raise `FindingError` if two views of the files differ."""
    for key in sorted({*one, *other}):
        if one.get(key) != other.get(key):
            contents = {str(found.path): source.content(str(found.path)) for found in source.list()}
            raise FindingError(f"{key}: shown {one.get(key)!r}, expected {other.get(key)!r}", repr(contents).encode())


SCENARIOS: Final[Mapping[str, Callable[[Random], None]]] = {
    "damaged-file": fuzz_damaged_file,
    "random-bytes": fuzz_random_bytes,
    "wire-format": fuzz_wire_format,
    "payloads": fuzz_payloads,
    "runs": fuzz_runs,
    "cache": fuzz_cache,
}


def run_case(scenario: str, case: int, keep: Path) -> bool:
    """Run one case; return whether it passed, or else print what went wrong and leave the files in ``keep``."""
    (keep / "running.txt").write_text(f"--scenario {scenario} --case {case}\n")
    try:
        SCENARIOS[scenario](Random(case))
    except FindingError as finding:
        left = keep / f"{scenario}-{case}.bin"
        left.write_bytes(finding.content)
        print(f"{scenario} {case}: {finding}\n  file: {left}")
        return False
    except Exception:
        print(f"{scenario} {case}: {traceback.format_exc()}")
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cases until the time is over; return 1 if one of them found something."""
    parser = ArgumentParser(prog="python -m tools.fuzz_readers", description="Fuzzes the readers of event files.")
    parser.add_argument("--seconds", type=float, default=60.0, help="for how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the cases' numbers (%(default)s)")
    parser.add_argument("--scenario", choices=SCENARIOS, action="append", help="only this one; may be given again")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--keep", type=Path, help="where files of findings go (a new folder)")
    options = parser.parse_args(arguments)
    names = options.scenario or list(SCENARIOS)
    keep = options.keep or Path(tempfile.mkdtemp(prefix="stepscope-fuzz-"))
    keep.mkdir(parents=True, exist_ok=True)
    print(f"files of findings, and the case that runs, are in {keep}", flush=True)
    if options.case is not None:
        return 1 - min(run_case(name, options.case, keep) for name in names)
    random = Random(options.seed)
    tried: Counter[str] = Counter()
    found: Counter[str] = Counter()
    end = time.monotonic() + options.seconds
    while time.monotonic() < end and found.total() < 20:
        name, case = random.choice(names), random.getrandbits(48)
        faulthandler.dump_traceback_later(_SECONDS_PER_CASE, exit=True)
        tried[name] += 1
        found[name] += not run_case(name, case, keep)
        faulthandler.cancel_dump_traceback_later()
    for name in names:
        print(f"{name:<16} {tried[name]:>8} cases {found[name]:>4} findings")
    return int(found.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
