"""Reads many small event files into the index of a log directory that has none yet, in a process of its own.

The server that started it continues importing meanwhile, and does not need the compiled loops, which take 130 MB.
`stepscope.summary.first_reading` is the server's end.
"""

import gc
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, cast

import msgspec

from stepscope.summary import scan, small_files
from stepscope.summary.child_process import end_with_input
from stepscope.summary.companions import is_event_file
from stepscope.summary.event_file import EventFile
from stepscope.summary.index_files import IndexFolder
from stepscope.summary.index_lists import IndexedFile
from stepscope.summary.kept_files import LEAST_CACHED
from stepscope.summary.log_index import PartOfIndex, SegmentPlace
from stepscope.summary.logdir_source import sources_of
from stepscope.summary.packed_points import Packer
from stepscope.summary.source import FoundFile, Opener, Source

LEAST_FILES: Final = 500
"""Number of small event files from which loading the loops pays off."""
_LOOKED_AT: Final = 2 * LEAST_FILES
"""Event files that decide this: if most of them are large, the server reads them itself."""
_PART_BYTES: Final = 32 << 20
_PART_FILES: Final = 2_000
"""A part of this many bytes or files becomes one segment of the index."""
_SHARE_BYTES: Final = 1 << 20
"""Bytes that are read at once; the memory they take stays in the processor's caches."""
_MOST_THREADS: Final = 4
"""More would wait for each other, as half of the work is done in Python."""


def main(index: str, *logdirs: str) -> None:
    """Read the small event files in log directories; print the segments of each part, once written, as a JSON line.

    The process ends when its standard input ends, which is when the server is gone.

    Args:
        index: the folder of the index.
        logdirs: log directories, as `stepscope.summary.logdir_source.sources_of` takes them.
    """
    threading.Thread(target=end_with_input, daemon=True).start()
    gc.disable()
    # Numba imports SciPy for matrix products, of which there are none here, and works without it.
    cast(dict[str, Any], sys.modules)["scipy"] = None
    printing = threading.Lock()

    def tell(segments: Sequence[SegmentPlace]) -> None:
        with printing:
            sys.stdout.buffer.write(msgspec.json.encode(segments) + b"\n")
            sys.stdout.buffer.flush()

    if scan.KERNELS.compiled and small_files.KERNELS.compiled:
        # Leftovers of a start that ended before it wrote a manifest.
        IndexFolder(index).sweep(())
        source = sources_of(logdirs)
        packer = Packer()
        with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as pool:
            begun = [
                pool.submit(lambda part: tell(read_part(source, part, index, packer)), part)
                for part in parts_of_small_files(source.list())
            ]
            try:
                for each in begun:
                    each.result()
            except OSError:
                # The server notices this itself, and reports why.
                pool.shutdown(cancel_futures=True)
                sys.exit(1)


def parts_of_small_files(files: Iterable[FoundFile]) -> Iterator[list[FoundFile]]:
    """Yield the small event files in parts of whole runs, or nothing if there are few.

    Args:
        files: the files of a listing, in which the files of a run follow each other.
    """
    event_files = (file for file in files if is_event_file(file.path.name))
    first = list(itertools.islice(event_files, _LOOKED_AT))
    if sum(0 < file.size < LEAST_CACHED for file in first) < LEAST_FILES:
        return
    part: list[FoundFile] = []
    size = 0
    for _, of_run in itertools.groupby(itertools.chain(first, event_files), _folder):
        run = list(of_run)
        # A run with only some of its files in the index would look as if it had no others.
        if all(file.size < LEAST_CACHED for file in run):
            part += [file for file in run if file.size]
            size += sum(file.size for file in run)
        if size >= _PART_BYTES or len(part) >= _PART_FILES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _folder(file: FoundFile) -> str:
    # As text, since creating a path for each file takes a tenth of the total time spent on the file.
    return os.path.dirname(str(file.path))


def read_part(source: Source, files: Sequence[FoundFile], index: str, packer: Packer) -> Sequence[SegmentPlace]:
    """Read files and write a segment of them; files that cannot be read are left to the server, which reports them.

    Args:
        source: where the files are.
        files: the files of whole runs.
        index: the folder of the index.
        packer: shares tables.

    Raises:
        OSError: the index cannot be written.
    """
    seen_ns = time.time_ns()
    read: list[IndexedFile] = []
    for share in _shares(files):
        opened = [partial(source.open, file.path, 0) for file in share]
        together = small_files.read_together(opened, [file.size for file in share], packer)
        for file, packed in zip(share, together, strict=True):
            found = packed or _read_alone(source, file, packer)
            if found is not None:
                read.append(IndexedFile(file, seen_ns, *found))
    part = PartOfIndex(index, ())
    part.store(read)
    if part.refused:
        raise OSError(part.refused)
    return part.written


def _read_alone(source: Source, file: FoundFile, packer: Packer) -> small_files.Packed | None:
    try:
        return EventFile(file.path, Opener(source, file.path), 0).read_packed(file.size, packer)
    except OSError:
        return None


def _shares(files: Sequence[FoundFile]) -> Iterator[list[FoundFile]]:
    share: list[FoundFile] = []
    size = 0
    for file in files:
        share.append(file)
        size += file.size
        if size >= _SHARE_BYTES:
            yield share
            share, size = [], 0
    if share:
        yield share
