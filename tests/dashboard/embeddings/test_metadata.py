import io
from typing import Any

import numpy as np
import orjson
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.dashboard.embeddings.bookmarks import read_bookmarks
from stepscope.dashboard.embeddings.metadata import read_metadata_file


def seen(text: str | bytes, row_count: int, name: str = "m.tsv", rows: list[int] | None = None) -> tuple[Any, Any]:
    content = text.encode() if isinstance(text, str) else text
    shown = np.array(range(row_count) if rows is None else rows, np.int64)
    columns, problems = read_metadata_file(content, name, row_count, shown)
    values = {c.name: list(c.texts or ()) if c.numbers is None else c.numbers.tolist() for c in columns}
    return values, [p.message for p in problems]


def test_one_column_has_no_header_and_several_have_one() -> None:
    assert seen("a\nb\n\n", 3) == ({"label": ["a", "b", ""]}, [])
    assert seen("name\tage\na\t1\nb\t2", 2) == ({"name": ["a", "b"], "age": [1, 2]}, [])
    assert seen("name\tname\na\tb\n", 1) == ({"name": ["a"], "name'": ["b"]}, [])


def test_the_number_of_lines_goes_before_the_rule() -> None:
    assert seen("name\na\nb\n", 2) == (
        {"name": ["a", "b"]},
        ["The metadata has one line more than there are points, so the first, 'name', is taken as the column name."],
    )
    assert seen("a\tx\nb\ty\n", 2) == (
        {"column 1": ["a", "b"], "column 2": ["x", "y"]},
        ["The metadata has several columns but no header line: it has exactly one line per point."],
    )


@pytest.mark.parametrize(
    ("text", "labels", "said"),
    [
        (
            "a\nb\n",
            ["a", "b", "", ""],
            "There is metadata for 2 points, but the embedding has 4 points: the last 2 points have none.",
        ),
        (
            "a\nb\nc\nd\ne\nf\n",
            ["a", "b", "c", "d"],
            "There is metadata for 6 points, but the embedding has 4 points: the last 2 lines are left out.",
        ),
    ],
)  # fmt: skip
def test_another_length_than_the_points_is_said_and_worked_around(text: str, labels: list[str], said: str) -> None:
    assert seen(text, 4) == ({"label": labels}, [said])


def test_only_the_shown_rows_are_taken() -> None:
    assert seen("a\nb\nc\nd\n", 4, rows=[1, 3]) == ({"label": ["b", "d"]}, [])


def test_lines_with_other_columns_are_said() -> None:
    assert seen("x\ty\na\t1\nb\nc\t3\t4\n", 3)[1] == [
        "2 metadata lines do not have 2 columns: missing cells are left empty, extra ones are ignored."
    ]
    assert seen("", 2) == ({}, ["The metadata file m.tsv is empty."])


def test_csv_json_and_parquet() -> None:
    assert seen('name,age\n"a, b",1\nc,2\n', 2, "m.csv") == ({"name": ["a, b", "c"], "age": [1, 2]}, [])
    assert seen("name\na\nb\n", 2, "m.csv")[0] == {"name": ["a", "b"]}
    assert seen('{"n": "a", "k": 1}\n{"n": "b"}\n', 2, "m.jsonl")[0]["n"] == ["a", "b"]
    stream = io.BytesIO()
    pl.DataFrame({"n": ["a", "b"], "k": [1, 2]}).write_parquet(stream)
    assert seen(stream.getvalue(), 3, "m.parquet")[1] == [
        "There is metadata for 2 points, but the embedding has 3 points: the last 1 point has none."
    ]
    assert seen(b"junk", 3, "m.parquet")[0] == {}


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a\n\nc\n\n", {"label": ["a", "", "c"]}),
        ("\nb\nc\n", {"label": ["", "b", "c"]}),
        ("name\na\n\nc\n", {"name": ["a", "", "c"]}),
        ("name,of\na,x\n\nb,y\nc,z\n\n", {"name": ["a", "b", "c"], "of": ["x", "y", "z"]}),
    ],
)
def test_blank_lines_of_csv_are_empty_labels_in_a_single_column(content: str, columns: dict[str, list[str]]) -> None:
    assert seen(content, 3, "m.csv")[0] == columns


@pytest.mark.parametrize(
    ("content", "row_count", "columns"),
    [
        ("cat\r\r\ndog\r\r\nbird\r\r\n", 3, {"label": ["cat", "dog", "bird"]}),
        ("name\r\r\ncat\r\r\ndog\r\r\nbird\r\r\n", 3, {"name": ["cat", "dog", "bird"]}),
        ("a\n\nb\n", 2, {"label": ["a", "b"]}),
        ("a\n\n\nb\nc\n", 3, {"label": ["a", "b", "c"]}),
        ("cat\r\r\ndog\r\r\nbird\r\r\n", 4, {"label": ["cat", "dog", "bird", ""]}),
        ("\ncat;tame\ndog;wild\n", 1, {"cat": ["dog"], "tame": ["wild"]}),
    ],
)
def test_blank_lines_of_csv_are_no_labels_if_the_points_have_the_other_lines(
    content: str, row_count: int, columns: dict[str, list[str]]
) -> None:
    assert seen(content, row_count, "m.csv")[0] == columns


def test_a_comma_in_a_label_makes_no_columns_of_csv() -> None:
    assert seen("a\n\nHello, world\nd\n", 4, "m.csv") == (
        {"label": ["a", "", "Hello", "d"]},
        ["1 metadata line does not have 1 column: missing cells are left empty, extra ones are ignored."],
    )


@settings(max_examples=300)
@given(
    st.binary(max_size=80) | st.text(max_size=80).map(str.encode) | st.text("a1\t\n,\"'", max_size=60).map(str.encode),
    st.sampled_from(["m.tsv", "m.csv", "m.jsonl", "m.parquet", "m"]),
    st.integers(0, 5),
)
def test_any_metadata_gives_one_value_per_point(content: bytes, name: str, count: int) -> None:
    rows = np.arange(count, dtype=np.int64)
    columns, _ = read_metadata_file(content, name, count, rows)
    assert len({column.name for column in columns}) == len(columns)
    for column in columns:
        held = column.texts if column.kind == "text" else column.numbers
        assert held is not None
        assert len(held) == count


def test_bookmarks_as_tensorboard_writes_them() -> None:
    views = [{"label": "one", "selectedProjection": "pca", "projections": [[0.5, 1, 2]], "cameraDef": {"zoom": 1}}]
    assert read_bookmarks(orjson.dumps(views)) == (tuple(views), [])
    assert [p.message for p in read_bookmarks(b'[{"label": "a"}, 3]')[1]] == [
        "1 bookmark is not a valid view and was left out."
    ]
    assert read_bookmarks(b"3")[0] == ()
    assert read_bookmarks(b"[" * 5000)[1][0].kind == "bookmarks"
    many, problems = read_bookmarks(b"[" + b"{}," * 300 + b"{}]")
    assert (len(many), problems[0].count) == (200, 101)
