"""Outputs of operations: shapes, element types, and indices of outputs that functions refer to by name."""

from collections.abc import Mapping, Sequence
from typing import Final

from stepscope.dashboard.graphs.element_types import Shape, dtype_name, shape_of
from stepscope.summary.proto.graph_pb2 import NodeDef

_OUTPUT_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormGrad": ("x_backprop", "scale_backprop", "offset_backprop", "reserve_space_3", "reserve_space_4"),
    "TopK": ("values", "indices"),
    "Unique": ("y", "idx", "count"),
    "Switch": ("output_false", "output_true"),
    "RefSwitch": ("output_false", "output_true"),
    "Merge": ("output", "value_index"),
    "RefMerge": ("output", "value_index"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "BroadcastGradientArgs": ("r0", "r1"),
    "Moments": ("mean", "variance"),
    "Svd": ("s", "u", "v"),
    "Qr": ("q", "r"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "NonMaxSuppression": ("selected_indices", "selected_scores", "valid_outputs"),
    "CTCLoss": ("loss", "gradient"),
    "CudnnRNN": ("output", "output_h", "output_c", "reserve_space", "host_reserved"),
    "CudnnRNNBackprop": ("input_backprop", "input_h_backprop", "input_c_backprop", "params_backprop"),
    "BlockLSTM": ("i", "cs", "f", "o", "ci", "co", "h"),
    "LSTMBlockCell": ("i", "cs", "f", "o", "ci", "co", "h"),
    "TensorArray": ("handle", "flow"),
    "StatelessRandomGetKeyCounter": ("key", "counter"),
    "SparseReshape": ("output_indices", "output_shape"),
}
"""Named outputs in order, for TensorFlow's operations that have several; version suffixes such as "V2" are omitted."""

_TYPE_LISTS: Final = ("Tout", "Toutput_types", "output_types", "component_types", "dtypes", "Tresults")
_TYPES: Final = ("DstT", "out_type", "output_type", "dtype", "type", "T", "Tparams")
"""Attributes with the element type of outputs, in order of precedence."""
_BOOLEAN: Final = frozenset(
    {
        *("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "LogicalNot"),
        *("IsNan", "IsInf", "IsFinite", "Any", "All", "VarIsInitializedOp", "IsVariableInitialized", "LoopCond"),
    }
)
_RESOURCES: Final = frozenset({"VarHandleOp", "IteratorV2", "OneShotIterator", "HashTableV2", "MutableHashTableV2"})


def output_slot(op: str, output: str, index: int) -> int:
    """Return the number of output ``index`` of those called ``output``; for an unknown operation, ``index`` itself."""
    names = _OUTPUT_NAMES.get(op) or _OUTPUT_NAMES.get(op.rstrip("0123456789").removesuffix("V"), ())
    return names.index(output) if output in names else index


def output_shapes(node: NodeDef) -> list[Shape | None]:
    """Return the shapes of the first outputs, as far as the node has them."""
    attributes = node.attr
    if "_output_shapes" in attributes:
        return [shape_of(shape) for shape in attributes["_output_shapes"].list.shape]
    if "output_shapes" in attributes:
        return [shape_of(shape) for shape in attributes["output_shapes"].list.shape]
    if "value" in attributes and attributes["value"].HasField("tensor"):
        return [shape_of(attributes["value"].tensor.tensor_shape)]
    if node.op == "VarHandleOp":
        return [()]
    if "shape" in attributes and attributes["shape"].HasField("shape"):
        return [shape_of(attributes["shape"].shape)]
    return []


def output_dtypes(node: NodeDef) -> list[str]:
    """Return the element types of the first outputs, as far as the node has them."""
    op, attributes = node.op, node.attr
    if op in _BOOLEAN:
        return ["bool"]
    if op in _RESOURCES:
        return ["resource"]
    if not attributes:
        return []
    for name in _TYPE_LISTS:
        if name in attributes and len(attributes[name].list.type):
            return [dtype_name(number) for number in attributes[name].list.type]
    outputs = max(len(attributes["_output_shapes"].list.shape), 1) if "_output_shapes" in attributes else 1
    for name in _TYPES:
        if name in attributes and attributes[name].HasField("type"):
            return [dtype_name(attributes[name].type)] * outputs
    return []
