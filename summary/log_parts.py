"""A log directory in parts of whole runs, which workers of this machine or of others read by themselves."""

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
"""Of event files: what a worker reads in some seconds, and does again where another was lost."""
PART_FILES: Final = 5_000


@dataclass(frozen=True)
class LogPart:
    """Some runs of a log directory; small enough to be sent to a worker."""

    name: str
    """Tells it from the others and sorts among them."""
    logdirs: tuple[str, ...]
    """As `stepscope.summary.logdir_source.sources_of` takes them, the same from any working folder."""
    files: tuple[FoundFile, ...]
    """All event files of these runs, as the listing saw them."""

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.files)

    def source(self) -> Source:
        """Return its files, and no others, without a listing."""
        return SomeFiles(sources_of(self.logdirs), self.files)

    def logdir(self, **options: Any) -> Logdir:
        """Return the log directory that has these runs alone; options as `Logdir` takes them."""
        return Logdir(self.source(), **options)

    def halves(self) -> Sequence["LogPart"]:
        """Return it in two parts, of whole runs where it has several; none where it has one file."""
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
    """Return the runs that have some event files in parts, in the order of their names.

    Args:
        logdirs: see `LogPart.logdirs`.
        files: all of those runs; others than event files are left out.
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
    """What a worker is sent: a part, and what to do with it."""

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
    """Have an engine do something with each part, and yield what comes of it, as parts are done.

    A part that fails is divided, down to the file at fault, which may need more memory than a worker has; that is a
    failure of the progress. The progress counts files and their bytes.

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
    """Return log directories as a process with another working folder has to call them."""
    return tuple(_absolute(given) for given in logdirs)


def _absolute(given: str) -> str:
    name, place = named_logdir(given)
    if is_address(place):
        return given
    path = str(Path(place).expanduser().absolute())
    return path if name is None else f"{name}:{path}"
