import pytest

from stepscope.summary.safe_regex import Pattern, PatternError


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


def test_letters_that_are_alike_in_other_alphabets_are_found() -> None:
    # The Kelvin sign is a capital k.
    assert Pattern("k").matches(["K", "\N{KELVIN SIGN}", "\N{LATIN SMALL LETTER LONG S}"]) == [True, True, False]


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


def test_texts_together_have_one_time_limit() -> None:
    # Each text was once searched for another millisecond, however many there were.
    for search in (Pattern("a+").matches, Pattern("a+").captured):
        with pytest.raises(PatternError, match="takes too long"):
            search(["a"], seconds=0)


def test_what_groups_capture_is_returned_for_each_text() -> None:
    texts = ["lr_1/x", "x", "LR_/y"]
    assert Pattern(r"lr_(\d)?/(.)").captured(texts) == [("1", "x"), None, ("", "y")]
    assert Pattern("x").captured(texts) == [("x",), ("x",), None]


@pytest.mark.parametrize(
    "text",
    [
        "(?R)?a",
        "(?0)?a",
        "(a(?1)?b)",
        "(?P<x>a(?&x)?)",
        "(?P<x>a(?P>x)?)",
        "(?P<x>a(?P&x)?)",
        "(?x)(?P<x>a(?P & x)?)",
        "(b)(?+1)?(a)",
        "(?x)(b(?-#\n1)?)",
    ],
)
def test_recursion_is_refused(text: str) -> None:
    # A search with recursion once took 0.8 GB before it ended with a MemoryError.
    with pytest.raises(PatternError, match="it is recursive"):
        Pattern(text)
    assert Pattern(text, literal=True).matches([f"x{text}", "a"]) == [True, False]


@pytest.mark.parametrize("text", ["a{10000000}", "(?:(?:a{1000}){1000}){1000}", "(?x)[)]#(\n(?:[)]b{1000,}){ 1000}"])
def test_repetitions_of_repetitions_are_refused(text: str) -> None:
    # The library expands them: merely compiling one of these took 11 GB.
    with pytest.raises(PatternError, match="it repeats too much"):
        Pattern(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"f\(?R2", "f(R2"),
        (r"(\d?R2)", "5R2"),
        (r"(?P<word>a)(?-i:B)(?P=word)", "aBa"),
        (r"\{1000000\}", "{1000000}"),
        (r"(a)(?(1)b|c)", "ab"),
        (r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", "a5d6f0e1-0123-4567-89ab-0123456789ab"),
    ],
)
def test_what_only_looks_dear_is_searched_for(text: str, found: str) -> None:
    assert Pattern(text).matches([found, "other"]) == [True, False]


def test_a_search_that_takes_too_much_memory_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Greedy:
        def search(self, *arguments: object, **options: object) -> None:
            raise MemoryError

    pattern = Pattern("a+")
    monkeypatch.setattr(pattern, "_compiled", Greedy())
    with pytest.raises(PatternError, match="takes too long"):
        pattern.matches(["a"])
    with pytest.raises(PatternError, match="takes too long"):
        pattern.captured(["a"])
