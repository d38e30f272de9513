"""A log directory divided into parts of whole runs that workers, local or remote, read independently."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol, TypeVar

from stepscope.summary.companions import is_event_file
from stepscope.summary.engine import Engine, Progress
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import SomeFiles, named_logdir, sources_of
from stepscope.summary.source import FoundFile, Source
from stepscope.summary.storage import is_address

PART_BYTES: Final = 64 << 20
"""Bytes of event files per part: read by a worker in seconds, and read again if a worker is lost."""
PART_FILES: Final = 5_000


@dataclass(frozen=True)
class LogPart:
    """Some runs of a log directory, small enough to send to a worker."""

    name: str
    """Unique name, by which parts are sorted."""
    logdirs: tuple[str, ...]
    """Arguments of `stepscope.summary.logdir_source.sources_of`, independent of the working directory."""
    files: tuple[FoundFile, ...]
    """All event files of these runs, as found by the listing."""

    @property
    def size(self) -> int:
        """Total bytes of the part's files."""
        return sum(file.size for file in self.files)

    def source(self) -> Source:
        """Return a source of only the part's files, without listing."""
        return SomeFiles(sources_of(self.logdirs), self.files)

    def logdir(self, **options: Any) -> Logdir:
        """Return a log directory with these runs only; options are passed to `Logdir`."""
        return Logdir(self.source(), **options)

    def halves(self) -> Sequence["LogPart"]:
        """Return two parts, of whole runs if there are several; return none if there is only one file."""
        if len(self.files) < 2:
            return ()
        folders = list(dict.fromkeys(file.path.parent for file in self.files))
        middle = folders[len(folders) // 2]
        of_runs = next(place for place, file in enumerate(self.files) if file.path.parent == middle)
        count = of_runs or len(self.files) // 2
        return (
            replace(self, name=f"{self.name}a", files=self.files[:count]),
            replace(self, name=f"{self.name}b", files=self.files[count:]),
        )


def cut(logdirs: Sequence[str], files: Iterable[FoundFile]) -> list[LogPart]:
    """Divide the runs of event files into parts, in order of their names.

    Args:
        logdirs: see `LogPart.logdirs`.
        files: all files of the runs; files other than event files are ignored.
    """
    runs: defaultdict[PurePosixPath, list[FoundFile]] = defaultdict(list)
    for file in files:
        if is_event_file(file.path.name):
            runs[file.path.parent].append(file)
    parts: list[LogPart] = []
    together: list[FoundFile] = []
    size = 0
    for _, of_run in sorted(runs.items()):
        together += sorted(of_run, key=lambda file: file.path)
        size += sum(file.size for file in of_run)
        if size >= PART_BYTES or len(together) >= PART_FILES:
            parts.append(LogPart(f"{len(parts):05d}", tuple(logdirs), tuple(together)))
            together, size = [], 0
    if together:
        parts.append(LogPart(f"{len(parts):05d}", tuple(logdirs), tuple(together)))
    return parts


class Work(Protocol):
    """The work sent to a worker: a part, and what to do with it."""

    @property
    def logs(self) -> LogPart:
        """The part."""
        ...


AnyWork = TypeVar("AnyWork", bound=Work)
Result = TypeVar("Result")


def work_through(
    engine: Engine,
    function: Callable[[AnyWork], Result],
    parts: Sequence[LogPart],
    work_on: Callable[[LogPart], AnyWork],
    progress: Progress,
) -> Generator[Result, None, None]:
    """Run a function on each part with an engine, and yield the results as parts finish.

    A part that fails is divided until the faulty file is found, which may need more memory than a worker has; the
    progress records that file as a failure. The progress counts files and their bytes.

    Raises:
        UserError: the engine cannot be used.
    """
    progress.parts = sum(len(part.files) for part in parts)
    progress.bytes = sum(part.size for part in parts)
    while parts:
        divided: list[LogPart] = []
        for outcome in engine.map(function, [work_on(part) for part in parts]):
            logs = outcome.part.logs
            if outcome.result is not None:
                progress.done += len(logs.files)
                progress.done_bytes += logs.size
                yield outcome.result
            elif halves := logs.halves():
                divided += halves
            else:
                progress.failures[str(logs.files[0].path)] = outcome.error
        parts = divided


def from_anywhere(logdirs: Iterable[str]) -> tuple[str, ...]:
    """Return log directories in a form that is valid in a process with another working directory."""
    return tuple(_absolute(given) for given in logdirs)


def _absolute(given: str) -> str:
    name, place = named_logdir(given)
    if is_address(place):
        return given
    path = str(Path(place).expanduser().absolute())
    return path if name is None else f"{name}:{path}"
