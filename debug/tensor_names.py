"""Information from the names of watched tensors and of their operations."""

from typing import Final

from stepscope.summary.debugger.model import WatchedTensor

FROZEN: Final = "frozen"
"""The `WatchedTensor.op_type` of a parameter that is not trained."""


def is_operation(tensor: WatchedTensor) -> bool:
    """Return whether a tensor is the output of a single operation, such as "aten.log", rather than of a module."""
    return "." in tensor.op_type


def base_name(tensor: WatchedTensor) -> str:
    """Return the name of an operation or a module without the library's name, such as "log" or "relu"."""
    return tensor.op_type.lower().partition(".")[2].rstrip("_") or tensor.op_type.lower()


_MASKING: Final = (
    "masked_fill",
    "full",
    "where",
    "fill",
    "scalar_tensor",
    "tril",
    "triu",
    "lift",
    "_to_copy",
    "copy",
    "selectv2",
)


def makes_masks(tensor: WatchedTensor) -> bool:
    """Return whether -Inf in its values is usually intended: such operations make attention masks."""
    return is_operation(tensor) and base_name(tensor) in _MASKING


def called(tensor: WatchedTensor) -> str:
    """Return the name of a tensor in a sentence."""
    match tensor.phase:
        case "parameter":
            return f"the parameter {tensor.name}"
        case "backward":
            return f"the gradient of {tensor.name}" if not is_operation(tensor) else f"{tensor.name} (backward)"
        case "update":
            return f"the update of {tensor.name}"
        case _:
            return tensor.name
