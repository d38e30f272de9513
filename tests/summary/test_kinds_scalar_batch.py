import struct
from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.summary.kinds.scalar_batch import POINT, encode_scalar, encode_scalars, scalar_template
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES, frame

TEMPLATES = [
    scalar_template("loss", "simple_value"),
    scalar_template("ä/" + "long " * 40, "simple_value"),
    scalar_template("loss", "float32"),
    scalar_template("loss", "float64"),
    scalar_template("too long for a batch " * 30, "simple_value"),
]

STEPS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300)
POINTS = st.tuples(st.integers(0, len(TEMPLATES) - 1), st.floats(1, 1e10), STEPS, st.floats())


def _messages(records: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(records):
        (length,) = struct.unpack_from("<Q", records, start)
        message = records[start + HEADER_BYTES : start + HEADER_BYTES + length]
        end = start + HEADER_BYTES + length + FOOTER_BYTES
        assert records[start:end] == frame(message)
        yield message
        start = end


def _canonical(message: bytes) -> str:
    """Text, because NaN may have any payload bits, and the batch's fields come in an order of their own."""
    return str(Event.FromString(message))


@settings(max_examples=60)
@given(st.lists(POINTS, min_size=1, max_size=5), st.sampled_from([1, 30]))
def test_a_batch_holds_the_messages_that_protobuf_would_write(
    points: list[tuple[int, float, int, float]], repeats: int
) -> None:
    array = np.array(points * repeats, dtype=POINT)
    expected = [encode_scalar(TEMPLATES[p["template"]], p) for p in array]
    assert [*map(_canonical, _messages(encode_scalars(TEMPLATES, array)))] == [*map(_canonical, expected)]
