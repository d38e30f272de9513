"""Conversion of arguments of TensorFlow's summary functions, for `stepscope.summary.v1` and `.v2`."""

import os
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_number, is_tensor, with_values
from stepscope.summary.event_file_writer import LOCAL_LINGER, REMOTE_LINGER
from stepscope.summary.foreign_protos import is_message, own_message, type_name
from stepscope.summary.kinds.tensor_proto import numbers_tensor, strings_tensor
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.storage import folder_at, is_address

_FULL_SCALE: Final = 1 << 15


def graph_def_of(graph: Any) -> GraphDef:
    """Return a graph as a message.

    Args:
        graph: a GraphDef of any class, its bytes, a ``tf.Graph`` or other object with ``as_graph_def``, or a model that
            `stepscope.summary.graphs.graph_of` accepts.

    Raises:
        TypeError: the graph is none of these.
        ValueError: the bytes are not a GraphDef.
    """
    if isinstance(graph, bytes) or is_message(graph, "GraphDef"):
        return own_message(GraphDef, graph, "a graph")
    if hasattr(graph, "as_graph_def"):
        return own_message(GraphDef, graph.as_graph_def(add_shapes=True), "what as_graph_def gives")
    # Only models need this import, not callers with a graph at hand.
    from stepscope.summary.graphs import graph_of

    return graph_of(graph)


def array_of(values: Any, name: str) -> NDArray[Any]:
    """Return ``values`` as an array, as TensorFlow converts them: Python floats are float32; lists may hold tensors.

    Raises:
        TypeError: the values are not a rectangular array of real numbers.
    """
    if not isinstance(values, list | tuple):
        array = as_array(values, name)
        is_of_python = isinstance(values, float) and not isinstance(values, np.float64)
        return array.astype(np.float32) if is_of_python else array
    if not any(hasattr(element, "__array__") or is_tensor(element) for element in values):
        array = as_array(values, name)
        return array.astype(np.float32) if array.dtype == np.float64 else array
    return as_array([as_array(element, name) for element in values], name)


def strings_of(content: Any, name: str) -> NDArray[np.object_]:
    """Return `str` objects of any shape, given as strings, UTF-8 bytes, nested lists or arrays of them, or tensors.

    Tensors must have ``numpy()``.

    Raises:
        TypeError: an element is neither a string nor bytes, or the rows differ in length.
        ValueError: bytes are not UTF-8.
    """
    if hasattr(content, "numpy"):
        content = content.numpy()
    try:
        array = with_values(content, name, object)
    except ValueError as error:
        raise TypeError(f"{name} must be rectangular: {error}") from None
    texts = np.empty(array.size, dtype=object)
    texts[:] = [_text(element, name) for element in array.reshape(-1)]
    return texts.reshape(array.shape)


def tensor_proto_of(values: Any, name: str) -> TensorProto:
    """Return numbers, booleans or strings of any shape as a tensor of their dtype.

    Raises:
        TypeError: the values are none of these.
        ValueError: strings are not UTF-8.
    """
    plain = values.numpy() if hasattr(values, "numpy") and not is_tensor(values) else values
    if _is_text(plain):
        array = np.asarray(plain, dtype=object)
        return strings_tensor([_encoded(element, name) for element in array.reshape(-1)], array.shape)
    if isinstance(plain, float | list | tuple):
        return numbers_tensor(array_of(plain, name))
    return numbers_tensor(as_array(plain, name, allow_complex=True))


