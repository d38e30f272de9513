"""Protobuf messages as TensorBoard sends them: as JSON with all fields, or as text."""

from typing import Final

from fastapi.responses import Response
from google.protobuf import json_format
from google.protobuf.message import Message

TEXT_MESSAGE: Final = "text/x-protobuf"


def message_answer(message: Message) -> Response:
    """The message as JSON: names in camel case, fields that have their default value too, NaN as a string."""
    text = json_format.MessageToJson(message, always_print_fields_with_no_presence=True)
    return Response(text, media_type="application/json")


def text_answer(message: Message) -> Response:
    """The message as text protobuf; fields that these definitions do not know are dropped from ``message``."""
    message.DiscardUnknownFields()
    return Response(str(message), media_type=TEXT_MESSAGE)
