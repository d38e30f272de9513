"""Graphs of models of any kind."""

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError
from stepscope.summary.graphs.files import (
    EXPECTED,
    GraphMessage,
    graph_def_of,
    graph_of_cut_file,
    parse_graph_file,
    read_model_file,
)
from stepscope.summary.graphs.from_keras import graph_from_keras, is_keras_model
from stepscope.summary.graphs.from_onnx import graph_from_onnx
from stepscope.summary.graphs.from_openvino import graph_from_openvino
from stepscope.summary.graphs.from_torch import graph_from_torch
from stepscope.summary.kinds.graph import parse_keras_json
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef, SavedModel

_MESSAGES: Final[Mapping[str, type[GraphMessage]]] = {
    "GraphDef": GraphDef,
    "MetaGraphDef": MetaGraphDef,
    "SavedModel": SavedModel,
}
_MODELS: Final = (
    "a PyTorch module or exported program, a Keras model, an ONNX ModelProto, a GraphDef, MetaGraphDef or SavedModel, "
    "a tf.Graph, or the path of a file that holds one"
)
_FILES: Final = f"an ONNX model, an OpenVINO .xml file, a Keras model's JSON or .keras file, or {EXPECTED}"
_ZIP: Final = b"PK\x03\x04"
_BEFORE_TEXT: Final = b"\xef\xbb\xbf \t\r\n"
_LARGEST_KERAS_CONFIG: Final = 256 << 20


def graph_of(
    model: Any, input_to_model: Any = None, *, verbose: bool = False, use_strict_trace: bool = True
) -> GraphDef:
    """Return the graph of a model: the layers of a Keras model, or the operations of any other model.

    Messages may be instances of the protobuf classes of this package, TensorFlow or TensorBoard. File formats are
    recognized by content. The other arguments apply only to PyTorch models; see `graph_from_torch`.

    Raises:
        TypeError: the model is of an unsupported type, or is a PyTorch module without inputs.
        ValueError: the model cannot be traced or read; the cause is chained.
        UserError: the file cannot be read, or holds no graph.
    """
    if isinstance(model, str | os.PathLike):
        return graph_of_file(model)
    if is_keras_model(model):
        return graph_from_keras(model)
    if hasattr(model, "DESCRIPTOR") and hasattr(model, "SerializeToString"):
        return _graph_of_message(model)
    as_graph_def = getattr(model, "as_graph_def", None) or getattr(getattr(model, "graph", None), "as_graph_def", None)
    if callable(as_graph_def):
        return _graph_of_message(as_graph_def())
    if any((kind.__module__ or "").split(".")[0] == "torch" for kind in type(model).__mro__):
        return graph_from_torch(model, input_to_model, verbose=verbose, use_strict_trace=use_strict_trace)
    raise TypeError(f"expected {_MODELS}, got {type(model).__name__}")


def graph_of_file(path: str | os.PathLike[str], notes: list[str] | None = None) -> GraphDef:
    """Return the graph in a file, whatever its name: ONNX, OpenVINO, Keras, or TensorFlow in any of its forms.

    With ``notes``, a truncated binary GraphDef, MetaGraphDef or SavedModel gives its complete nodes, and a sentence
    about it is appended to ``notes``.

    Raises:
        UserError: the file cannot be read, or holds no graph; the message says what it is instead, if known.
        ImportError: the file is an ONNX model, and the package ``onnx`` is missing.
    """
    file, content = read_model_file(path)
    name = str(file)
    refuse_python_objects(content, name)
    text = content[:4096].lstrip(_BEFORE_TEXT)
    readers: tuple[tuple[bool, Callable[[], GraphDef]], ...] = (
        (content.startswith(_ZIP), lambda: _graph_in_keras_archive(content, name)),
        (text.startswith(b"{"), lambda: graph_from_keras(content.decode("utf-8-sig"))),
        (text.startswith(b"<"), lambda: graph_from_openvino(content)),
        (_looks_like_onnx(content), lambda: graph_from_onnx(content)),
    )
    for fits, read in readers:
        if fits:
            try:
                graph = read()
            except ValueError as error:
                raise UserError(f"{name} holds no graph: {error}") from error
            if not graph.node:
                raise UserError(f"{name} has no node, so there is nothing to show. Expected {_FILES}.")
            return graph
    try:
        return graph_def_of(parse_graph_file(content, name=name, expected=_FILES))
    except UserError:
        cut = graph_of_cut_file(content) if notes is not None else None
        if cut is None or notes is None:
            raise
    whole = counted(len(cut.node), "complete node before it is", "complete nodes before it are")
    notes.append(f"{name} ends in the middle of a node; the {whole} shown.")
    return cut


