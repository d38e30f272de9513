import io
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.summary.vector_table_rules import VectorTableError
from stepscope.summary.vector_tables import VectorTable, read_vector_table


def read(name: str, content: bytes) -> VectorTable:
    return read_vector_table(io.BytesIO(content), name)


def seen(name: str, content: bytes) -> tuple[Any, ...]:
    """Points, their rows, the row count, columns and remarks."""
    table = read(name, content)
    columns = {c.name: c.texts if c.numbers is None else c.numbers.tolist() for c in table.columns}
    return table.points.tolist(), table.rows.tolist(), table.row_count, columns, [r.message for r in table.remarks]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.tsv", "1\t2\n\n3\t4.5 \n", ([[1, 2], [3, 4.5]], [0, 1], 2, {})),
        ("a.tsv", "1\n2\n3", ([[1], [2], [3]], [0, 1, 2], 3, {})),
        ("a.tsv", "a\tb\r\n1\t2\r\n3\t4\r\n", ([[1, 2], [3, 4]], [0, 1], 2, {})),
        ("a.csv", 'name,x0,x1,label\n"a, b",1,2,12345678901\nc,3,4,2\n', (
            [[1, 2], [3, 4]], [0, 1], 2, {"name": ["a, b", "c"], "label": [12345678901, 2]})),
        ("a.csv", ",0,1\n7,1.5,2\n8,2.5,3\n", ([[1.5, 2], [2.5, 3]], [0, 1], 2, {"index": [7, 8]})),
        ("a.csv", "w;h;kind\n1.5;2;a\n2;3;b\n", ([[1.5, 2], [2, 3]], [0, 1], 2, {"kind": ["a", "b"]})),
        ("a.csv", "1,2\n3,4\n", ([[1, 2], [3, 4]], [0, 1], 2, {})),
        ("glove.txt", "the 0.5 1\nof 2 3\n", ([[0.5, 1], [2, 3]], [0, 1], 2, {"column 1": ["the", "of"]})),
        ("glove.txt", ", 0.5 1\nthe 2 3\n; 4 5\n", (
            [[0.5, 1], [2, 3], [4, 5]], [0, 1, 2], 3, {"column 1": [",", "the", ";"]})),
        ("w.vec", "2 2\nthe 0.5 1 \nand  2 3\n", ([[0.5, 1], [2, 3]], [0, 1], 2, {"column 1": ["the", "and"]})),
        ("a.jsonl", '{"id": 1, "vector": [1, 2], "t": "x"}\n{"vector": [3, 4], "id": null}\n', (
            [[1, 2], [3, 4]], [0, 1], 2, {"id": [1, np.nan], "t": ["x", ""]})),
        ("a.jsonl", "[1, 2]\n[3, 4]\n", ([[1, 2], [3, 4]], [0, 1], 2, {})),
        ("a.jsonl", '{"x": 1, "y2": 2}\n{"x": 3, "y2": 4}\n', ([[1, 2], [3, 4]], [0, 1], 2, {})),
    ],
)  # fmt: skip
def test_tables_of_text(name: str, text: str, expected: tuple[Any, ...]) -> None:
    np.testing.assert_equal(seen(name, text.encode()), (*expected, []))


def test_odd_rows_are_left_out_and_counted() -> None:
    text = "1\t2\n3\n4\t5\nword\t6\nnan\t7\n8\t9\t10\n" + "0\t0\n" * 12
    points, rows, count, columns, remarks = seen("a.tsv", text.encode())
    np.testing.assert_equal(points, [[1, 2], [4, 5], [np.nan, 7]] + [[0, 0]] * 12)
    assert (rows, count, columns) == ([0, 2, 4, *range(6, 18)], 18, {})
    assert remarks == [
        "2 rows have a different number of values than the 2 of most rows and are left out (the first is row 2).",
        "1 row has a value that is not a number and is left out (the first is 'word').",
    ]


def test_odd_lines_of_json_are_left_out_and_counted() -> None:
    text = b'{"vector": [1, 2]}\nno json\n{"vector": [3]}\n{"vector": [5, 6]}\n'
    assert seen("a.jsonl", text) == (
        [[1, 2], [5, 6]],
        [0, 3],
        4,
        {},
        [
            "1 row is not JSON and is left out.",
            "1 row has a different number of values than the 2 of most rows and is left out (the first is row 2).",
        ],
    )


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("dtype", [pl.List(pl.Float64), pl.List(pl.Int32)])
def test_parquet_and_arrow_with_lists(form: str, dtype: pl.DataType) -> None:
    frame = pl.DataFrame({"emb": [[1, 2], [3], None, [5, 6]], "k": [1, 2, 3, None], "w": ["a", None, "c", "d"]})
    frame = frame.with_columns(pl.col("emb").cast(dtype))
    stream = io.BytesIO()
    getattr(frame, {"parquet": "write_parquet", "arrow": "write_ipc", "stream": "write_ipc_stream"}[form])(stream)
    found = seen("a.parquet" if form == "parquet" else "a.arrow", stream.getvalue())
    said = "2 rows have a different number of values than the 2 of most rows and are left out (the first is row 2)."
    np.testing.assert_equal(found, ([[1, 2], [5, 6]], [0, 3], 4, {"k": [1, np.nan], "w": ["a", "d"]}, [said]))


