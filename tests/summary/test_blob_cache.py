"""Payloads that were read recently."""

from pathlib import Path, PurePosixPath
from typing import BinaryIO

import pytest

from stepscope.summary import SummaryWriter
from stepscope.summary.blob_cache import BlobCache, BlobKey
from stepscope.summary.local_source import LocalSource
from stepscope.summary.logdir import Logdir


def test_what_was_looked_at_longest_ago_is_forgotten_first() -> None:
    cache = BlobCache(largest=10)
    first, second, third = (BlobKey(1, offset, 4) for offset in range(3))
    cache.put(first, b"1234")
    cache.put(second, b"5678")
    assert cache.get(first) == b"1234"
    cache.put(third, b"90")
    cache.put(third, b"901")
    assert [cache.get(key) for key in (first, second, third)] == [b"1234", None, b"901"]
    cache.put(second, b"much too large")
    assert [cache.get(key) for key in (first, second, third)] == [b"1234", None, b"901"]


class Counting(LocalSource):
    """Counts how often a file is opened anywhere but at its beginning."""

    opened = 0

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        self.opened += offset > 0
        return super().open(path, offset)


def test_a_payload_is_read_once_and_anew_from_another_file(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("note", "one", 1)
    source = Counting(tmp_path)
    logdir = Logdir(source)
    series = logdir.update().runs["."].series["note/text_summary"]
    before = source.opened
    assert [series.read(0).strings.item() for _ in range(3)] == ["one"] * 3
    assert source.opened == before + 1
    (path,) = tmp_path.iterdir()
    path.unlink()
    with SummaryWriter(tmp_path / "other") as writer:
        writer.add_text("note", "two", 1)
    next((tmp_path / "other").iterdir()).rename(path)
    assert logdir.update().runs["."].series["note/text_summary"].read(0).strings.item() == "two"
    with pytest.raises(IndexError):
        series.read(1)
