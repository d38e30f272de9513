import pytest

from summary.patterns import Pattern, PatternError


@pytest.mark.parametrize(
    ("text", "literal", "matches"),
    [
        ("LOSS", False, [True, True, False]),
        ("^loss", False, [True, False, False]),
        ("a|b", False, [False, True, True]),
        ("a.c", True, [False, False, False]),
        ("", False, [True, True, True]),
    ],
)
def test_a_pattern_is_found_anywhere_whatever_its_case(text: str, literal: bool, matches: list[bool]) -> None:
    assert Pattern(text, literal=literal).matches(["loss/x", "validation/Loss", "abc"]) == matches


@pytest.mark.parametrize(
    ("text", "message"),
    [("(", "missing \\)"), ("*", "nothing to repeat"), ("a" * 301, "longer than 300 characters")],
)
def test_what_is_no_expression_says_why(text: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        Pattern(text)


def test_an_expression_of_exponential_time_is_given_up() -> None:
    # Such a search once kept the whole server from answering, as Python's own engine neither ends nor lets others run.
    with pytest.raises(PatternError, match="takes too long"):
        Pattern(r"(\w+\s?)+$").matches(["a " * 2000 + "!"] * 100, seconds=0.01)
