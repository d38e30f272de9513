"""Headers that name downloads."""

import pytest

from stepscope.dashboard.server.headers import attachment


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("runs/a x/../y", 'attachment; filename="runs_a_x_.._y.csv"'),
        ("_lead_, double/", 'attachment; filename="_lead__double_.csv"'),
        ("", 'attachment; filename="scalars.csv"'),
        ("?*/", 'attachment; filename="scalars.csv"'),
        ('a"; b\r\nc', 'attachment; filename="a_b_c.csv"'),
        (
            "損失/ä",
            "attachment; filename=\"____.csv\"; filename*=UTF-8''%E6%90%8D%E5%A4%B1_%C3%A4.csv",
        ),
        (
            "हिंदी",
            "attachment; filename=\"_____.csv\"; filename*=UTF-8''%E0%A4%B9%E0%A4%BF%E0%A4%82%E0%A4%A6%E0%A5%80.csv",
        ),
        ("a" * 500, f'attachment; filename="{"a" * 80}.csv"'),
    ],
)
def test_downloads_are_named_after_tags_of_any_language(tag: str, expected: str) -> None:
    assert attachment(tag, "csv") == {"Content-Disposition": expected}
