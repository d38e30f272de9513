"""Content and cost of nodes: trainable parameters, and floating-point operations of one call if known."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.graphs.element_types import Shape, dtype_bits, elements_of, shape_of
from stepscope.dashboard.graphs.folding import CONSTANTS, VARIABLES
from stepscope.dashboard.graphs.neighbors import Neighbors
from stepscope.dashboard.graphs.records import GraphModel
from stepscope.summary.distinct import distinct_values
from stepscope.summary.listed import listed

_APPLY: Final = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
_PASSES_ON: Final = frozenset(("_Arg", "Enter", "RefEnter", "Switch", "RefSwitch", "Identity"))
_NOT_TRAINED: Final = re.compile(
    r"(^|.*[/._])(moving_(mean|variance)|running_(mean|var)|num_batches_tracked|global_step|iterations?|iter|"
    r"learning_rate|decay|beta_?[12](_power)?|(Adam|Momentum|RMSProp|Adagrad|Ftrl)(_\d+)?|ExponentialMovingAverage)"
    r"([/:._\d].*)?$"
)
"""Names of variables that optimizers and normalizations use internally."""

_MOST_FLOPS: Final = 2.0**60
"""Nodes with more are treated as damaged; in sums with them, float64 would lose the others."""
_PRODUCTS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Gemm"), 0),
    **dict.fromkeys(("aten::mm", "aten::matmul", "aten::bmm", "aten::linear"), 0),
    **dict.fromkeys(("aten::addmm", "aten::baddbmm"), 1),
}
"""Matrix products, and the index of the left matrix among the inputs."""
_TRANSPOSED: Final = ("transpose_a", "adj_x", "transA")
_CONVOLUTIONS_OUT_LAST: Final = frozenset(("Conv1D", "Conv2D", "Conv3D"))
_CONVOLUTIONS_OUT_FIRST: Final = frozenset(
    ("Conv", "aten::_convolution", "aten::convolution", "aten::conv1d", "aten::conv2d", "aten::conv3d")
)
_ELEMENTWISE: Final = frozenset(
    (
        "Add",
        "AddV2",
        "BiasAdd",
        "Sub",
        "Mul",
        "RealDiv",
        "Div",
        "DivNoNan",
        "Maximum",
        "Minimum",
        "Square",
        "Neg",
        "Abs",
    )
) | frozenset(
    ("Relu", "Relu6", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Rsqrt", "Reciprocal", "Pow", "SquaredDifference")
)
_ELEMENTWISE_TORCH: Final = frozenset(
    f"aten::{name}{end}"
    for name in ("add", "sub", "mul", "div", "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "neg", "pow")
    for end in ("", "_")
)


def parameters_of(model: GraphModel) -> NDArray[np.int64]:
    """Return the elements of trainable weights in each node, [n].

    If the graph has optimizer steps, the variables that they change are trainable; otherwise all floating-point ones
    except those that optimizers and normalizations use internally, told by name. In a graph without variables, such as
    a frozen model or one from ONNX, floating-point constants that are not scalars count.
    """
    held = np.zeros(len(model), np.int64)
    variables = [node for node, op in enumerate(model.ops) if op in VARIABLES]
    sizes = {node: _variable_elements(model, node) for node in variables}
    trained = _trained(model)
    if trained:
        chosen = [node for node in variables if node in trained]
    else:
        chosen = [node for node in variables if sizes[node] and not _NOT_TRAINED.match(model.names[node])]
    if not any(sizes.values()):
        constants = [node for node, op in enumerate(model.ops) if op in CONSTANTS]
        sizes = {node: _constant_elements(model, node) for node in constants}
        chosen = [node for node in constants if sizes[node] and not _NOT_TRAINED.match(model.names[node])]
    for node in chosen:
        held[node] = sizes[node]
    return held


def _variable_elements(model: GraphModel, node: int) -> int:
    attributes = model.messages[node].attr
    if "shape" in attributes and attributes["shape"].HasField("shape"):
        shape = shape_of(attributes["shape"].shape)
    else:
        shape = model.shapes.get((node, 0))
    dtype = model.dtypes.get((node, 0), "")
    if dtype == "resource" and "dtype" in attributes:
        # The element type of what the handle refers to.
        return (elements_of(shape) or 0) if attributes["dtype"].type in _FLOATING else 0
    return (elements_of(shape) or 0) if "float" in dtype else 0


_FLOATING: Final = frozenset((1, 2, 14, 19, 24, 25))
"""DT_FLOAT, DT_DOUBLE, DT_BFLOAT16, DT_HALF, DT_FLOAT8_E5M2 and DT_FLOAT8_E4M3FN."""


def _constant_elements(model: GraphModel, node: int) -> int:
    shape = model.shapes.get((node, 0))
    return (elements_of(shape) or 0) if shape and "float" in model.dtypes.get((node, 0), "") else 0


def _trained(model: GraphModel) -> set[int]:
    """Return the variables that optimizer steps change: their first inputs, traced through arguments of functions."""
    steps = np.array([_APPLY.fullmatch(op) is not None for op in model.ops], np.bool_)
    if not steps.any():
        return set()
    data = ~model.control
    inputs = Neighbors(model.target[data], model.source[data], len(model))
    first = steps[model.target] & (model.target_slot == 0)
    waiting: list[int] = distinct_values(model.source[first]).tolist()
    found: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        if model.ops[node] in _PASSES_ON:
            waiting += inputs[node]
    return found


def flops_of(model: GraphModel) -> NDArray[np.float64]:
    """Return the floating-point operations of each node, [n]; a multiplication and an addition are two; NaN if unknown.

    They are known for matrix products, convolutions and elementwise operations whose shapes are complete in the graph.
    """
    flops = np.full(len(model), np.nan)
    formulas = {op: formula for op in set(model.ops) if (formula := _formula(op)) is not None}
    counted = [node for node, op in enumerate(model.ops) if op in formulas]
    if not counted:
        return flops
    inputs = _inputs(model, counted)
    for node in counted:
        count = formulas[model.ops[node]](model, node, inputs.get(node, {}))
        if count is not None and count <= _MOST_FLOPS:
            flops[node] = count
    return flops


def products_of(model: GraphModel) -> NDArray[np.bool_]:
    """Return whether each node, [n], is a matrix product or a convolution, nearly all of a model's computation."""
    products = {op for op in set(model.ops) if (formula := _formula(op)) is not None and formula is not _elementwise}
    return np.array([op in products for op in model.ops], np.bool_)


