"""Converts protobuf messages of foreign classes to ours."""

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

M = TypeVar("M", bound=Message)


def own_message(kind: type[M], message: object, name: str) -> M:
    """Return a copy of ``message``, which is of any class of that name or serialized, in our class ``kind``.

    Raises:
        TypeError: ``message`` is another message, or not a message.
        ValueError: the bytes are not such a message.
    """
    wanted = kind.DESCRIPTOR.name
    if isinstance(message, bytes):
        serialized = message
    elif is_message(message, wanted):
        serialized = message.SerializeToString()  # type: ignore[attr-defined]
    else:
        raise TypeError(f"{name} must be a {wanted} message or its bytes, got {type_name(message)}")
    try:
        return kind.FromString(serialized)
    except DecodeError as error:
        raise ValueError(f"{name} must be a {wanted} message, got bytes that are not one: {error}") from error


def is_message(value: object, kind: str) -> bool:
    """Return whether ``value`` is a protobuf message of a class of that name: ours, TensorFlow's or TensorBoard's."""
    descriptor = getattr(value, "DESCRIPTOR", None)
    return getattr(descriptor, "name", None) == kind and hasattr(value, "SerializeToString")


def type_name(value: object) -> str:
    return type(value).__name__