def test_parquet_with_columns_and_arrays() -> None:
    stream = io.BytesIO()
    pl.DataFrame({"x0": [1.0, 2.0], "x1": [3, 4], "word": ["a", "b"], "id": [7, 8]}).write_parquet(stream)
    assert seen("a.parquet", stream.getvalue()) == ([[1, 3], [2, 4]], [0, 1], 2, {"word": ["a", "b"], "id": [7, 8]}, [])
    stream = io.BytesIO()
    pl.DataFrame({"e": np.arange(6.0).reshape(3, 2)}).write_parquet(stream)
    assert seen("a.parquet", stream.getvalue()) == ([[0, 1], [2, 3], [4, 5]], [0, 1, 2], 3, {}, [])
    stream = io.BytesIO()
    pl.DataFrame({"x0": [1.0, 2.0], "id": [1234567890123456789, None]}).write_parquet(stream)
    ids = ["1234567890123456789", ""]
    assert seen("a.parquet", stream.getvalue()) == ([[1], [2]], [0, 1], 2, {"id": ids}, [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,k,x0,x1\n1234567890123456789, 7,1,2\n,2.5,3,4\n"),
        ("a.tsv", "id\tk\tx0\tx1\n1234567890123456789\t7\t1\t2\nn/a\t2.5\t3\t4\n"),
        ("a.jsonl", '{"id": 1234567890123456789, "k": 7, "vector": [1, 2]}\n{"k": 2.5, "vector": [3, 4]}\n'),
    ],
)
def test_ids_that_are_too_long_for_float64_are_texts(name: str, text: str) -> None:
    columns = {"id": ["1234567890123456789", ""], "k": [7, 2.5]}
    assert seen(name, text.encode()) == ([[1, 2], [3, 4]], [0, 1], 2, columns, [])


def test_infinite_numbers_among_whole_numbers() -> None:
    columns = {"k": [1, math.inf, -math.inf]}
    text = b"k,x0,x1\n1,1,2\ninf,3,4\n-inf,5,6\n"
    assert seen("a.csv", text) == ([[1, 2], [3, 4], [5, 6]], [0, 1, 2], 3, columns, [])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.tsv", b"", "a.tsv is empty"),
        ("a.tsv", b"\n \n", "a.tsv is empty"),
        ("a.tsv", b"a\tb\n", "a.tsv has no vectors"),
        ("a.tsv", "1\t2\n".encode("utf-16"), "a.tsv is not text in UTF-8"),
        ("a.jsonl", b"{}", "a.jsonl has no vectors"),
        ("a.jsonl", b"3\n", "has no line with a JSON object or list"),
        ("a.parquet", b"PAR1", "a.parquet cannot be read"),
        ("a.arrow", b"ARROW1", "a.arrow cannot be read"),
    ],
)
def test_what_holds_no_vectors_is_said(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(VectorTableError, match=reason):
        read(name, content)


CELLS = st.sampled_from(["1", "-2.5", "nan", "", "x", " 3 ", '"', '"a\tb"', "1e400", "inf", "é", ",", "0"])
LINES = st.lists(CELLS, max_size=4)


@settings(max_examples=300)
@given(
    st.lists(LINES, max_size=8),
    st.sampled_from(["\t", ",", ";", " "]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from(["a.tsv", "a.csv", "a.txt"]),
)
def test_any_table_gives_points_or_the_error(lines: list[list[str]], delimiter: str, end: str, name: str) -> None:
    check(name, end.join(delimiter.join(line) for line in lines).encode())


@settings(max_examples=300)
@given(
    st.binary(max_size=200) | st.text(max_size=100).map(str.encode),
    st.sampled_from(["a.tsv", "a.csv", "a.txt", "a.jsonl", "a.parquet", "a.arrow"]),
    st.sampled_from([b"", b"PAR1", b"ARROW1\0\0", b'{"vector":[1,2]}\n', b"1\t2\n"]),
)
def test_any_bytes_give_points_or_the_error(content: bytes, name: str, head: bytes) -> None:
    check(name, head + content)


@settings(max_examples=200)
@given(data=st.data())
def test_changed_parquet_gives_points_or_the_error(data: st.DataObject) -> None:
    stream = io.BytesIO()
    frame = pl.DataFrame({"emb": [[1.0, 2.0], [3.0]], "w": ["a", "b"]})
    name = data.draw(st.sampled_from(["a.parquet", "a.arrow"]))
    (frame.write_parquet if name == "a.parquet" else frame.write_ipc)(stream)
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    check(name, bytes(content))


def check(name: str, content: bytes) -> None:
    try:
        table = read(name, content)
    except VectorTableError:
        return
    assert table.points.dtype == np.float32
    assert table.points.flags.c_contiguous
    assert len(table.rows) == len(table.points) <= table.row_count
    assert sorted(set(table.rows.tolist())) == table.rows.tolist()
    assert not len(table.rows) or table.rows[-1] < table.row_count
    for column in table.columns:
        held = column.texts if column.texts is not None else column.numbers
        assert held is not None
        assert len(held) == len(table.points)