_Formula = Callable[[GraphModel, int, Mapping[int, Shape | None]], float | None]


def _formula(op: str) -> _Formula | None:
    if op in _PRODUCTS:
        return _product
    if op in _CONVOLUTIONS_OUT_LAST or op in _CONVOLUTIONS_OUT_FIRST or op == "DepthwiseConv2dNative":
        return _convolution
    if op in ("Conv2DBackpropInput", "Conv2DBackpropFilter"):
        return _convolution_gradient
    return _elementwise if op in _ELEMENTWISE or op in _ELEMENTWISE_TORCH else None


def _inputs(model: GraphModel, nodes: Sequence[int]) -> dict[int, dict[int, Shape | None]]:
    """Return the shapes of the nodes' inputs, by input."""
    wanted = np.zeros(len(model), np.bool_)
    wanted[np.array(nodes, np.int64)] = True
    edges = np.flatnonzero(wanted[model.target] & ~model.control)
    found: dict[int, dict[int, Shape | None]] = {}
    columns = (model.target, model.target_slot, model.source, model.source_slot)
    for target, slot, source, output in zip(*(listed(column[edges]) for column in columns), strict=True):
        found.setdefault(target, {})[slot] = model.shapes.get((source, output))
    return found


def _product(model: GraphModel, node: int, inputs: Mapping[int, Shape | None]) -> float | None:
    elements = elements_of(model.shapes.get((node, 0)))
    left = inputs.get(_PRODUCTS[model.ops[node]])
    attributes = model.messages[node].attr
    transposed = any(name in attributes and (attributes[name].b or attributes[name].i) for name in _TRANSPOSED)
    if elements is None or not left:
        return None
    inner = left[-2] if transposed and len(left) > 1 else left[-1]
    return 2.0 * elements * inner if inner >= 0 else None


def _convolution(model: GraphModel, node: int, inputs: Mapping[int, Shape | None]) -> float | None:
    """Return two operations for each element of the output and each weight that it is computed from."""
    elements, kernel = elements_of(model.shapes.get((node, 0))), inputs.get(1)
    weights = elements_of(kernel)
    if elements is None or not kernel or not weights:
        return None
    op = model.ops[node]
    if op == "DepthwiseConv2dNative":
        return 2.0 * elements * kernel[0] * kernel[1] if len(kernel) == 4 else None
    return 2.0 * elements * weights / kernel[0 if op in _CONVOLUTIONS_OUT_FIRST else -1]


def _convolution_gradient(model: GraphModel, node: int, inputs: Mapping[int, Shape | None]) -> float | None:
    """Return as many as for the convolution: for each element of the gradient and each weight of an output channel."""
    elements = elements_of(inputs.get(2))
    kernel = inputs.get(1) if model.ops[node] == "Conv2DBackpropInput" else model.shapes.get((node, 0))
    weights = elements_of(kernel)
    return 2.0 * elements * weights / kernel[-1] if elements is not None and kernel and weights else None


def _elementwise(model: GraphModel, node: int, inputs: Mapping[int, Shape | None]) -> float | None:
    del inputs
    elements = elements_of(model.shapes.get((node, 0)))
    return None if elements is None else float(elements)


def parameter_bytes_of(model: GraphModel, parameters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bytes of trainable weights in each node, [n]."""
    held = np.zeros(len(model), np.int64)
    for node in np.flatnonzero(parameters).tolist():
        dtype = model.dtypes.get((node, 0), "")
        attributes = model.messages[node].attr
        bits = dtype_bits(dtype)
        if dtype == "resource" and "dtype" in attributes:
            bits = _BITS.get(attributes["dtype"].type, 32)
        held[node] = int(parameters[node]) * bits // 8
    return held


_BITS: Final[Mapping[int, int]] = {2: 64, 14: 16, 19: 16, 24: 8, 25: 8}
