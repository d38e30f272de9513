"""Selection of the files in a folder that form one TensorFlow debugger dump: the file sets of all hosts of a run.

The metadata of these sets contains the run's id.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from google.protobuf.message import DecodeError

from stepscope.summary.bounded_messages import parse
from stepscope.summary.debugger.file_names import SUFFIXES, Suffix, set_of_file
from stepscope.summary.debugger.record_file import OpenAt, RecordFile, one_by_one
from stepscope.summary.names import readable_name
from stepscope.summary.proto.debug_event_pb2 import DebugEvent, DebugMetadata

FILE_VERSION: Final = "debug.Event:1"
_FILE_VERSIONS: Final = "debug.Event:"


@dataclass(frozen=True)
class FileSet:
    """The files of one host."""

    prefix: str
    sizes: Mapping[Suffix, int]
    """The sizes of the existing files, in bytes."""
    metadata: DebugMetadata | None = None
    """The metadata; None if it is missing, not yet complete, or damaged."""
    start: float = float("nan")
    """When the metadata was written, in seconds since the epoch."""

    def name(self, suffix: Suffix) -> str:
        """Return the name of a file of the set."""
        return f"{self.prefix}.{suffix}"


@dataclass(frozen=True)
class ChosenSets:
    """The sets of one run, starting with the one that began first."""

    sets: tuple[FileSet, ...]
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def key(self) -> tuple[str, ...]:
        """A key that stays equal as long as the same files are read."""
        return tuple(each.prefix for each in self.sets)


def file_sets(sizes: Mapping[str, int], open_at: OpenAt) -> list[FileSet]:
    """Return the sets of a folder's files, with their metadata.

    Args:
        sizes: the sizes of the folder's files, by name.
        open_at: opens a file.
    """
    found: dict[str, dict[Suffix, int]] = {}
    for name, size in sorted(sizes.items()):
        parts = set_of_file(name)
        if parts is not None:
            found.setdefault(parts[0], {})[parts[1]] = size
    return [_with_metadata(FileSet(prefix, files), open_at) for prefix, files in found.items()]


def choose(sets: Iterable[FileSet]) -> ChosenSets:
    """Return the sets of one run; if a folder has several runs, the sets of the run that began last."""
    every = list(sets)
    problems: list[str] = []
    runs: dict[str, list[FileSet]] = {}
    without = [each for each in every if each.metadata is None]
    for each in every:
        if each.metadata is not None:
            runs.setdefault(each.metadata.tfdbg_run_id, []).append(each)
    if not runs:
        chosen = sorted(without, key=lambda each: each.prefix)
        problems += [_missing(each, "metadata") for each in without]
    else:
        # A host whose clock is wrong still belongs to its run.
        latest = max(runs.values(), key=lambda hosts: (min(host.start for host in hosts), hosts[0].prefix))
        chosen = sorted(latest, key=lambda each: (each.start, each.prefix))
        for each in without:
            problems.append(
                f"{readable_name(each.name('metadata'))} is missing or cannot be read, so the files beside it are left "
                "out: they may be of another run."
            )
        if len(runs) > 1:
            names = ", ".join(readable_name(hosts[0].prefix) for hosts in runs.values() if hosts is not latest)
            problems.append(
                f"The folder has dumps of {len(runs)} runs; the one that began last is shown. "
                f"Move the others into separate folders: {names}."
            )
    for each in chosen:
        version = each.metadata.file_version if each.metadata is not None else FILE_VERSION
        if not version.startswith(_FILE_VERSIONS):
            problems.append(
                f"{readable_name(each.name('metadata'))} says version {readable_name(version)!r}; "
                f"expected {FILE_VERSION!r}. It is read as that."
            )
    return ChosenSets(tuple(chosen), tuple(problems))


def missing_files(chosen: ChosenSets) -> list[str]:
    """Return a sentence for each missing file of the sets; only traces are read from hosts other than the first."""
    return [
        _missing(each, suffix)
        for number, each in enumerate(chosen.sets)
        for suffix in SUFFIXES
        if suffix not in each.sizes and suffix != "metadata" and (number == 0 or suffix == "graph_execution_traces")
    ]


_WITHOUT: Final[Mapping[Suffix, str]] = {
    "metadata": "the version and the run are not known",
    "source_files": "there is no code",
    "stack_frames": "there are no stacks",
    "graphs": "operations of graphs have no types, inputs and stacks",
    "execution": "there are no eager operations",
    "graph_execution_traces": "there are no values of graphs",
}


def _missing(each: FileSet, suffix: Suffix) -> str:
    said = "is missing" if suffix not in each.sizes else "is incomplete or damaged"
    return f"{readable_name(each.name(suffix))} {said}: {_WITHOUT[suffix]}."


def _with_metadata(each: FileSet, open_at: OpenAt) -> FileSet:
    if "metadata" not in each.sizes:
        return each
    found: list[DebugEvent] = []

    def take(_: int, data: bytes) -> str | None:
        try:
            event = parse(DebugEvent, data)
        except DecodeError as error:
            return f"not a DebugEvent message: {error}"
        if not found and event.WhichOneof("what") == "debug_metadata":
            found.append(event)
        return None

    # The file has one record; anything else in it is not read.
    size = min(each.sizes["metadata"], _LARGEST_METADATA)
    RecordFile(each.name("metadata"), open_at).read_new(size, one_by_one(take))
    if not found:
        return each
    return FileSet(each.prefix, each.sizes, found[0].debug_metadata, found[0].wall_time)


_LARGEST_METADATA: Final = 1 << 20
