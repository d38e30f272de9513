"""Parquet and Arrow files are read by another process."""

import io
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.foreign_tables import ForeignTableError, read_foreign_table

FRAME = pl.DataFrame({"name": ["a", "b"], "vector": [[1.0, 2.0], [3.0, 4.0]]})


def parquet(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_parquet(stream, compression="uncompressed", statistics=False)
    return stream.getvalue()


def test_a_page_of_fewer_than_no_values_is_an_error() -> None:
    # Polars takes -64 for an unsigned number, and ends its process when it cannot get 2 EiB.
    content = parquet(pl.DataFrame({"name": ["a", "b"]}))
    values_of_the_data_page = b",\x15\x04\x15\x10"
    assert content.count(values_of_the_data_page) == 1
    with pytest.raises(ForeignTableError, match="damaged"):
        read_foreign_table(content.replace(values_of_the_data_page, b",\x15\x7f\x15\x10"), 1_000)
    assert_frame_equal(read_foreign_table(parquet(FRAME), 1_000), FRAME)


def test_a_file_that_declares_more_than_can_be_counted_is_an_error() -> None:
    with pytest.raises(ForeignTableError, match="damaged"):
        read_foreign_table(parquet(FRAME), 1 << 64)


def test_what_the_library_says_is_the_error() -> None:
    with pytest.raises(ForeignTableError, match=r"out-of-spec|parquet"):
        read_foreign_table(b"PAR1 and nothing else PAR1", 1_000)


def test_files_are_read_at_once() -> None:
    frames = [pl.DataFrame({"number": range(100 * count)}) for count in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(lambda frame: read_foreign_table(parquet(frame), 10_000), frames))
    for expected, found in zip(frames, read, strict=True):
        assert_frame_equal(found, expected)


def test_nobody_waits_for_what_is_not_wanted() -> None:
    cancellation = Cancellation(60)
    cancellation.cancel()
    with cancellable(cancellation), pytest.raises(Cancelled):
        read_foreign_table(parquet(FRAME), 1_000)
