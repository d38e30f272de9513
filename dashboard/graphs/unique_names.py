"""Unique names where a graph has one several times."""

from collections.abc import Container


def unique_name(name: str, taken: Container[str], numbers: dict[str, int]) -> str:
    """Return the name, or the name and a number, such as "a (2)", if it is taken.

    Args:
        name: the wanted name.
        taken: the names that exist; the caller adds what is returned.
        numbers: the last number given to each name, for this function alone: without it, each of many equal names would
            try all numbers of those before.
    """
    if name not in taken:
        return name
    number = numbers.get(name, 1) + 1
    while (unique := f"{name} ({number})") in taken:
        number += 1
    numbers[name] = number
    return unique
