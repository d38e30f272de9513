"""Sources of files from paths and addresses as users give them."""

import glob
import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from stepscope.summary.local_source import LocalFiles, LocalSource
from stepscope.summary.remote_source import RemoteSource, Requests
from stepscope.summary.source import FoundFile, Source
from stepscope.summary.storage import is_address

_NAMED: Final = re.compile(r"([^/\\:]+):(?!//)(.+)", re.DOTALL)


class SeveralSources:
    """Several trees combined, each below a folder with its name."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources: Final = dict(sources)

    @property
    def names(self) -> Sequence[str]:
        """The names of the trees."""
        return tuple(self._sources)

    @property
    def parts(self) -> Sequence[Source]:
        """The trees themselves."""
        return tuple(self._sources.values())

    @property
    def requests(self) -> Requests:
        """Number of requests to stores so far."""
        asked = [requests_of(source) for source in self._sources.values()]
        return Requests(sum(one.pages for one in asked), sum(one.files for one in asked))

    @property
    def address(self) -> str:
        return ", ".join(source.address for source in self._sources.values())

    @property
    def watchable_folders(self) -> Sequence[Path]:
        return [folder for source in self._sources.values() for folder in source.watchable_folders]

    def folders_to_watch(self, most: int) -> Sequence[str]:
        local = [source for source in self._sources.values() if source.watchable_folders]
        return [folder for source in local for folder in source.folders_to_watch(most // len(local))]

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        for name, source in self._sources.items():
            for found in source.list(changed):
                yield replace(found, path=PurePosixPath(name) / found.path)

    def take_listing(self, files: Iterable[FoundFile]) -> None:
        """Record the sizes of all files from a listing, possibly made by another process."""
        of_each: defaultdict[str, list[FoundFile]] = defaultdict(list)
        for file in files:
            of_each[file.path.parts[0]].append(replace(file, path=PurePosixPath(*file.path.parts[1:])))
        for name, inside in of_each.items():
            _take_listing(self._sources[name], inside)

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        return {
            PurePosixPath(name) / path: reason
            for name, source in self._sources.items()
            for path, reason in source.unlisted.items()
        }

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        return self._sources[path.parts[0]].open(PurePosixPath(*path.parts[1:]), offset)

    def locate(self, path: PurePosixPath) -> str:
        return self._sources[path.parts[0]].locate(PurePosixPath(*path.parts[1:]))


class SomeFiles:
    """Files of a source that were listed before, possibly by another process; all other files are ignored."""

    def __init__(self, source: Source, files: Sequence[FoundFile]) -> None:
        self._source: Final = source
        self._files: Final = files
        _take_listing(source, files)

    @property
    def requests(self) -> Requests:
        """Number of requests to stores so far."""
        return requests_of(self._source)

    @property
    def address(self) -> str:
        return self._source.address

    @property
    def watchable_folders(self) -> Sequence[Path]:
        return self._source.watchable_folders

    def folders_to_watch(self, most: int) -> Sequence[str]:
        return ()

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        return iter(self._files)

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        return {}

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        return self._source.open(path, offset)

    def locate(self, path: PurePosixPath) -> str:
        return self._source.locate(path)


def source_of(logdir: str | os.PathLike[str]) -> Source:
    """Return the files of one log directory: a path, a path with wildcards, or an address such as ``s3://bucket/logs``.

    Wildcards match folders, including ones created later, unless a folder of that literal name exists. The path of a
    file selects that file.

    Raises:
        ValueError: the address's protocol is unknown.
        ImportError: the protocol needs a package that is not installed; the message names it.
    """
    given = os.fspath(logdir)
    if is_address(given):
        return RemoteSource(given)
    path = Path(given).expanduser().absolute()
    if path.is_file():
        return LocalFiles(path.parent, [path.name])
    if not glob.has_magic(given) or path.exists():
        return LocalSource(path)
    parts = path.parts
    first = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    return LocalSource(Path(*parts[:first]), only=parts[first:])


def sources_of(logdirs: Sequence[str]) -> Source:
    """Return the files of one or several log directories, each an argument of `source_of`, optionally after ``NAME:``.

    With several, runs are prefixed by NAME, or else by as many of the path's last folders as distinguish it from the
    others. A single log directory without a name has no prefix; unnamed files of one folder count as one log directory.

    Raises:
        ValueError: two have the same name, or an address's protocol is unknown.
        ImportError: a protocol's package is missing.
    """
    named, files = _without_files([named_logdir(given) for given in logdirs])
    if len(named) == 1 and named[0][0] is None:
        return files.get(named[0][1]) or source_of(named[0][1])
    unnamed = [logdir for name, logdir in named if name is None]
    names = [name if name is not None else _telling_name(logdir, unnamed) for name, logdir in named]
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"two log directories are called {name!r}; give them names, as in NAME:DIR")
    return SeveralSources(
        {name: files.get(logdir) or source_of(logdir) for name, (_, logdir) in zip(names, named, strict=True)}
    )


def _without_files(
    named: Sequence[tuple[str | None, str]],
) -> tuple[list[tuple[str | None, str]], dict[str, LocalFiles]]:
    """Return log directories with unnamed files replaced by their folders, and the files of each such folder."""
    others: list[tuple[str | None, str]] = []
    names: dict[str, list[str]] = {}
    for name, given in named:
        path = Path(given).expanduser().absolute()
        if name is not None or is_address(given) or not path.is_file():
            others.append((name, given))
            continue
        names.setdefault(str(path.parent), []).append(path.name)
    files = {folder: LocalFiles(Path(folder), inside) for folder, inside in names.items()}
    return [*others, *((None, folder) for folder in files)], files


def requests_of(source: Source) -> Requests:
    """Return the number of requests to stores so far for a source; local folders make none."""
    return source.requests if isinstance(source, RemoteSource | SeveralSources | SomeFiles) else Requests()


def absent_addresses(source: Source) -> list[str]:
    """Return the addresses of a source that was listed at which nothing exists."""
    if isinstance(source, SeveralSources):
        return [address for one in source.parts for address in absent_addresses(one)]
    return [source.address] if isinstance(source, RemoteSource) and source.is_absent() else []


def _take_listing(source: Source, files: Iterable[FoundFile]) -> None:
    """Pass a listing to a source: each known size saves one request at an address."""
    if isinstance(source, SeveralSources | RemoteSource):
        source.take_listing(files)


def identity_of(source: Source) -> str:
    """Return a unique identity of a log directory, the same whoever opens it, as text that UTF-8 can encode."""
    names = ",".join(source.names) if isinstance(source, SeveralSources) else ""
    return os.fsencode(f"{names}\0{source.address}").decode(errors="backslashreplace")


def name_of(address: str) -> str:
    """Return the last part of a log directory's path or address."""
    return _parts(address)[-1] if _parts(address) else address


def named_logdir(given: str) -> tuple[str | None, str]:
    """Split ``NAME:DIR``; a path or address that merely contains a colon has no name."""
    match = _NAMED.fullmatch(given)
    if match is None or is_address(given) or os.path.exists(given):
        return None, given
    return match[1], match[2]


def _telling_name(logdir: str, others: Sequence[str]) -> str:
    parts = _parts(logdir)
    for length in range(1, len(parts) + 1):
        if sum(_parts(other)[-length:] == parts[-length:] for other in others) == 1:
            return "_".join(parts[-length:])
    return "_".join(parts)


def _parts(logdir: str) -> list[str]:
    path = logdir if is_address(logdir) else os.path.abspath(os.path.expanduser(logdir))
    return [part for part in re.split(r"[/\\]+", path) if part]
