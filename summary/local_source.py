"""Files below a local folder, found without checking each of them on every listing."""

import errno
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from heapq import nlargest
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, NamedTuple

from stepscope.summary.errors import reason_of
from stepscope.summary.source import Changes, FoundFile

_MOST_WAYS: Final = 16
"""Maximum number of paths to one folder that are followed."""
_QUIET_SHARE: Final = 1 / 20
"""A folder is not checked again for this fraction of the time since its last change, ..."""
_LONGEST_REST: Final = 60.0
"""... but at most for this many seconds, and not if it is known to have changed, ..."""
_LOOKS_PER_SECOND: Final = 500
"""... unless so many folders exist that checking more than this many per second would keep a processor busy."""
_TICK_NS: Final = 2_000_000_000
"""A folder that changed within this time before it was listed may change again with the same modification time."""


_NOTHING_THERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Errors of entries that vanished while the folder was listed, and of broken links."""


class _Folder(NamedTuple):
    path: str
    relative: str
    """Path relative to the log directory, with slashes; empty for the directory itself."""
    identity: tuple[int, int]
    """Device and inode."""
    ancestors: frozenset[tuple[int, int]]
    """Identities of the folders through which it was reached; one object for all subfolders of a folder."""

    @property
    def depth(self) -> int:
        """Number of levels below the log directory."""
        return self.relative.count("/") + 1 if self.relative else 0


@dataclass(slots=True)
class _Seen:
    """The contents of a folder when it was last checked."""

    folder: _Folder
    modified_ns: int
    entries_certain: bool
    """Whether an equal modification time means equal entries."""
    files: list[FoundFile]
    folders: list[_Folder]
    looked_at: float
    changed_at: float
    problem: str = ""
    """Reason the folder, or part of it, could not be checked."""


class _Told(NamedTuple):
    """Changes found in folders that were reported as changed."""

    found: list[FoundFile]
    gone: dict[PurePosixPath, None]
    looked_at: set[str]
    """Paths of the folders that were checked."""


class LocalSource:
    """Files below a local directory.

    Symbolic links are followed, and loops are detected. A folder that can be reached by very many paths, such as
    folders that link to each other, is listed for the shortest of them only.

    Args:
        root: the directory; it need not exist yet.
        only: wildcards, one per level, that folders below ``root`` must match; files above the last level are omitted.
        clock: returns monotonic time in seconds.
    """

    def __init__(self, root: Path, *, only: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.root: Final = root
        self._only: Final = tuple(only)
        self._clock: Final = clock
        self._seen: dict[str, _Seen] = {}
        self._unlisted: dict[PurePosixPath, str] = {}

    @property
    def address(self) -> str:
        return str(self.root.joinpath(*self._only))

    @property
    def watchable_folders(self) -> Sequence[Path]:
        return (self.root,)

    def folders_to_watch(self, most: int) -> Sequence[str]:
        parents = [path for path, seen in self._seen.items() if seen.folders]
        ends = [(seen.changed_at, path) for path, seen in self._seen.items() if not seen.folders]
        return [*parents[:most], *(path for _, path in nlargest(max(0, most - len(parents)), ends))]

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        unlisted: dict[PurePosixPath, str] = {}
        try:
            top = self.root.stat()
        except OSError as error:
            self._unlisted = {}
            if error.errno in _NOTHING_THERE:
                self._seen.clear()
            else:
                self._unlisted[PurePosixPath()] = reason_of(error)
            yield from [file for seen in self._seen.values() for file in seen.files if self._is_deep_enough(file)]
            return
        stirred = None if changed is None else {*changed, *map(os.path.dirname, changed)}
        # No recursion, which fails at a thousand nested folders; and the shortest paths first.
        identity = (top.st_dev, top.st_ino)
        folders = deque([_Folder(str(self.root), "", identity, frozenset())])
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
                # If a folder cannot be entered, nothing below it can.
                if found.problem and unlisted.keys().isdisjoint(PurePosixPath(folder.relative).parents):
                    unlisted[PurePosixPath(folder.relative)] = found.problem
                if folder.depth >= len(self._only):
                    yield from found.files
        self._seen, self._unlisted = seen, unlisted

    def changes(self, changed: Collection[str]) -> Changes | None:
        """Return the changes in folders where something is known to have changed.

        Only these folders and new folders in them are checked. Return None if only a listing can determine the changes.

        Args:
            changed: as for `list`.
        """
        told = _Told([], {}, set())
        # A folder comes before those below it.
        for path in sorted(changed):
            known = self._nearest_seen(path)
            if known is None or known.problem:
                return None
            if known.folder.path not in told.looked_at and not self._look_below(known.folder, told):
                return None
        for file in told.found:
            told.gone.pop(file.path, None)
        return Changes(told.found, told.gone.keys())

    def _nearest_seen(self, path: str) -> _Seen | None:
        """Return the deepest folder seen so far that contains a path, or is the path itself."""
        while path not in self._seen:
            above = os.path.dirname(path)
            if above == path:
                return None
            path = above
        return self._seen[path]

    def _look_below(self, top: _Folder, told: _Told) -> bool:
        """Add what is new in a folder and in its new folders; return False if that cannot be determined."""
        pending = [top]
        while pending:
            folder = pending.pop()
            told.looked_at.add(folder.path)
            known = self._seen.get(folder.path)
            files_then = {} if known is None else {file.path: file for file in known.files}
            now = self._look(folder, {folder.path})
            if now is None or now.problem:
                return False
            self._seen[folder.path] = now
            if folder.depth >= len(self._only):
                told.found.extend(file for file in now.files if files_then.pop(file.path, None) != file)
                told.gone.update(dict.fromkeys(files_then))
            if known is not None and now.folders is known.folders:
                continue
            folders_then = {} if known is None else {below.path: below for below in known.folders}
            for below in now.folders:
                if folders_then.get(below.path) == below:
                    del folders_then[below.path]
                    continue
                # Files reachable in several ways are listed in each of them.
                if below.identity[0] != folder.identity[0] or os.path.islink(below.path):
                    return False
                pending.append(below)
            for below_then in folders_then:
                self._forget(below_then, told.gone)
        return True

    def _forget(self, folder: str, gone: dict[PurePosixPath, None]) -> None:
        """Record that a folder that was seen, and every file in it, no longer exists."""
        pending = [folder]
        while pending:
            seen = self._seen.pop(pending.pop(), None)
            if seen is not None:
                gone.update((file.path, None) for file in seen.files)
                pending += [below.path for below in seen.folders]

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        return self._unlisted

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        return _opened(self.locate(path), offset)

    def locate(self, path: PurePosixPath) -> str:
        return os.path.join(self.root, path)

    def _look(self, folder: _Folder, stirred: Collection[str] | None) -> _Seen | None:
        known = self._seen.get(folder.path)
        if known is None or stirred is None or known.problem:
            return self._scan(folder, known)
        now = self._clock()
        longest = max(_LONGEST_REST, len(self._seen) / _LOOKS_PER_SECOND)
        rest = min(longest, (now - known.changed_at) * _QUIET_SHARE)
        due = folder.path in stirred or now - known.looked_at >= rest
        if not due and not known.folders:
            return known
        try:
            modified_ns = os.stat(folder.path).st_mtime_ns
        except OSError as error:
            return self._without_a_look(folder, known, error)
        if modified_ns != known.modified_ns or (due and not known.entries_certain):
            return self._scan(folder, known)
        if due:
            self._look_at_files(folder, known)
        return known

    def _look_at_files(self, folder: _Folder, known: _Seen) -> None:
        """Check the files of a folder whose entries are the same as before."""
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
        except OSError as error:
            return self._without_a_look(folder, known, error)
        files: list[FoundFile] = []
        folders: list[_Folder] = []
        ancestors = folder.ancestors | {folder.identity}
        known_below = {} if known is None or known.folder != folder else {below.path: below for below in known.folders}
        problem = ""
        for entry in entries:
            below = known_below.get(entry.path)
            # The same folder needs no further query: the listing shows that it is the same.
            if below is not None and entry.is_dir(follow_symlinks=False) and entry.inode() == below.identity[1]:
                folders.append(below)
                continue
            try:
                status = entry.stat()
                is_folder, is_file = entry.is_dir(), entry.is_file()
            except OSError as error:
                if error.errno not in _NOTHING_THERE:
                    problem = problem or f"{entry.name} cannot be accessed: {reason_of(error)}"
                    if known is not None:
                        files += [file for file in known.files if file.path.name == entry.name]
                        folders += [below for below in known.folders if below.path == entry.path]
                continue
            identity = (status.st_dev, status.st_ino)
            relative = f"{folder.relative}/{entry.name}" if folder.relative else entry.name
            if is_folder and identity not in ancestors and self._is_wanted(relative):
                folders.append(_Folder(entry.path, relative, identity, ancestors))
            elif is_file:
                files.append(_found(PurePosixPath(relative), status))
        now_ns = time.time_ns()
        if known is None:
            # For a folder that is new here, the files tell how long it has been quiet.
            latest_ns = max([modified_ns, *(file.modified_ns for file in files)])
            changed_at = now - max(0.0, (now_ns - latest_ns) / 1e9)
        elif files == known.files and folders == known.folders:
            # The same objects tell callers that nothing changed.
            files, changed_at = known.files, known.changed_at
        else:
            changed_at = now
        return _Seen(folder, modified_ns, now_ns - modified_ns > _TICK_NS, files, folders, now, changed_at, problem)

    def _without_a_look(self, folder: _Folder, known: _Seen | None, error: OSError) -> _Seen | None:
        """Return the last known contents of a folder that cannot be checked now.

        Return None if the folder no longer exists.
        """
        if _is_gone(folder.path, error):
            return None
        now = self._clock()
        kept = known if known is not None else _Seen(folder, 0, False, [], [], now, now)
        kept.problem = reason_of(error)
        return kept

    def _is_deep_enough(self, file: FoundFile) -> bool:
        return len(file.path.parts) > len(self._only)

    def _is_wanted(self, folder: str) -> bool:
        return not self._only or all(map(fnmatchcase, folder.split("/"), self._only))


class LocalFiles:
    """Some files of one local folder, and nothing else of it.

    Args:
        folder: the folder.
        names: names of the files, which may appear, disappear and change.
    """

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder: Final = folder
        self._names: Final = tuple(dict.fromkeys(names))

    @property
    def address(self) -> str:
        return ", ".join(str(self.folder / name) for name in self._names)

    @property
    def watchable_folders(self) -> Sequence[Path]:
        # Watching the whole folder for them, with everything below, could cost more than checking each.
        return ()

    def folders_to_watch(self, most: int) -> Sequence[str]:
        return ()

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        for name in self._names:
            try:
                yield _found(PurePosixPath(name), os.stat(self.folder / name))
            except OSError:
                continue

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        return {}

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        return _opened(self.locate(path), offset)

    def locate(self, path: PurePosixPath) -> str:
        return os.path.join(self.folder, path)


def _opened(path: str, offset: int) -> BinaryIO:
    stream = FileIO(path)
    if offset:
        stream.seek(offset)
    return stream


def look_at(path: PurePosixPath, place: str) -> FoundFile:
    """Return a local file as a listing would; raises OSError."""
    return _found(path, os.stat(place))


def _found(path: PurePosixPath, status: os.stat_result) -> FoundFile:
    # Where st_ctime is the creation time (Windows), it never changes.
    return FoundFile(path, status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino), status.st_ctime_ns)


def _is_gone(path: str, error: OSError) -> bool:
    """Return whether a folder that could not be checked no longer exists, according to its parent folder."""
    if error.errno not in _NOTHING_THERE:
        return False
    try:
        return os.path.basename(path) not in os.listdir(os.path.dirname(path)) or not os.path.isdir(path)
    except OSError as error_above:
        return error_above.errno in _NOTHING_THERE
