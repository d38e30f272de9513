"""Floating-point operations and memory traffic of calls, as far as a trace provides them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

_ITEM_BYTES: Final = {
    "double": 8,
    "float": 4,
    "int": 4,
    "long int": 8,
    "long": 8,
    "c10::Half": 2,
    "c10::BFloat16": 2,
    "signed char": 1,
    "unsigned char": 1,
    "bool": 1,
    "short": 2,
    "c10::complex<float>": 8,
    "c10::complex<double>": 16,
}
_CONVOLUTIONS: Final = frozenset(["convolution", "_convolution", "convolution_overrideable"])
_CONVOLUTION_GRADIENTS: Final = {
    "cudnn_convolution_backward_input": (1, 2, 1),
    "cudnn_convolution_backward": (1, 2, 2),
}
"""For each operator: which input is the gradient, which the weight, and how many gradients are computed."""
_ATTENTION: Final = {
    "_scaled_dot_product_flash_attention": (0, 1, 1),
    "_scaled_dot_product_efficient_attention": (0, 1, 1),
    "_scaled_dot_product_cudnn_attention": (0, 1, 1),
    # The scores again, and the gradients of query, key, value and scores.
    "_scaled_dot_product_flash_attention_backward": (1, 3, 2),
    "_scaled_dot_product_efficient_attention_backward": (1, 3, 2),
    "_scaled_dot_product_cudnn_attention_backward": (1, 3, 2),
}
"""For each operator: the index of the query, which precedes key and value, and the numbers of products over key and
value features."""
BY_SHAPE: Final = frozenset(
    [
        *("mm", "bmm", "addmm", "baddbmm", "add", "mul", "add_", "mul_"),
        *_CONVOLUTIONS,
        "convolution_backward",
        *_CONVOLUTION_GRADIENTS,
        *_ATTENTION,
    ]
)
"""Names of PyTorch's operators whose FLOPs can be derived from the inputs that the trace states."""
_FLOPS_KEYS: Final = ("flops", "model_flops", "Flops")
_BYTES_KEYS: Final = ("bytes_accessed", "bytes accessed")
COUNTED_BY: Final = (*_FLOPS_KEYS, *_BYTES_KEYS, "Input Dims", "Input dims", "Input type", "Concrete Inputs")
"""All arguments that are used here."""


def flops_of(name: str, arguments: Mapping[str, Any]) -> float | None:
    """Return the floating-point operations of one call, or None if not known.

    These are the ones that the trace states, or else counted by input shapes, as in PyTorch's ``with_flops``
    (``torch/csrc/profiler/util.cpp``) and ``torch.utils.flop_counter``: a multiplication and an addition are two. Known
    by shape are the matrix products (mm, addmm, bmm, baddbmm), one per element for add and mul, attention, the
    multiplications of a convolution's backward, and convolutions whose stride, padding and dilation are among the
    "Concrete Inputs".
    """
    for key in _FLOPS_KEYS:
        stated = arguments.get(key)
        if isinstance(stated, (int, float)) and stated > 0:
            return float(stated)
    shapes = arguments.get("Input Dims", arguments.get("Input dims"))
    if not isinstance(shapes, Sequence) or isinstance(shapes, str):
        return None
    short = name.removeprefix("aten::")
    if short in ("mm", "bmm"):
        return _product(shapes, 0)
    if short in ("addmm", "baddbmm"):
        return _product(shapes, 1)
    if short in ("add", "mul", "add_", "mul_"):
        return _elements(shapes[0]) if shapes else None
    if short in _CONVOLUTIONS:
        return _convolution(shapes, arguments.get("Concrete Inputs"))
    if short == "convolution_backward":
        return _convolution_backward(shapes, arguments.get("Concrete Inputs"))
    if short in _CONVOLUTION_GRADIENTS:
        return _convolution_gradient(shapes, *_CONVOLUTION_GRADIENTS[short])
    if short in _ATTENTION:
        return _attention(shapes, *_ATTENTION[short])
    return None


def _product(shapes: Sequence[Any], first: int) -> float | None:
    """Return 2 x batch x m x k x n of the matrix product of two inputs."""
    if len(shapes) < first + 2:
        return None
    left, right = shapes[first], shapes[first + 1]
    if not (_is_shape(left) and _is_shape(right)) or len(left) < 2 or len(left) != len(right):
        return None
    return 2.0 * math.prod(left) * right[-1] if left[-1] == right[-2] else None


