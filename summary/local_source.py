"""Files below a local folder, found without asking for each of them at every look."""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, NamedTuple

from summary.source import FoundFile

_MOST_WAYS: Final = 16
"""How many paths to one folder are followed."""
_QUIET_SHARE: Final = 1 / 20
"""A folder is left alone for this share of the time since it last changed, ..."""
_LONGEST_REST: Final = 60.0
"""... but for no more seconds than this, unless it is known to have changed."""
_TICK_NS: Final = 2_000_000_000
"""A folder that changed so shortly before it was listed may change again without a later time of change."""


class _Folder(NamedTuple):
    path: str
    relative: PurePosixPath
    identity: tuple[int, int]
    """Device and inode."""
    ancestors: frozenset[tuple[int, int]]
    """Identities of the folder and of those it was reached through."""


@dataclass
class _Seen:
    """What a folder held when it was looked at."""

    modified_ns: int
    entries_certain: bool
    """Whether the same time of change means the same entries."""
    files: list[FoundFile]
    folders: list[_Folder]
    looked_at: float
    changed_at: float


class LocalSource:
    """Files below a local directory.

    Symbolic links are followed, and loops of them found. A folder that can be reached in very many ways, as folders
    that link to each other can, is listed for the shortest of them only.

    Args:
        root: the directory; it may come into being later.
        only: wildcards, one per level, that folders below ``root`` must match; files above the last level are left
            out.
        clock: seconds that only grow.
    """

    def __init__(self, root: Path, *, only: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.root: Final = root
        self._only: Final = tuple(only)
        self._clock: Final = clock
        self._seen: dict[str, _Seen] = {}

    @property
    def address(self) -> str:
        return str(self.root.joinpath(*self._only))

    @property
    def watchable_folders(self) -> Sequence[Path]:
        return (self.root,)

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        try:
            top = self.root.stat()
        except OSError:
            self._seen.clear()
            return
        stirred = None if changed is None else {*changed, *map(os.path.dirname, changed)}
        # No recursion, which ends at a thousand folders below each other; and the shortest paths first.
        identity = (top.st_dev, top.st_ino)
        folders = deque([_Folder(str(self.root), PurePosixPath(), identity, frozenset({identity}))])
        times_listed: Counter[tuple[int, int]] = Counter()
        seen: dict[str, _Seen] = {}
        while folders:
            folder = folders.popleft()
            times_listed[folder.identity] += 1
            if times_listed[folder.identity] > _MOST_WAYS:
                continue
            found = self._look(folder, stirred)
            if found is not None:
                seen[folder.path] = found
                folders.extend(found.folders)
                if len(folder.relative.parts) >= len(self._only):
                    yield from found.files
        self._seen = seen

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        stream = (self.root / path).open("rb", buffering=0)
        stream.seek(offset)
        return stream

    def locate(self, path: PurePosixPath) -> str:
        return os.path.join(self.root, path)

    def _look(self, folder: _Folder, stirred: Collection[str] | None) -> _Seen | None:
        known = self._seen.get(folder.path)
        if known is None or stirred is None:
            return self._scan(folder, known)
        now = self._clock()
        rest = min(_LONGEST_REST, (now - known.changed_at) * _QUIET_SHARE)
        due = folder.path in stirred or now - known.looked_at >= rest
        if not due and not known.folders:
            return known
        try:
            modified_ns = os.stat(folder.path).st_mtime_ns
        except OSError:
            return None
        if modified_ns != known.modified_ns or (due and not known.entries_certain):
            return self._scan(folder, known)
        if due:
            self._look_at_files(folder, known)
        return known

    def _look_at_files(self, folder: _Folder, known: _Seen) -> None:
        """Asks for the files of a folder that has the same entries as before."""
        known.looked_at = self._clock()
        for index, file in enumerate(known.files):
            try:
                status = os.stat(os.path.join(folder.path, file.path.name))
            except OSError:
                continue
            found = _found(file.path, status)
            if found != file:
                known.files[index] = found
                known.changed_at = known.looked_at

    def _scan(self, folder: _Folder, known: _Seen | None) -> _Seen | None:
        now = self._clock()
        try:
            modified_ns = os.stat(folder.path).st_mtime_ns
            with os.scandir(folder.path) as listing:
                entries = list(listing)
        except OSError:
            return None
        files: list[FoundFile] = []
        folders: list[_Folder] = []
        for entry in entries:
            try:
                status = entry.stat()
                is_folder, is_file = entry.is_dir(), entry.is_file()
            except OSError:
                continue
            identity = (status.st_dev, status.st_ino)
            relative = folder.relative / entry.name
            if is_folder and identity not in folder.ancestors and self._is_wanted(relative):
                folders.append(_Folder(entry.path, relative, identity, folder.ancestors | {identity}))
            elif is_file:
                files.append(_found(relative, status))
        now_ns = time.time_ns()
        if known is None:
            # Of a folder that is new here, the files tell how long it has been quiet.
            latest_ns = max([modified_ns, *(file.modified_ns for file in files)])
            changed_at = now - max(0.0, (now_ns - latest_ns) / 1e9)
        elif files == known.files and folders == known.folders:
            # The same objects, by which callers know that nothing changed.
            files, changed_at = known.files, known.changed_at
        else:
            changed_at = now
        return _Seen(modified_ns, now_ns - modified_ns > _TICK_NS, files, folders, now, changed_at)

    def _is_wanted(self, folder: PurePosixPath) -> bool:
        return all(map(fnmatchcase, folder.parts, self._only))


def _found(path: PurePosixPath, status: os.stat_result) -> FoundFile:
    return FoundFile(path, status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino))
