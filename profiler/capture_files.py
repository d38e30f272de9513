"""The answer of a captured process: an archive that the process packs, and the client unpacks without trusting it."""

import gzip
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from google.protobuf.message import DecodeError

from stepscope.profiler.session import Recording
from stepscope.profiler.trace_files import TRACE_SUFFIX, write_trace
from stepscope.summary.bounded_messages import parse
from stepscope.summary.counts import counted
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, header, masked_crc
from stepscope.summary.writer import SummaryWriter

SUMMARY_NAME: Final = "recording.json"
EVENTS_MARK: Final = ".tfevents."
MOST_ANSWER_BYTES: Final = 1 << 30
MOST_ENTRIES: Final = 16
MOST_TRACE_BYTES: Final = 8 << 30
"""Maximum unpacked size; also the limit for reading a trace."""
_MOST_SUMMARY_BYTES: Final = 1 << 20
_MOST_NOTES: Final = 100
_MOST_NOTE_CHARACTERS: Final = 1000
_BLOCK: Final = 1 << 20
_STEP_TAG: Final = re.compile(r"step_-?[0-9]{1,19}")
_LENGTH: Final = struct.Struct("<Q")
_CRC: Final = struct.Struct("<I")


class AnswerError(Exception):
    """The answer of a captured process cannot be used; the message tells the user why."""


@dataclass(frozen=True)
class CapturedSteps:
    """How many steps were recorded, and their lowest and highest number; None if there are none."""

    count: int
    first: int | None
    last: int | None


@dataclass(frozen=True)
class CapturedFiles:
    """The files written into the log directory, and what the process reported about the recording."""

    trace_path: Path
    host: str
    pid: int
    steps: CapturedSteps
    records: int
    unfinished: int
    """Number of scopes and steps that were still open at the end."""
    step_stats: int
    """Number of steps whose StepStats were written to the event file."""
    notes: tuple[str, ...]
    """What was not recorded or not copied, and why."""


# --- packing -------------------------------------------------------------------------------------------------------


def pack(recording: Recording, folder: Path, process: dict[str, str | int], archive: IO[bytes]) -> None:
    """Write a recording's files and metadata as an uncompressed ZIP archive.

    Args:
        recording: the recording.
        folder: the recording's log directory, which contains nothing else.
        process: "host" and "pid" of the recorded process.
        archive: the file to write the archive to.
    """
    steps = recording.steps
    about = {
        **process,
        "steps": asdict(CapturedSteps(len(steps), min(steps, default=None), max(steps, default=None))),
        "records": recording.records,
        "unfinished": recording.unfinished,
        "notes": _bounded(recording.notes),
    }
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr(SUMMARY_NAME, json.dumps(about))
        packed.write(recording.trace_path, Path(recording.trace_path).name)
        for path in sorted(folder.glob(f"*{EVENTS_MARK}*")):
            packed.write(path, path.name)


# --- unpacking -----------------------------------------------------------------------------------------------------


def unpack(archive: IO[bytes], logdir: Path, begin_ns: int, *, tag_suffix: str = "") -> CapturedFiles:
    """Write the trace and the StepStats of an archive into a log directory.

    No name in the archive becomes a file name: the trace is named after the host, without characters that do not belong
    in a file name, and the StepStats go into a separate event file.

    Args:
        archive: an archive written by `pack`, or anything else.
        logdir: the run's log directory.
        begin_ns: wall time in nanoseconds since the epoch, from which the trace's folder gets its name.
        tag_suffix: appended to the tags of the StepStats, to tell processes apart.

    Raises:
        AnswerError: the input is not such an archive, or exceeds the size limits; nothing was written.
        OSError: the files cannot be written.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            return _unpack(packed, logdir, begin_ns, tag_suffix)
    except (zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise AnswerError(f"it is damaged: {error}") from error


def _unpack(packed: zipfile.ZipFile, logdir: Path, begin_ns: int, tag_suffix: str) -> CapturedFiles:
    entries = checked_entries(packed)
    if (damaged := packed.testzip()) is not None:
        raise AnswerError(f"it is damaged: {printable(damaged)[:80]} is not what was sent")
    about = _about(packed, entries)
    traces = [entry for entry in entries if entry.filename.endswith(TRACE_SUFFIX)]
    if len(traces) != 1:
        raise AnswerError(f"it has {len(traces)} traces; expected one file that ends in {TRACE_SUFFIX}")
    host = safe_name(about.get("host"))
    with packed.open(traces[0]) as stored:
        trace_path = Path(write_trace(logdir, begin_ns, host, _unzipped(stored)))
    notes = list(_notes(about))
    step_stats = 0
    for entry in entries:
        if EVENTS_MARK in entry.filename:
            with packed.open(entry) as stored:
                step_stats += _copy_step_stats(stored, entry.file_size, logdir, tag_suffix, notes)
    return CapturedFiles(
        trace_path=trace_path,
        host=host,
        pid=_whole(about.get("pid")),
        steps=_steps(about.get("steps")),
        records=_whole(about.get("records")),
        unfinished=_whole(about.get("unfinished")),
        step_stats=step_stats,
        notes=tuple(notes),
    )


def checked_entries(packed: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the entries of the archive.

    Raises:
        AnswerError: there are too many entries, one is compressed or encrypted, or they are too large.
    """
    entries = packed.infolist()
    if len(entries) > MOST_ENTRIES:
        raise AnswerError(f"it has {len(entries):,} files; expected no more than {MOST_ENTRIES}")
    if any(entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 for entry in entries):
        raise AnswerError("its files are compressed or encrypted; expected them stored unchanged")
    # Overlapping entries would add up to more than the archive itself.
    size = sum(entry.file_size for entry in entries)
    if size > MOST_ANSWER_BYTES:
        raise AnswerError(f"its files are {size:,} bytes; expected no more than {MOST_ANSWER_BYTES:,}")
    return entries


