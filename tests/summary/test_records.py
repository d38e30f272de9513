import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c as tensorboard_masked_crc

from stepscope.summary import scan_kernel
from stepscope.summary.records import frame, header, masked_crc


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (b"", "000000000000000029039807d8ea82a2"),
        (b"123456789", "090000000000000037f97139313233343536373839e5b08ac7"),
    ],
)
def test_a_record_is_its_length_and_data_each_with_a_masked_crc(data: bytes, record: str) -> None:
    assert frame(data) == bytes.fromhex(record)


def test_the_first_header_of_most_event_files() -> None:
    assert header(24) == bytes.fromhex("1800000000000000a37f4b22")


@given(st.binary(max_size=300))
def test_crcs_are_those_of_tensorboard(data: bytes) -> None:
    length = struct.pack("<Q", len(data))
    assert masked_crc(data) == tensorboard_masked_crc(data)
    assert header(len(data)) == length + struct.pack("<I", tensorboard_masked_crc(length))


def test_compiled_loops_have_the_same_crcs_at_every_length_and_place() -> None:
    data = np.arange(7, 247, 5).astype(np.uint8)
    for begin, length in ((begin, length) for begin in range(3) for length in range(len(data) - 2)):
        expected = masked_crc(data[begin : begin + length].tobytes())
        assert scan_kernel._masked_crc(data, begin, begin + length) == expected
