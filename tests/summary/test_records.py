import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c as tensorboard_masked_crc

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
