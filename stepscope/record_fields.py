"""Check the fields of a record against their annotations, for records that other people's code creates."""

import dataclasses
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, Literal, Union, get_args, get_origin

_SIMPLE: Final = frozenset((str, int, float, bool))
_MOST_TEXT: Final = 80
"""Maximum length of a value in a message."""


def check_fields(record: object, type_: type) -> None:
    """Check that each annotated field of a record, and of the records in it, has the type that it is annotated with.

    Annotations in quotes, and those with type variables, are taken to fit anything.

    Args:
        record: the object that has the fields.
        type_: the class with the annotations: a dataclass, a named tuple, or any other class.

    Raises:
        TypeError: a field is missing or has another type; the message is one sentence.
    """
    for name, annotation in _fields(type_):
        try:
            value = getattr(record, name)
        except AttributeError:
            raise TypeError(f"{name} is missing, expected {_words(annotation)}") from None
        for place, wrong, expected in _misfits(value, annotation, name):
            raise TypeError(f"{place} is {_short(wrong)}, expected {_words(expected)}")


def check_methods(made: object, protocol: type) -> None:
    """Check that an object has the methods of a protocol.

    Raises:
        TypeError: one is missing; the message is one sentence.
    """
    for name in (name for name, each in vars(protocol).items() if inspect.isfunction(each) and name[0] != "_"):
        if not callable(getattr(made, name, None)):
            raise TypeError(f"{type(made).__name__} has no method {name!r}")


def check_distinct(what: str, names: Iterable[str]) -> None:
    """Check that no two parts of a record have the same name.

    Args:
        what: the parts, in the plural, such as "columns".
        names: the name of each.

    Raises:
        ValueError: two have; the message is one sentence.
    """
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two {what} are named {twice!r}")


def check_endings(endings: Iterable[str]) -> None:
    """Check that each ending of file names matches some names, and not all.

    Raises:
        ValueError: one does not; the message is one sentence.
    """
    for ending in endings:
        if not ending or ending != ending.lower():
            raise ValueError(f"the ending of file names {ending!r} is not valid: use lower case, such as '.txt'")


def check_place(path: str) -> None:
    """Check that a text is the place of a class, as `pkgutil.resolve_name` reads it.

    Raises:
        ValueError: it is not; the message is one sentence.
    """
    if not re.fullmatch(r"[\w.]+:[\w.]+", path):
        raise ValueError(f"path is {path!r}, expected 'package.module:Class'")


def _misfits(value: Any, annotation: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield each part of a value that does not fit: where it is, what it is, and the annotation of the part."""
    kind: type = type(value)
    if annotation is Any or (kind is annotation and kind in _SIMPLE):
        return
    origin, arguments = _origin_and_arguments(annotation)
    if origin is ClassVar:
        yield from _misfits(value, arguments[0], place)
    elif origin in (Union, UnionType):
        if kind in _SIMPLE and kind in arguments:
            return
        found = [list(_misfits(value, each, place)) for each in arguments]
        if all(found):
            # What is said of a part of the value tells more than that the whole does not fit.
            inner = next((parts for parts in found if parts[0][0] != place), None)
            yield from inner or [(place, value, annotation)]
    elif origin is Literal:
        if value not in arguments:
            yield place, value, annotation
    elif not _is_instance(value, annotation, origin):
        yield place, value, annotation
    elif isinstance(value, Mapping):
        for key, each in value.items() if len(arguments) == 2 else ():
            yield from _misfits(key, arguments[0], f"a key of {place}")
            yield from _misfits(each, arguments[1], f"{place}[{key!r}]")
    elif isinstance(value, Sequence) and arguments:
        if origin is tuple and arguments[-1] is not Ellipsis:
            if len(value) != len(arguments):
                yield place, value, annotation
            arguments_of = arguments
        else:
            arguments_of = (arguments[0],) * len(value)
        for number, (each, of) in enumerate(zip(value, arguments_of, strict=False)):
            yield from _misfits(each, of, f"{place}[{number}]")
    elif _is_record(kind):
        for name, of in _fields(kind):
            part = getattr(value, name)
            # There may be a million records with six such fields each.
            if not (type(part) is of and of in _SIMPLE):
                yield from _misfits(part, of, f"{place}.{name}")


def _is_instance(value: Any, annotation: Any, origin: Any) -> bool:
    type_ = origin or (NoneType if annotation is None else annotation)
    if type_ is Callable:
        return callable(value)
    if not isinstance(type_, type) or getattr(type_, "_is_protocol", False):
        return True
    if isinstance(value, str) and type_ is not str and issubclass(type_, Sequence):
        # A text is a sequence of its letters, which is never meant.
        return False
    return isinstance(value, (int, float) if type_ is float else type_)


@cache
def _is_record(type_: type) -> bool:
    return dataclasses.is_dataclass(type_) or hasattr(type_, "_fields")


@cache
def _fields(type_: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a class that can be checked, each with its annotation."""
    found = inspect.get_annotations(type_).items()
    return tuple((name, of) for name, of in found if not (isinstance(of, str) or name.startswith("_")))


@cache
def _origin_and_arguments(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(annotation), get_args(annotation)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."


def _words(annotation: Any) -> str:
    """Return an annotation as what follows "expected"."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is ClassVar:
        return _words(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join(_words(each) for each in arguments)
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if annotation in (None, NoneType):
        return "None"
    if (origin or annotation) is Callable:
        return "a function"
    name: str = getattr(origin or annotation, "__name__", str(annotation))
    of = [_words(each) for each in arguments if each not in (Ellipsis, Any)]
    if not of or not issubclass(origin, (Mapping, Sequence)):
        return name
    if issubclass(origin, Mapping):
        return f"a mapping of {' to '.join(_words(each) for each in arguments)}"
    return f"a {name.lower()} of {', '.join(of)}"