def pcm16(samples: Any, ranks: Sequence[int], name: str, stacklevel: int) -> NDArray[np.int16]:
    """Return floats in -1..1 as 16-bit audio: times 32768, halves rounded away from zero, clipped with a warning.

    This is the rule of TensorFlow's ``core/lib/wav/wav_io.cc``. The shape is [clips, frames, channels]; if ``ranks``
    has 2, a missing last axis means one channel. ``stacklevel`` is passed to `warnings.warn`.

    Raises:
        TypeError: the samples are not floats.
        ValueError: the rank is not in ``ranks``, or there are no samples, or NaN.
    """
    array = array_of(samples, name)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must be floats (-1..1), got {array.dtype}")
    if array.ndim not in ranks or array.size == 0:
        shapes = " or ".join(str(["clips", "frames", "channels"][:rank]).replace("'", "") for rank in ranks)
        raise ValueError(f"{name} must have samples of shape {shapes}, got shape {array.shape}")
    if np.isnan(array).any():
        raise ValueError(f"{name} must have numbers only, got {int(np.isnan(array).sum())} NaN")
    outside = int((np.abs(array) > 1).sum())
    if outside:
        warnings.warn(f"{name} clips {outside} of {array.size} samples to -1..1", stacklevel=stacklevel)
    # A double holds the product and the half exactly, for any float32.
    scaled = array.astype(np.float64).clip(-1, 1) * _FULL_SCALE
    rounded = np.trunc(scaled + np.copysign(0.5, scaled)).clip(-_FULL_SCALE, _FULL_SCALE - 1)
    whole: NDArray[np.int16] = rounded.astype(np.int16)
    return whole if whole.ndim == 3 else whole[:, :, np.newaxis]


def whole_number(value: Any, name: str, *, least: int) -> int:
    """Return ``value`` as an int.

    Raises:
        TypeError: the value is not a number.
        ValueError: the value is a fraction, or below ``least``.
    """
    number = checked_number(value, name)
    if not (number.is_integer() and number >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(number)


def checked_log_dir(logdir: str | bytes | os.PathLike[str] | None) -> str:
    """Return a log directory's path.

    Raises:
        TypeError: ``logdir`` is not a path.
        ValueError: ``logdir`` is None or empty.
    """
    if logdir is None:
        raise ValueError("logdir must be the path of a folder, got None")
    if not isinstance(logdir, str | bytes | os.PathLike):
        raise TypeError(f"logdir must be the path of a folder, got {type_name(logdir)}")
    path: str = os.fsdecode(logdir)
    if isinstance(logdir, os.PathLike):
        folder_at(logdir)  # rejects what was an address
    if not path:
        raise ValueError("logdir must be the path of a folder, got an empty string")
    return path


def checked_suffix(suffix: str | None, default: str) -> str:
    """Return the end of an event file's name.

    Raises:
        TypeError: the suffix is not a string.
        ValueError: the suffix names another folder.
    """
    if suffix is None:
        return default
    if not isinstance(suffix, str):
        raise TypeError(f"filename_suffix must be a string, got {type_name(suffix)}")
    if any(separator in suffix for separator in "/\\\0"):
        raise ValueError(f"filename_suffix must be part of a file's name, got {suffix!r}")
    return suffix


def longest_wait(seconds: float, name: str, logdir: str) -> float:
    """Return the seconds that an event may wait for others: ``seconds``, up to the usual wait.

    Raises:
        ValueError: ``seconds`` is negative or NaN.
    """
    if not seconds >= 0:
        raise ValueError(f"{name} must not be negative, got {seconds:g}")
    return min(seconds, REMOTE_LINGER if is_address(logdir) else LOCAL_LINGER)


def _text(element: object, name: str) -> str:
    if isinstance(element, str):
        return element
    if not isinstance(element, bytes):
        raise TypeError(f"{name} must be a string or an array of strings, got {type_name(element)}")
    try:
        return element.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} must be UTF-8: {error}") from error


def _encoded(element: object, name: str) -> bytes:
    if isinstance(element, bytes):
        return element
    if not isinstance(element, str):
        raise TypeError(f"{name} must be numbers, or strings only, got {type_name(element)} among strings")
    try:
        return element.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} must be text that UTF-8 can encode: {error}") from error


def _is_text(values: Any) -> bool:
    """Return whether the values are strings, judging by the first of them."""
    while isinstance(values, list | tuple) and values:
        values = values[0]
    return isinstance(values, str | bytes) or (isinstance(values, np.ndarray) and values.dtype.kind in "USO")
