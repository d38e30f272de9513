"""Protobuf messages as TensorBoard sends them: as JSON with all fields, or as text."""

from collections.abc import Iterable, Iterator
from textwrap import indent
from typing import Any, Final

import orjson
from fastapi.responses import Response
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from stepscope.dashboard.server.pieces import joined, json_answer, named
from stepscope.dashboard.server.work import Pieces
from stepscope.summary.descriptors import is_repeated

TEXT_MESSAGE: Final = "text/x-protobuf"
_PIECE_BYTES: Final = 1 << 17
_VALUES_A_PIECE: Final = 1_000


def message_json(message: Message) -> bytes:
    """Return the message as JSON: names in camel case, fields with default values included, NaN as a string."""
    return json_format.MessageToJson(message, indent=None, always_print_fields_with_no_presence=True).encode()


def message_answer(message: Message) -> Response:
    """Return a response with the message as written by `message_json`."""
    return Response(message_json(message), media_type="application/json")


def messages_answer(name: str, messages: Iterable[Message], **numbers: int) -> Pieces:
    """Return a JSON object with ``messages`` under ``name``, written one at a time, and with ``numbers``."""
    parts = joined(message_json(message) for message in messages)
    return json_answer(named([(name, parts), *((key, [orjson.dumps(number)]) for key, number in numbers.items())]))


def text_answer(message: Message) -> Pieces:
    """Return the message as text protobuf; fields unknown to these definitions are dropped from ``message``."""
    message.DiscardUnknownFields()
    return Pieces(text_pieces(message), media_type=TEXT_MESSAGE)


def text_pieces(message: Message, margin: str = "") -> Iterator[str]:
    """Yield ``str(message)`` with a margin before each line; nested messages come in pieces if it is long."""
    if message.ByteSize() <= _PIECE_BYTES:
        yield indent(str(message), margin)
        return
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for element in value if is_repeated(field) else [value]:
                yield f"{margin}{field.name} {{\n"
                yield from text_pieces(element, f"{margin}  ")
                yield f"{margin}}}\n"
        else:
            for part in _parts(message, field, value):
                yield indent(str(part), margin)


def _parts(message: Message, field: FieldDescriptor, value: Any) -> Iterator[Message]:
    """Yield messages that have some of the values of one field, and nothing else."""
    if not is_repeated(field):
        part = type(message)()
        setattr(part, field.name, value)
        yield part
    elif field.message_type is None:
        for begin in range(0, len(value), _VALUES_A_PIECE):
            part = type(message)()
            getattr(part, field.name).extend(value[begin : begin + _VALUES_A_PIECE])
            yield part
    else:
        part = type(message)()
        getattr(part, field.name).MergeFrom(value)
        yield part
