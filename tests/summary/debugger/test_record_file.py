"""A growing file of records reads the same, however it grows and in whatever pieces it is read."""

import io
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable, check_cancelled
from stepscope.summary.contents import FileHealth
from stepscope.summary.debugger import record_file
from stepscope.summary.debugger.record_file import RecordFile, ReplacedError, one_by_one, read_records
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.records import frame


class GrowingFile:
    """A file in memory, with what was read from it."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.file = RecordFile("a", self.open_at)
        self.taken: list[tuple[int, bytes]] = []

    def open_at(self, _: str, offset: int) -> BinaryIO:
        stream = io.BytesIO(self.content)
        stream.seek(offset)
        return stream

    def read(self, size: int | None = None) -> FileHealth:
        def take(offset: int, data: bytes) -> str | None:
            if data.startswith(b"?"):
                return "it asks"
            self.taken.append((offset, data))
            return None

        self.file.read_new(len(self.content) if size is None else size, one_by_one(take))
        return self.file.health("run")


def records(*data: bytes) -> bytes:
    return b"".join(map(frame, data))


def test_records_are_handed_out_with_their_places() -> None:
    file = GrowingFile(records(b"one", b"", b"?three"))
    health = file.read()
    assert file.taken == [(12, b"one"), (31, b"")]
    assert (health.records, health.bytes_read, health.waiting, health.damage_count) == (2, 57, False, 1)
    assert (health.damages[0].offset, health.damages[0].length, health.damages[0].reason) == (35, 22, "it asks")
    assert read_records(file.open_at, "a", [12, 31], [3, 0]) == [b"one", b""]
    file.content = file.content.replace(b"one", b"ONE")
    assert read_records(file.open_at, "a", [12, 31, 90], [3, 0, 5]) == [None, b"", None]


def test_a_file_that_cannot_be_read_any_more_is_said_so() -> None:
    def open_at(name: str, _: int) -> BinaryIO:
        raise FileNotFoundError(2, "No such file or directory", name)

    with pytest.raises(PayloadError, match="a cannot be read: No such file or directory"):
        read_records(open_at, "a", [0], [1])
    file = RecordFile("a", open_at)
    file.read_new(10, one_by_one(lambda *_: None))
    assert file.health("run").error == "No such file or directory"


@pytest.mark.parametrize("content", [records(b"one"), records(b"one", b"six", b"three"), records(b"ten", b"two", b"x")])
def test_another_file_in_its_place_is_noticed(content: bytes) -> None:
    file = GrowingFile(records(b"one", b"two"))
    file.read()
    file.content = content
    with pytest.raises(ReplacedError):
        file.read()


def test_reading_that_was_cancelled_goes_on_with_the_records_that_were_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_file, "_WINDOW_BYTES", 50)
    file = GrowingFile(records(b"one", b"two", b"three", b"four", b"five", b"six"))
    cancellation = Cancellation()

    def take(offset: int, data: bytes) -> str | None:
        file.taken.append((offset, data))
        cancellation.cancel()
        check_cancelled()
        return None

    with cancellable(cancellation), pytest.raises(Cancelled):
        file.file.read_new(len(file.content), one_by_one(take))
    assert [data for _, data in file.taken] == [b"one", b"two"]
    file.read()
    assert [data for _, data in file.taken] == [b"one", b"two", b"three", b"four", b"five", b"six"]


pieces = st.lists(
    st.binary(max_size=90).map(frame) | st.binary(max_size=40) | st.just(frame(b"?")) | st.just(frame(bytes(700))),
    max_size=8,
).map(b"".join)


@settings(max_examples=400)
@given(pieces, st.lists(st.integers(0, 2_000), max_size=6), st.integers(24, 300))
def test_any_growth_and_any_window_read_the_same(content: bytes, sizes: list[int], window: int) -> None:
    whole = GrowingFile(content)
    expected = whole.read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_file, "_WINDOW_BYTES", window)
        growing = GrowingFile(content)
        for size in sorted(sizes):
            growing.read(min(size, len(content)))
        found = growing.read()
    assert growing.taken == whole.taken
    assert found == expected