def _convolution(shapes: Sequence[Any], concrete: Any) -> float | None:
    """Return 2 x output x input channels per group x kernel.

    The arguments are those of ``convolution(input, weight, bias, stride, padding, ...)``.
    """
    if len(shapes) < 2 or not isinstance(concrete, Sequence) or len(concrete) < 7:
        return None
    given, weight = shapes[0], shapes[1]
    stride, padding, dilation = (_numbers(concrete[place]) for place in (3, 4, 5))
    space = len(weight) - 2 if _is_shape(weight) else 0
    if not (_is_shape(given) and space > 0 and len(given) == len(weight) and stride and padding and dilation):
        return None
    if str(concrete[6]) != "False":
        # A transposed convolution multiplies each of its inputs by its kernel.
        return float(2 * math.prod(given) * math.prod(weight[1:]))
    output = 1
    for axis in range(space):
        each, pad, gap = (numbers[min(axis, len(numbers) - 1)] for numbers in (stride, padding, dilation))
        if each <= 0:
            return None
        output *= (given[2 + axis] + 2 * pad - gap * (weight[2 + axis] - 1) - 1) // each + 1
    return float(2 * given[0] * weight[0] * output * math.prod(weight[1:]))


def _convolution_backward(shapes: Sequence[Any], concrete: Any) -> float | None:
    """Return the operations of the gradients of input and weight; the gradient of the bias is a sum.

    The arguments are those of ``convolution_backward(gradient, input, weight, bias_sizes, stride, padding, dilation,
    transposed, output_padding, groups, output_mask)``. Where they are not stated, both gradients of an ordinary
    convolution are assumed.
    """
    stated = isinstance(concrete, Sequence) and len(concrete) > 10
    transposed = stated and str(concrete[7]) != "False"
    products = re.findall("True|False", str(concrete[10]))[:2].count("True") if stated else 2
    # What a transposed convolution multiplies by its kernel is the input.
    return _convolution_gradient(shapes, 1 if transposed else 0, 2, products)


def _convolution_gradient(shapes: Sequence[Any], multiplied: int, weight: int, products: int) -> float | None:
    """Return the operations of a convolution's backward: as many as the convolution itself for each gradient."""
    if len(shapes) <= max(multiplied, weight) or not (_is_shape(shapes[multiplied]) and _is_shape(shapes[weight])):
        return None
    operations = 2.0 * products * math.prod(shapes[multiplied]) * math.prod(shapes[weight][1:])
    return operations if shapes[weight] else None


def _attention(shapes: Sequence[Any], first: int, inner: int, outer: int) -> float | None:
    """Return operations of attention over ``[..., length, features]``: products over key and over value features."""
    if len(shapes) < first + 3 or not all(_is_shape(each) and len(each) == 4 for each in shapes[first : first + 3]):
        return None
    query, key, value = shapes[first : first + 3]
    return float(2 * query[0] * query[1] * query[2] * key[2] * (inner * query[3] + outer * value[3]))


def _numbers(value: Any) -> list[int]:
    """Return the integers of a list that the trace states as text, such as "[2, 2]"."""
    return [int(word) for word in re.findall(r"-?[0-9]{1,9}", str(value))]


def _elements(shape: Any) -> float | None:
    return float(math.prod(shape)) if _is_shape(shape) and shape else None


def _is_shape(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(n, int) for n in value)


def bytes_of(arguments: Mapping[str, Any]) -> float | None:
    """Return bytes of memory traffic of one call: as the trace states, else the size of its inputs, a lower bound."""
    for key in _BYTES_KEYS:
        stated = arguments.get(key)
        if isinstance(stated, (int, float)) and stated > 0:
            return float(stated)
    shapes, types = arguments.get("Input Dims"), arguments.get("Input type")
    if not isinstance(shapes, list) or not isinstance(types, list):
        return None
    sizes = [
        (_elements(shape) or 0.0) * _ITEM_BYTES.get(kind, 0)
        for shape, kind in zip(shapes, types, strict=False)
        if isinstance(kind, str)
    ]
    return sum(sizes) or None
