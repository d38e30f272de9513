"""Regular expressions in requests, case-sensitive as in TensorBoard."""

from stepscope.summary.safe_regex import LONGEST_PATTERN, Pattern, PatternError


def exact_case(text: str, *, from_beginning: bool = False) -> Pattern:
    """Return a case-sensitive pattern.

    Args:
        text: a regular expression.
        from_beginning: whether it must match at the beginning of a text, not anywhere in it.

    Raises:
        PatternError: ``text`` is not a regular expression, or is too long.
    """
    # Alone first: "a)|(b" would become valid within a group.
    Pattern(text)
    before, after = (r"\A(?-i:", ")") if from_beginning else ("(?-i:", ")")
    if len(before) + len(text) + len(after) > LONGEST_PATTERN:
        raise PatternError(f"longer than {LONGEST_PATTERN - len(before) - len(after)} characters")
    return Pattern(f"{before}{text}{after}")
