"""JSON of any value that a trace may hold."""

from typing import Any, Final

import orjson

MAX_NESTING: Final = 100


def json_bytes(value: Any) -> bytes:
    """Return any value that a trace may hold as JSON.

    Integers of more than 64 bits become text, halves of characters (lone surrogates) become their escapes, and anything
    nested deeper than `MAX_NESTING` becomes a remark.
    """
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    try:
        return orjson.dumps(value, default=str, option=options)
    except TypeError:
        return orjson.dumps(_writable(value, 0), default=str, option=options)


def _writable(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else str(value)
    if isinstance(value, (dict, list, tuple)) and depth == MAX_NESTING:
        return "(nested too deeply to be shown)"
    if isinstance(value, dict):
        return {_writable(key, depth): _writable(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(entry, depth + 1) for entry in value]
    return value
