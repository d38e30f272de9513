"""Tables for terminals: what gives way when there is no room."""

import pytest

from stepscope.dashboard.cli.text_tables import Part, TextColumn, table_parts

NAME = "void at::native::vectorized_elementwise_kernel"
COLUMNS = [
    TextColumn("Name", [NAME, "gemm"], number=False),
    TextColumn("Calls", ["1,234,567", "8"], number=True),
    TextColumn("Host self", ["17.3 ms", "12 us"], number=True),
    TextColumn("State", ["longer", "same"], number=False),
]


def test_a_table_with_room() -> None:
    assert table_parts(COLUMNS, 100) == [
        Part(
            [
                "                                                              Host",
                "Name                                                Calls     self  State",
            ],
            [
                "void at::native::vectorized_elementwise_kernel  1,234,567  17.3 ms  longer",
                "gemm                                                    8    12 us  same",
            ],
        )
    ]


def test_long_texts_give_way_and_numbers_do_not() -> None:
    (part,) = table_parts(COLUMNS, 50)
    assert part.rows == [
        "void at::native::vect…  1,234,567  17.3 ms  longer",
        "gemm                            8    12 us  same",
    ]


@pytest.mark.parametrize("width", [1, 30, 41])
def test_columns_go_into_further_parts_where_a_line_cannot_hold_them(width: int) -> None:
    parts = table_parts(COLUMNS, width)
    assert len(parts) > 1
    text = "\n".join(row for part in parts for row in part.rows)
    assert all(cell in text for column in COLUMNS[1:] for cell in column.cells)
    assert all(row.startswith(("void at::native", "gemm")) for part in parts for row in part.rows)


def test_wide_letters_take_two_places() -> None:
    (part,) = table_parts([TextColumn("Name", ["漢字" * 20], number=False), TextColumn("n", ["1"], number=True)], 30)
    assert part.rows == ["漢字漢字漢字漢字漢字漢字漢…  1"]


def test_a_table_of_one_empty_column() -> None:
    assert table_parts([TextColumn("", [""], number=False)], 10) == [Part([""], [""])]
