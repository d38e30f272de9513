"""From file contents to datasets: what is left out, and what is reported."""

import numpy as np
import pytest

from stepscope.dashboard.embeddings.assembly import (
    EmbeddingUnavailableError,
    ReadPoints,
    all_rows,
    dataset_of,
    row_hashes,
)
from stepscope.dashboard.embeddings.columns import column_of_numbers, column_of_texts
from stepscope.dashboard.embeddings.dataset import MOST_CATEGORIES, Dataset
from stepscope.dashboard.embeddings.search import search, texts_of
from stepscope.dashboard.embeddings.tables import export_table, table_rows

NAN = float("nan")


def made(read: ReadPoints) -> Dataset:
    return dataset_of(read, source_id="run|config|e", run="run", label="e", step=3)


def floats(rows: object) -> np.ndarray:
    return np.array(rows, np.float32)


def test_rows_that_are_not_finite_are_left_out_with_all_that_is_said_of_them() -> None:
    columns = (column_of_texts("word", ["a", "b", "c", "a"]), column_of_numbers("age", np.array([1.0, 2.0, 3.0, NAN])))
    read = ReadPoints(floats([[1, 2], [NAN, 2], [3, 4], [5, -np.inf]]), np.array([0, 2, 3, 5]), 6, columns)
    dataset = made(read)
    assert dataset.points.tolist() == [[1, 2], [3, 4]]
    assert dataset.points.flags.c_contiguous
    assert dataset.rows.tolist() == [0, 3]
    word, age = dataset.columns
    assert (word.texts, word.categories, word.codes.tolist() if word.codes is not None else None) == (
        ("a", "c"),
        ("a", "b", "c"),
        [0, 2],
    )
    assert age.numbers is not None
    assert age.numbers.tolist() == [1, 3]
    assert [(p.kind, p.count) for p in dataset.problems] == [("not finite", 2), ("few points", 2)]
    assert dataset.problems[0].message == "2 rows have NaN or infinity and are left out (the first is row 3)."


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([[NAN, 1]], "every row has NaN or infinity"),
        (np.zeros((0, 3)), "its shape is 0 x 3"),
        (np.zeros((3, 0)), "its shape is 3 x 0"),
        ([1, 2], "its shape is 2"),
    ],
)
def test_what_has_no_points_is_said(points: object, reason: str) -> None:
    with pytest.raises(EmbeddingUnavailableError, match=reason):
        made(all_rows(floats(points)))


def test_what_projections_will_not_like_is_said() -> None:
    dataset = made(all_rows(floats([[1, 2, 3], [0.0, 2, 4], [1, 2, 3], [-0.0, 2, 4]])))
    assert [(p.kind, p.count, p.message) for p in dataset.problems] == [
        (
            "constant columns",
            1,
            "1 dimension has the same value in every row and does not distinguish points.",
        ),
        ("duplicates", 2, "2 rows are equal to an earlier row, so that their points coincide."),
    ]
    assert [p.message for p in made(all_rows(floats([[1, 2]]))).problems] == ["There is only 1 point."]
    assert made(all_rows(floats([[1], [2], [3]]))).problems == ()


def test_the_digest_is_of_the_points_and_their_shape() -> None:
    one, other = floats([[1, 2], [3, 4]]), floats([[1, 2, 3, 4]])
    assert made(all_rows(one)).digest == made(all_rows(one.copy())).digest
    assert made(all_rows(one)).digest != made(all_rows(other)).digest


def test_rows_have_the_same_hash_only_if_they_are_equal() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(40)] * 3), axis=-1).reshape(-1, 3).astype(np.float32)
    assert len(np.unique(row_hashes(grid))) == len(grid)
    assert len(np.unique(row_hashes(np.concatenate([grid, grid[::-1]])))) == len(grid)


def test_columns_are_numbers_where_every_value_is_one() -> None:
    column = column_of_texts("age", ["3", "", "nan", "1e3", "3"])
    assert column.kind == "number"
    assert column.texts is None
    assert column.numbers is not None
    np.testing.assert_equal(column.numbers, [3, NAN, NAN, 1000, 3])
    assert column.categories == ("3", "nan", "1e3")
    assert column.codes is not None
    assert column.codes.tolist() == [0, -1, 1, 2, 0]
    assert column_of_texts("t", ["3", "x"]).kind == "text"
    assert column_of_texts("t", ["1_000", "2"]).kind == "text"
    assert column_of_texts("t", ["", ""]).kind == "text"


@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        (["1234567890123456789", "-1234567890123456790"], ["1234567890123456789", "-1234567890123456790"]),
        (["00501", "nan"], ["00501", ""]),
        (["1.50", "1e3"], ["1.5", "1000"]),
    ],
)
def test_ids_are_shown_found_and_exported_as_they_are_written(ids: list[str], labels: list[str]) -> None:
    column = column_of_texts("id", ids)
    assert column.kind == "number"
    assert texts_of(column, np.arange(2)) == labels
    many = column_of_texts("id", ids * (MOST_CATEGORIES // 2) + [str(i) for i in range(MOST_CATEGORIES)])
    assert many.codes is None
    assert search([many], labels[0], "text", MOST_CATEGORIES)[:2].tolist() == [0, 2]


def test_exported_ids_are_as_they_are_written_and_other_numbers_are_numbers() -> None:
    columns = [column_of_texts("zip", ["00501", ""]), column_of_texts("size", ["1.50", "7"])]
    rows = np.array([1, 0], np.uint32)
    assert table_rows(columns, rows) == [{"zip": "", "size": 7.0, "#": 1}, {"zip": "00501", "size": 1.5, "#": 0}]
    assert export_table(columns, np.arange(2), rows, None, "csv") == b'row,zip,size\n1,"",7.0\n0,00501,1.5\n'


def test_categories_are_by_frequency_and_not_too_many() -> None:
    assert column_of_texts("t", ["b", "a", "c", "c"]).categories == ("c", "b", "a")
    many = [f"word {i}" for i in range(MOST_CATEGORIES + 1)]
    assert column_of_texts("t", many[:-1]).codes is not None
    assert (column_of_texts("t", many).categories, column_of_texts("t", many).codes) == ((), None)
    assert column_of_numbers("n", np.array([2.0, NAN, 2.0, 0.5])).categories == ("2", "0.5")
    assert column_of_numbers("n", np.arange(MOST_CATEGORIES + 1.0)).codes is None
