"""Numbers from arguments: the compiled scan compared with decoding them one by one."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.profiler.analysis.arguments import first_known, identifier_columns, number_columns
from stepscope.profiler.trace import Arguments
from stepscope.profiler.traces import read_trace

KEYS = ("stream", "bytes", "a key")
VALUES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["7", "-7", "007", '"stream": 3']),
    st.booleans(),
    st.none(),
    st.lists(st.integers(), max_size=2),
    st.fixed_dictionaries({"stream": st.integers()}),
)
TEXTS = st.dictionaries(st.sampled_from([*KEYS, "Stream", "x", "é", 'q"uote', "strea\\m"]), VALUES, max_size=5)


class Decoded:
    """The same arguments, without their text."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        return self._arguments[slice_index]


@given(st.lists(TEXTS, max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_a_scan_gives_what_decoding_gives(texts: list[dict[str, Any]], indent: int | None, ascii_only: bool) -> None:
    events = [{"ph": "X", "ts": 2 * at, "dur": 1, "name": "a", "args": text} for at, text in enumerate(texts)]
    text = json.dumps(events, indent=indent, ensure_ascii=ascii_only)
    arguments = read_trace(text.encode(), name="x").arguments
    slices = np.arange(len(texts))
    scanned, decoded = (number_columns(each, slices, KEYS) for each in (arguments, Decoded(arguments)))
    np.testing.assert_array_equal(scanned, decoded)
    scanned_ids, decoded_ids = (identifier_columns(each, slices, KEYS) for each in (arguments, Decoded(arguments)))
    np.testing.assert_array_equal(scanned_ids, decoded_ids)


def test_a_key_written_with_escapes_is_found() -> None:
    text = b'[{"ph":"X","ts":0,"dur":1,"name":"a","args":{"str\\u0065am": 7}}]'
    assert identifier_columns(read_trace(text, name="x").arguments, np.arange(1), ("stream",)).tolist() == [[7]]


def test_the_first_of_several_keys_counts() -> None:
    assert first_known(np.array([[1, -1, -1], [2, 3, -1]])).tolist() == [1, 3, -1]
