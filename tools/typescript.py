"""Write Python types as TypeScript."""

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

_PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", type(None): "null", object: "unknown"}
_ARRAYS = {
    np.float32: "Float32Array",
    np.float64: "Float64Array",
    np.int32: "Int32Array",
    np.uint32: "Uint32Array",
    np.uint8: "Uint8Array",
}


def interfaces(messages: Iterable[type]) -> str:
    """Return an interface for each TypedDict or dataclass, and for each that they hold, in order of appearance.

    Raises:
        TypeError: a field has a type that JSON or packed columns do not have.
    """
    waiting = list(messages)
    known: dict[str, str] = {}
    while waiting:
        message = waiting.pop(0)
        if message.__name__ not in known:
            known[message.__name__] = _interface(message, waiting)
    return "\n".join(known.values())


def _interface(message: type, met: list[type]) -> str:
    hints = get_type_hints(message, include_extras=True)
    if is_dataclass(message):
        hints = {field.name: hints[field.name] for field in fields(message)}
    elif not is_typeddict(message):
        raise TypeError(f"{message!r} is neither a TypedDict nor a dataclass")
    optional: frozenset[str] = getattr(message, "__optional_keys__", frozenset())
    rows = [f"  {_key(name)}{'?' if name in optional else ''}: {typed(hint, met)};" for name, hint in hints.items()]
    comment = (message.__doc__ or "").strip().split("\n\n")[0]
    reported = (
        "" if comment.startswith((f"{message.__name__}(", "dict(")) or not comment else f"/** {_one_line(comment)} */\n"
    )
    return f"{reported}export interface {message.__name__} {{\n" + "\n".join(rows) + "\n}\n"


def typed(hint: Any, met: list[type]) -> str:
    """Return a type in TypeScript; TypedDicts and dataclasses in it are added to ``met``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_typeddict(hint) or (isinstance(hint, type) and is_dataclass(hint)):
        met.append(hint)
        return str(hint.__name__)
    if origin is Literal:
        return " | ".join(_literal(value) for value in arguments)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(typed(one, met) for one in arguments))
    if origin in (Annotated, NotRequired, Required):
        return typed(arguments[0], met)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return f"[{', '.join(typed(one, met) for one in arguments)}]"
    if origin in (list, tuple) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        inner = typed(arguments[0], met)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"Record<string, {typed(arguments[1], met)}>"
    if origin is np.ndarray:
        scalar = get_args(arguments[1])[0]
        if scalar in _ARRAYS:
            return _ARRAYS[scalar]
    if hint is Any:
        return "unknown"
    raise TypeError(f"{hint!r} has no counterpart in TypeScript")


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else f'"{name}"'


def _one_line(text: str) -> str:
    return " ".join(text.replace("*/", "* /").split())
