"""``stepscope project``: show the points of one file, without any log directory."""

import re
import threading
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from rich.markup import escape

from stepscope.dashboard.cli.serve import DEFAULT_PORT, listen, serve, token_for
from stepscope.dashboard.cli.start import Served
from stepscope.dashboard.embeddings.file_listing import sources_of_file
from stepscope.dashboard.embeddings.file_source import FILES, FileAbout
from stepscope.dashboard.embeddings.results import ResultFiles, result_folder
from stepscope.dashboard.embeddings.source import Learned, ProjectFile
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.steady_output import steady_console
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError
from stepscope.summary.snapshot import Snapshot

HOST: Final = "localhost"
SECONDS_BETWEEN_LOOKS: Final = 2.0


class ProjectVerb:
    """Shows the points of a file."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file, and the files that accompany it."""
        parser.add_argument("file", metavar="FILE", help=FILES)
        parser.add_argument(
            "--metadata",
            metavar="M",
            help="metadata, one line per point: TSV, CSV, JSON lines or Parquet",
        )
        parser.add_argument(
            "--sprite", metavar="I", help="one sprite image that holds the images of all points, row by row"
        )
        parser.add_argument(
            "--sprite-size", metavar="WxH", type=size, help="width and height of one point's image, in pixels"
        )
        parser.add_argument(
            "--shape", metavar="NxD", type=size, help="points and dimensions of a FILE of raw float32 (.bytes)"
        )
        parser.add_argument(
            "--port", type=int, help=f"port to serve on (default: {DEFAULT_PORT} or, if taken, the next free one)"
        )
        parser.add_argument("--open-browser", action="store_true", help="open the page in the default browser")

    def run(self, arguments: Namespace) -> int:
        """Serve the file until Ctrl+C.

        Raises:
            UserError: a file does not exist, or holds no points.
        """
        console = steady_console()
        find = finder(arguments)
        file = find()
        if file is None and Path(arguments.file).expanduser().is_dir():
            raise UserError(f"{arguments.file} is a folder. Expected {FILES}.")
        if file is None:
            raise UserError(f"{arguments.file} does not exist. Expected {FILES}.")
        sources = list(sources_of_file(file, "file", file.about, Learned()))
        problem = next((source.problem for source in sources if source.problem), "")
        if problem:
            raise UserError(problem)
        console.print(f"{escape(file.path)} has {counted(len(sources), 'embedding')}.")
        listener = listen(HOST, arguments.port, console)

        def make() -> Live:
            live = Live(file.path, lambda publish: FileFollower(find, publish))
            live.shared(ResultFiles, lambda: ResultFiles(result_folder()))
            return live

        access = Access(HOST, token_for(HOST, None, without=False))
        serve(Served(file.path, make), access, (), listener, console, browse=arguments.open_browser)
        return 0


def size(text: str) -> tuple[int, int]:
    """Return the two numbers of a size such as ``64x64``; raise ArgumentTypeError for anything else."""
    match = re.fullmatch(r"(\d{1,9})[x,](\d{1,9})", text)
    if match is None or not int(match[1]) or not int(match[2]):
        raise ArgumentTypeError(f"{text!r} is not a size; expected one such as 64x64")
    return int(match[1]), int(match[2])


def finder(arguments: Namespace) -> Callable[[], ProjectFile | None]:
    """Return a function that looks up the current state of the file each time it is called.

    Raises:
        UserError: the metadata or the sprite does not exist.
    """
    about = FileAbout(
        shape=arguments.shape,
        metadata=_beside(arguments.metadata, "--metadata"),
        sprite=_beside(arguments.sprite, "--sprite"),
        sprite_sizes=arguments.sprite_size or (),
    )
    path = Path(arguments.file).expanduser().absolute()
    if not path.exists() and path.with_name(path.name + ".index").exists():
        path = path.with_name(path.name + ".index")

    def find() -> ProjectFile | None:
        try:
            status = path.stat()
        except OSError:
            return None
        if not path.is_file():
            return None
        version = tuple(_modified_ns(beside) for beside in (about.metadata, about.sprite))
        return ProjectFile(
            ".",
            PurePosixPath(path.name),
            str(path),
            status.st_size,
            status.st_mtime_ns,
            about=replace(about, version=version),
        )

    return find


def _modified_ns(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns if path else 0
    except OSError:
        return 0


def _beside(given: str | None, option: str) -> str:
    if given is None:
        return ""
    path = Path(given).expanduser().absolute()
    if not path.is_file():
        raise UserError(f"{option} {given} does not exist; expected a file.")
    return str(path)


class FileFollower:
    """Publishes a snapshot of one file, and another one whenever the file has changed."""

    def __init__(
        self,
        find: Callable[[], ProjectFile | None],
        publish: Callable[[Snapshot], None],
        seconds: float = SECONDS_BETWEEN_LOOKS,
    ) -> None:
        self._find = find
        self._publish = publish
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="project", daemon=True)

    def start(self) -> None:
        """Start watching the file."""
        self._thread.start()

    def heed(self, runs: Iterable[str]) -> None:
        """Do nothing: the whole file is watched anyway."""

    def stop(self) -> None:
        """Stop watching, and wait for the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        revision, last = 0, None
        while not self._stopped.is_set():
            found = self._find()
            if found is not None and found != last:
                revision, last = revision + 1, found
                self._publish(Snapshot(revision, {}, (found,)))
            self._stopped.wait(self._seconds)
