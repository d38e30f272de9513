"""Files that hold a GraphDef, MetaGraphDef or SavedModel as binary or text protobuf, distinguished by content."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from google.protobuf import text_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from stepscope.summary.bounded_messages import parse
from stepscope.summary.descriptors import is_repeated
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.kinds.scalar_batch import varint
from stepscope.summary.proto.graph_pb2 import GraphDef, NodeDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef, SavedModel

GraphMessage: TypeAlias = GraphDef | MetaGraphDef | SavedModel

EXPECTED: Final = "a GraphDef, MetaGraphDef or SavedModel, as binary or text protobuf (.pb or .pbtxt)"
_SAVED_MODEL_NAMES: Final = ("saved_model.pb", "saved_model.pbtxt")
_NODE_OF_GRAPH: Final = GraphDef.NODE_FIELD_NUMBER
_GRAPH_OF_META_GRAPH: Final = MetaGraphDef.GRAPH_DEF_FIELD_NUMBER
_META_GRAPH_OF_SAVED_MODEL: Final = SavedModel.META_GRAPHS_FIELD_NUMBER
_TYPES: Final[tuple[type[GraphMessage], ...]] = (SavedModel, MetaGraphDef, GraphDef)


def load_graph_file(path: str | os.PathLike[str]) -> GraphMessage:
    """Read a file as `parse_graph_file` does; for a SavedModel directory, its ``saved_model.pb`` or ``.pbtxt``.

    Raises:
        UserError: the file cannot be read, or holds none of the three messages.
    """
    file, content = read_model_file(path)
    return parse_graph_file(content, name=str(file))


def read_model_file(path: str | os.PathLike[str], at_most: int = -1) -> tuple[Path, bytes]:
    """Return the path and bytes of a file, or of the ``saved_model.pb`` or ``.pbtxt`` in a directory.

    Args:
        path: the file or directory.
        at_most: maximum number of bytes to read; negative for all.

    Raises:
        UserError: the file cannot be read, or the directory has neither file.
    """
    file = Path(path)
    try:
        if file.is_dir():
            found = [file / name for name in _SAVED_MODEL_NAMES if (file / name).is_file()]
            if not found:
                raise UserError(
                    f"{path} is a directory without {' or '.join(_SAVED_MODEL_NAMES)}. "
                    "Expected a file with a graph, or the directory of a SavedModel."
                )
            file = found[0]
        with file.open("rb") as stream:
            return file, stream.read(at_most)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise UserError(f"{path} cannot be read: {reason}. Expected a file with a graph.") from error


def parse_graph_file(content: bytes, *, name: str, expected: str = EXPECTED) -> GraphMessage:
    """Return the message in the bytes of a file.

    Neither form identifies the message, so its type and form are those that parse into nodes with names and
    operations.

    Raises:
        UserError: it is none of the three messages, or has no node; the error message calls the file ``name``.
    """
    errors: list[tuple[int, str]] = []
    empty = False
    for message in chain(_binary_readings(content, errors), _text_readings(content, errors)):
        if _has_graph(message):
            return message
        empty |= bool(content.strip()) and not len(UnknownFieldSet(message))
    if empty:
        raise UserError(f"{name} has no node, so there is nothing to show. Expected {expected}, with nodes.")
    # The attempt that got furthest best describes the error.
    reason = f"\n{max(errors)[1]}" if errors else ""
    raise UserError(f"{name} is not {expected}, or is incomplete.{reason}")


def graph_of_cut_file(content: bytes) -> GraphDef | None:
    """Return the complete nodes of a truncated binary file; None if it does not begin with such nodes.

    For a MetaGraphDef or SavedModel, return those of its first graph.
    """
    for way in ((), (_GRAPH_OF_META_GRAPH,), (_META_GRAPH_OF_SAVED_MODEL, _GRAPH_OF_META_GRAPH)):
        part: bytes | None = content
        for number in way:
            part = next((value for field, value in _fields(part or b"") if field == number), None)
        graph = _whole_nodes(part or b"")
        if graph.node:
            return graph
    return None


def _whole_nodes(content: bytes) -> GraphDef:
    graph = GraphDef()
    for number, value in _fields(content, whole=True):
        if number != _NODE_OF_GRAPH:
            continue
        try:
            node = parse(NodeDef, value)
        except DecodeError:
            return GraphDef()
        if not node.name or not node.op:
            return GraphDef()
        graph.node.append(node)
    return graph


def _fields(content: bytes, *, whole: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield the top-level length-delimited fields of a message; the last may be truncated, unless ``whole``."""
    place = 0
    while place < len(content):
        key, place = _varint(content, place)
        wire_type = key & 7
        if wire_type == 0:
            _, place = _varint(content, place)
        elif wire_type in (1, 5):
            place += 8 if wire_type == 1 else 4
        elif wire_type == 2:
            length, place = _varint(content, place)
            if whole and place + length > len(content):
                return
            yield key >> 3, content[place : place + length]
            place += length
        else:
            return


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Return a number and where it ends; for a truncated number, one larger than any possible length."""
    value = 0
    for shift, byte in enumerate(content[place : place + 10]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, place + shift + 1
    return 1 << 62, len(content)


def graph_def_of(message: GraphMessage) -> GraphDef:
    """Return the graph in the message; for a SavedModel, the first graph tagged "serve", or else the first graph.

    Raises:
        ValueError: the message is a SavedModel without graphs.
        TypeError: it is another type of message.
    """
    match message:
        case SavedModel():
            if not message.meta_graphs:
                raise ValueError("expected a SavedModel with graphs, got one without")
            served = [graph for graph in message.meta_graphs if "serve" in graph.meta_info_def.tags]
            return (served or message.meta_graphs)[0].graph_def
        case MetaGraphDef():
            return message.graph_def
        case GraphDef():
            return message
        case _:
            raise TypeError(f"expected {EXPECTED}, got {type(message).__name__}")


def text_of(message: Message) -> str:
    """Return the message as text protobuf, without its unknown fields; `unknown_fields` counts them.

    Messages in ``Any`` stay bytes, since programs differ in which of their types they know.
    """
    return text_format.MessageToString(message, descriptor_pool=DescriptorPool())


def binary_of(message: Message) -> bytes:
    """Return the message as binary protobuf; equal messages give equal bytes, since maps are sorted by key.

    Raises:
        UserError: the message exceeds protobuf's limit of 2 GiB.
    """
    try:
        return message.SerializeToString(deterministic=True)
    except (EncodeError, ValueError) as error:
        raise UserError(f"the graph cannot be written as binary protobuf: {error}") from error


def binary_pieces(message: Message) -> Iterator[bytes]:
    """Yield the result of `binary_of` in pieces, without its limit; top-level repeated messages come one at a time.

    Protobuf blocks every other thread while it writes a message: a million nodes take most of a second.
    """
    if len(UnknownFieldSet(message)):
        yield binary_of(message)
        return
    for field, value in message.ListFields():
        if is_repeated(field) and field.message_type is not None and not field.message_type.GetOptions().map_entry:
            head = varint(field.number << 3 | 2)
            for element in value:
                content = element.SerializeToString(deterministic=True)
                yield head + varint(len(content)) + content
            continue
        alone = type(message)()
        if is_repeated(field):
            getattr(alone, field.name).MergeFrom(value)
        elif field.message_type is not None:
            getattr(alone, field.name).CopyFrom(value)
            getattr(alone, field.name).SetInParent()
        else:
            setattr(alone, field.name, value)
        yield binary_of(alone)


def unknown_fields(message: Message) -> int:
    """Return the number of unknown fields in the message, at any depth; text protobuf cannot hold them."""
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            values = value.values() if field.message_type.fields_by_name["value"].message_type is not None else ()
        else:
            values = value if is_repeated(field) else (value,)
        count += sum(unknown_fields(inner) for inner in values)
    return count


def _binary_readings(content: bytes, errors: list[tuple[int, str]]) -> Iterator[GraphMessage]:
    for kind in _TYPES:
        try:
            yield parse(kind, content)
        except DecodeError as error:
            errors.append((0, f"As binary {kind.__name__}: {error}"))


def _text_readings(content: bytes, errors: list[tuple[int, str]]) -> Iterator[GraphMessage]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    for kind in _TYPES:
        message = kind()
        try:
            text_format.Parse(text, message)
            yield message
        except text_format.ParseError as error:
            errors.append((error.GetLine() or 0, f"As text, {kind.__name__}: {str(error)[:200]}"))
        except (RecursionError, ValueError, TypeError) as error:
            errors.append((0, f"As text, {kind.__name__}: {str(error)[:200] or type(error).__name__}"))


def _has_graph(message: GraphMessage) -> bool:
    """Return whether the message is plausible: bytes of another type often parse, but into nodes without names."""
    if isinstance(message, SavedModel):
        return bool(message.meta_graphs) and any(_has_graph(meta) for meta in message.meta_graphs)
    graph = message.graph_def if isinstance(message, MetaGraphDef) else message
    nodes = graph.node
    return bool(nodes) and all(node.name and node.op and node.op.isprintable() for node in nodes)
