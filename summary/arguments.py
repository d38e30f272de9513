"""Checks the arguments that callers pass to the writer, and normalizes them.

Arrays of PyTorch, JAX, TensorFlow and CuPy are recognized by their methods; none of these packages is imported.
"""

import math
import os
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_LONGEST_FOLDER_NAME: Final = 255
_INT64: Final = range(-(2**63), 2**63)
_EXACT_NUMBERS: Final = frozenset({"decimal", "fractions"})
"""Modules of numbers that `float` accepts; importing them for their classes would take longer than the rest."""


def checked_tag(tag: object) -> str:
    """Return ``tag`` unchanged; it may be empty, as in PyTorch's writer.

    Raises:
        TypeError: ``tag`` is not a string.
        ValueError: ``tag`` cannot be encoded as UTF-8.
    """
    if not isinstance(tag, str):
        raise TypeError(f"a tag must be a string, got {_described(tag)}")
    try:
        tag.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a tag must be text that UTF-8 can encode, got {tag!r}") from error
    return tag


def checked_name(name: object) -> str:
    """Return ``name`` unchanged: a tag that must not be empty, as TensorFlow requires.

    Raises:
        TypeError: ``name`` is not a string.
        ValueError: ``name`` is empty or cannot be encoded as UTF-8.
    """
    tag = checked_tag(name)
    if not tag:
        raise ValueError("a tag must not be empty")
    return tag


def checked_step(step: object) -> int:
    """Return ``step`` as an int64, as other writers do: 0 for None, else ``int(step)``, so that 1.5 becomes 1.

    Raises:
        TypeError: ``step`` is not a number.
        ValueError: ``step`` is NaN, infinite, text that is not a whole number, or does not fit in 64 bits.
    """
    if step is None:
        return 0
    if hasattr(step, "__array__") or is_tensor(step):
        step = _only_element(step, "a step")
    try:
        whole: int = int(step)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"a step must be a whole number, got {_described(step)}") from None
    if whole not in _INT64:
        raise ValueError(f"a step must fit a signed 64-bit integer, got {whole}")
    return whole


def checked_folder(path: str, name: str) -> str:
    """Return ``path`` unchanged if file systems accept its folders; ``name`` says, for errors, what it is made from.

    Raises:
        ValueError: the name of a folder is too long.
    """
    for folder in path.split("/"):
        if len(os.fsencode(folder)) > _LONGEST_FOLDER_NAME:
            shown = folder if len(folder) <= 60 else folder[:57] + "..."
            raise ValueError(f"{name} must name a folder of at most {_LONGEST_FOLDER_NAME} bytes, got {shown!r}")
    return path


def checked_steps(steps: Any) -> NDArray[np.int64]:
    """Return ``steps``, of any shape, as int64.

    Raises:
        TypeError: ``steps`` are not whole numbers.
        ValueError: a step is a fraction or does not fit in 64 bits.
    """
    array = as_array(steps, "steps")
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2.0**63)
        if not whole.all():
            raise ValueError(f"steps must be 64-bit integers, got {array[~whole][0]}")
    elif array.dtype == np.uint64 and (array > np.uint64(2**63 - 1)).any():
        raise ValueError(f"steps must fit a signed 64-bit integer, got {array.max()}")
    return array.astype(np.int64, copy=False)


def checked_wall_time(wall_time: object) -> float:
    """Return ``wall_time`` in seconds since the epoch.

    Raises:
        TypeError: ``wall_time`` is not a number.
        ValueError: ``wall_time`` is NaN or infinite, which some readers take for the end of the file.
    """
    seconds = checked_number(wall_time, "a wall time")
    if not math.isfinite(seconds):
        raise ValueError(f"a wall time must be finite, got {seconds}")
    return seconds


def checked_number(value: object, name: str) -> float:
    """Return the one real number in ``value``: a Python or NumPy number, or an array or tensor of one element.

    NaN and infinities count as numbers.

    Raises:
        TypeError: ``value`` is not a real number.
        ValueError: ``value`` has no elements, has several, or is too large for float64.
    """
    if isinstance(value, int | float) or type(value).__module__ in _EXACT_NUMBERS:
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:
            raise ValueError(f"{name} must fit a float64, got {_described(value)}") from None
    return float(_only_element(value, name))


def checked_scalar(value: object, name: str) -> float:
    """Return the number in ``value``, as `checked_number` does, or in text, as PyTorch's writer does.

    Raises:
        TypeError, ValueError: as for `checked_number`.
    """
    if isinstance(value, str | bytes):
        with suppress(ValueError):
            return float(value)
    return checked_number(value, name)


def is_tensor(value: object) -> bool:
    """Return whether ``value`` is a tensor that may need to be detached and moved to the host, as those of PyTorch."""
    # A stream also has `detach`, which makes it unusable.
    return hasattr(value, "detach") and hasattr(value, "cpu")


def as_array(values: Any, name: str, *, allow_complex: bool = False) -> NDArray[Any]:
    """Return ``values`` as a NumPy array of booleans, integers or floats, without a copy where possible.

    Tensors are detached and moved to the host. bfloat16 and float8, which NumPy lacks, become float32; masked values
    become NaN.

    Raises:
        TypeError: ``values`` are not an array of real numbers, or of complex numbers if ``allow_complex``.
    """
    wanted = "numbers" if allow_complex else "real numbers"
    if is_tensor(values):
        values = values.detach()
        if "float8" in str(values.dtype) or "bfloat16" in str(values.dtype):
            values = values.float()
        values = values.cpu()
        if hasattr(values, "resolve_neg"):
            # PyTorch conjugates and negates lazily, and such tensors have no array.
            values = values.resolve_conj().resolve_neg()
    elif type(values).__module__.startswith("cupy"):
        values = values.get()
    # Not by class, which NumPy imports only on access.
    if type(values).__module__.startswith("numpy.ma") and values.mask.any():
        values = values.astype(np.result_type(values.dtype, np.float32)).filled(np.nan)
    try:
        array = with_values(values, name)
    except ValueError as error:
        raise TypeError(f"{name} must be a rectangular array of {wanted}: {error}") from None
    if "float" in array.dtype.name and array.dtype.kind == "V":
        array = array.astype(np.float32)
    if array.dtype.kind not in ("biufc" if allow_complex else "biuf"):
        raise TypeError(f"{name} must be {wanted}, got {_described(values)} of dtype {array.dtype}")
    return array


def with_values(values: Any, name: str, dtype: type | None = None) -> NDArray[Any]:
    """Return ``values`` as the array that NumPy makes of them.

    Raises:
        TypeError: ``values`` have no concrete values, as inside ``tf.function`` and ``jax.jit``.
        ValueError: ``values`` are not rectangular.
    """
    try:
        return np.asarray(values, dtype)
    except NotImplementedError:
        raise TypeError(
            f"{name} has no value while tf.function traces: log it from eager code, with tf.py_function, or with "
            "tf.summary"
        ) from None
    except TypeError:
        if not type(values).__module__.startswith("jax"):
            raise
        raise TypeError(
            f"{name} has no value while jax.jit traces: log it outside of the function, or with jax.debug.callback"
        ) from None


def _only_element(value: object, name: str) -> Any:
    array = as_array(value, name)
    if array.size != 1:
        raise ValueError(f"{name} must have one element, got shape {array.shape}")
    return array.item()


def _described(value: object) -> str:
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:57] + '...'}"