def keras_json_of_file(path: str | os.PathLike[str]) -> str | None:
    """Return the JSON of the Keras model in a file, which is JSON itself or a ``.keras`` archive.

    Return None for any other file.

    Raises:
        UserError: the file cannot be read.
    """
    file, head = read_model_file(path, at_most=4096)
    archived = head.startswith(_ZIP)
    if not archived and not head.lstrip(_BEFORE_TEXT).startswith(b"{"):
        return None
    _, content = read_model_file(file)
    try:
        text = (_keras_config(content) or "") if archived else content.decode("utf-8-sig")
        parse_keras_json(text)
    except ValueError:
        return None
    return text


def refuse_python_objects(content: bytes, name: str) -> None:
    """Refuse files that hold Python objects or code, which only execution could turn into a model.

    Raises:
        UserError: the file is one, or a Keras file in HDF5; the message says what to do instead.
    """
    if content.startswith(_ZIP):
        members = _members(content)
        if any(member.endswith("/constants.pkl") for member in members):
            raise UserError(
                f"{name} is a TorchScript archive. Loading one may run code of the file, so it is not opened here.\n"
                'Expected a file that only describes a model. If you trust it: SummaryWriter("DIR").add_graph('
                f'torch.jit.load("{name}"), inputs)'
            )
        if any(member.endswith("/data.pkl") or member.startswith("data.pkl") for member in members):
            raise UserError(_PYTORCH.format(name=name))
        if any(member.endswith(("models/model.json", "serialized_exported_program.json")) for member in members):
            raise UserError(
                f"{name} is a program of torch.export, which only PyTorch can read.\nWrite its graph from Python: "
                f'SummaryWriter("DIR").add_graph(torch.export.load("{name}"))'
            )
    elif content[:1] == b"\x80" and content[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise UserError(_PYTORCH.format(name=name))
    elif content.startswith(b"\x89HDF\r\n\x1a\n"):
        raise UserError(
            f"{name} is an HDF5 file, as Keras 2 saved models. Expected the model's JSON or a .keras file: "
            "write model.to_json() to a file, or model.save() to one that ends in .keras"
        )


_PYTORCH: Final = (
    "{name} holds pickled Python objects, as torch.save writes them. Loading one runs whatever it says, and it "
    "often has only weights, so it is not opened here.\n"
    'Write the graph from Python, where the model is: SummaryWriter("DIR").add_graph(model, inputs)'
)


def _graph_of_message(message: Any) -> GraphDef:
    name = message.DESCRIPTOR.name
    if name == "ModelProto":
        return graph_from_onnx(message)
    if name not in _MESSAGES:
        raise TypeError(f"expected a GraphDef, MetaGraphDef, SavedModel or ONNX ModelProto message, got {name}")
    own = _MESSAGES[name]()
    own.ParseFromString(message.SerializeToString())
    return graph_def_of(own)


def _looks_like_onnx(content: bytes) -> bool:
    """Return whether the content begins with ``ir_version`` and has a ``graph``.

    No TensorFlow message has both of these fields.
    """
    fields = _top_fields(content)
    return fields is not None and fields[:1] == [(1, 0)] and (7, 2) in fields


def _top_fields(content: bytes) -> list[tuple[int, int]] | None:
    """Return the number and wire type of each field of a binary message; None if the bytes are not a message."""
    fields: list[tuple[int, int]] = []
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        fields.append((key >> 3, key & 7))
        match key & 7:
            case 0:
                _, at = _varint(content, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(content, at)
                at += length
            case 5:
                at += 4
            case _:
                return None
        if at > len(content) or len(fields) > 10_000:
            return None
    return fields


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            break
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    # An end beyond the content marks it as not being a message.
    return 0, len(content) + 1


def _graph_in_keras_archive(content: bytes, name: str) -> GraphDef:
    config = _keras_config(content)
    if config is None:
        raise UserError(f"{name} is an archive without a Keras model's config.json. Expected {_FILES}.")
    return graph_from_keras(config)


def _members(content: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return []


def _keras_config(content: bytes) -> str | None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if "config.json" not in archive.namelist():
                return None
            with archive.open("config.json") as stream:
                # The size stated by an archive may be wrong.
                config = stream.read(_LARGEST_KERAS_CONFIG + 1)
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, NotImplementedError, zlib.error) as error:
        raise ValueError(f"expected a .keras archive, which is a ZIP file: {error}") from error
    if len(config) > _LARGEST_KERAS_CONFIG:
        raise ValueError(f"expected a config.json of at most {_LARGEST_KERAS_CONFIG} bytes, got more")
    return config.decode("utf-8-sig")