def safe_name(text: object) -> str:
    """Return an untrusted name as part of a file name: at most 64 letters, digits, dots, underscores and hyphens."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "_", text if isinstance(text, str) else "").lstrip("._-")[:64]
    return kept or "host"


def printable(text: str) -> str:
    """Return untrusted text without control characters, which terminals would obey."""
    return "".join(c if c.isprintable() else " " for c in text)


def _about(packed: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> dict[str, Any]:
    found = [entry for entry in entries if entry.filename == SUMMARY_NAME]
    if len(found) != 1:
        raise AnswerError(f"it has no {SUMMARY_NAME}")
    if (size := found[0].file_size) > _MOST_SUMMARY_BYTES:
        raise AnswerError(f"its {SUMMARY_NAME} is {size:,} bytes; expected no more than {_MOST_SUMMARY_BYTES:,}")
    try:
        about = json.loads(packed.read(found[0]))
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"its {SUMMARY_NAME} is damaged: {error}") from error
    if not isinstance(about, dict):
        raise AnswerError(f"its {SUMMARY_NAME} is not a JSON object")
    return about


def _notes(about: dict[str, Any]) -> Iterator[str]:
    notes = about.get("notes")
    yield from map(printable, _bounded(notes if isinstance(notes, list) else []))


def _bounded(notes: Sequence[object]) -> list[str]:
    return [str(note)[:_MOST_NOTE_CHARACTERS] for note in notes[:_MOST_NOTES]]


def _steps(value: object) -> CapturedSteps:
    about = value if isinstance(value, dict) else {}
    count = _whole(about.get("count"))
    return CapturedSteps(count, *(_whole(about.get(name)) if count else None for name in ("first", "last")))


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _unzipped(stored: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces: a damaged file must not get into the log directory."""
    size = 0
    with gzip.GzipFile(fileobj=stored) as stream:
        while piece := stream.read(_BLOCK):
            size += len(piece)
            if size > MOST_TRACE_BYTES:
                raise AnswerError(f"its trace is more than {MOST_TRACE_BYTES:,} bytes when unpacked")
            yield piece


def _copy_step_stats(stored: IO[bytes], size: int, logdir: Path, tag_suffix: str, notes: list[str]) -> int:
    """Copy the RunMetadata of steps from an event file into a separate event file; return how many there were."""
    copied = refused = 0
    writer: SummaryWriter | None = None
    try:
        for event in _events(stored, size, notes):
            if not event.HasField("tagged_run_metadata"):
                continue
            tagged = event.tagged_run_metadata
            if not _STEP_TAG.fullmatch(tagged.tag):
                refused += 1
                continue
            writer = writer or SummaryWriter(str(logdir))
            try:
                writer.add_run_metadata(tagged.run_metadata, tagged.tag + tag_suffix, event.step, event.wall_time)
                copied += 1
            except (DecodeError, ValueError):
                refused += 1
    finally:
        if writer is not None:
            writer.close()
    if refused:
        events = counted(refused, "event of the response that was", "events of the response that were")
        notes.append(f"left out {events} not StepStats")
    return copied


def _events(stored: IO[bytes], size: int, notes: list[str]) -> Iterator[Event]:
    """Yield the events of an event file, up to the first that is damaged."""
    while begin := stored.read(HEADER_BYTES):
        length = _LENGTH.unpack(begin[:8])[0] if len(begin) == HEADER_BYTES else size
        # A length beyond the end of the file is damage, and must not be read into memory.
        if length >= size or begin != header(length):
            break
        data, crc = stored.read(length), stored.read(FOOTER_BYTES)
        if crc != _CRC.pack(masked_crc(data)):
            break
        try:
            yield parse(Event, data)
        except DecodeError:
            break
    else:
        return
    notes.append("the event file of the response is damaged; the StepStats that follow the damage are missing")
