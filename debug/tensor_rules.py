"""Rules about the values of tensors: not finite, exploding, vanishing, dead, unchanged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.tensor_names import FROZEN, base_name, is_operation, makes_masks
from stepscope.summary.debugger.model import COLUMN, Figure, WatchedTensor

Mask = NDArray[np.bool_]
_SAGEMAKER: Final = "Amazon SageMaker Debugger's default"


@dataclass(frozen=True)
class Round:
    """Observations of different tensors, one row each, with what was known of these tensors before."""

    figures: NDArray[np.float64]
    """[n, len(FIGURES)]"""
    before: NDArray[np.float64]
    """The previous statistics of the same tensors; NaN if there were none."""
    baseline: NDArray[np.float64]
    """[n]: the running mean of the absolute mean until then; NaN until it covers three observations."""
    parameter_l2: NDArray[np.float64]
    """[n]: for an update, the L2 norm of the parameter that it was added to; else NaN."""
    marked: Mask
    """[n]: whether it is known to be non-finite, though not in which way; see `Observations.marked`."""
    trait: Mask
    """[n]: `TensorRule.trait` of each."""

    def figure(self, figure: Figure) -> NDArray[np.float64]:
        """Return one statistic of each."""
        column: NDArray[np.float64] = self.figures[:, COLUMN[figure]]
        return column


@dataclass(frozen=True)
class TensorRule:
    """A rule about the values of one tensor."""

    name: str
    about: str
    """What it finds, with its thresholds."""
    source: str
    """Where the thresholds are from."""
    applies: Callable[[WatchedTensor], bool]
    broken: Callable[[Round], Mask]
    """Which rows break it; warnings of NumPy are off."""
    found: Callable[[WatchedTensor, Mapping[str, float]], str]
    """Says in half a sentence what was found, and what was expected."""
    judged_by: tuple[str, ...]
    """Figures that go into the alert; besides those of the model "baseline" and "parameter_l2"."""
    trait: Callable[[WatchedTensor], bool] = lambda tensor: False
    """What else of a tensor ``broken`` goes by; asked once for each."""
    patience: int = 1
    """Observations in a row that must break it."""


def _bad(found: Round) -> Mask:
    counts = found.figure("nan") + found.figure("positive_infinity") + found.figure("negative_infinity")
    bad: Mask = (counts > 0) | found.marked
    return bad


def _not_finite(found: Round) -> Mask:
    only_negative = found.figure("nan") + found.figure("positive_infinity") == 0
    broken: Mask = _bad(found) & ~(only_negative & found.trait)
    return broken


def _exploding(found: Round) -> Mask:
    grown = found.figure("absolute_mean") > 1000 * found.baseline
    broken: Mask = (grown & (found.baseline > 0)) | (found.trait & (found.figure("overflow") > 0))
    return broken


def _has_few_bits(tensor: WatchedTensor) -> bool:
    return tensor.dtype.startswith("float8") or tensor.dtype in ("float16", "bfloat16")


def _is_trained(tensor: WatchedTensor) -> bool:
    return tensor.phase == "parameter" and tensor.op_type != FROZEN


def _relu_like(tensor: WatchedTensor) -> bool:
    return tensor.phase == "forward" and base_name(tensor) in ("relu", "relu6", "threshold", "hardtanh", "hardswish")


def _squashing(tensor: WatchedTensor) -> str:
    kind = base_name(tensor)
    return kind if tensor.phase == "forward" and kind in ("sigmoid", "tanh") else ""


def _saturated(found: Round) -> Mask:
    mean, square = found.figure("mean"), found.figure("variance") + found.figure("mean") ** 2
    # The mean of the derivative (1 - y**2 for tanh, y - y**2 for the sigmoid), as a fraction of its maximum.
    flat: Mask = np.where(found.trait, 1 - square, 4 * (mean - square)) < 0.01
    return flat


def _all_zero(found: Round) -> Mask:
    broken: Mask = (found.figure("size") > 0) & (found.figure("zeros") == found.figure("size"))
    return broken


def _unchanged(found: Round) -> Mask:
    same = np.isclose(found.figures, found.before, rtol=1e-5, atol=1e-8) | np.isnan(found.figures)
    measured = ~np.isnan(found.before[:, COLUMN["size"]]) & (found.figure("size") > 0)
    return measured & same.all(axis=1)


def _update_ratio(found: Round) -> Mask:
    ratio = found.figure("l2") / (found.parameter_l2 + 1e-9)
    return (found.parameter_l2 > 0) & ((ratio > 10) | ((ratio < 1e-8) & (ratio > 0)))


def _counts(figures: Mapping[str, float]) -> str:
    names = (("nan", "NaN"), ("positive_infinity", "+Inf"), ("negative_infinity", "-Inf"))
    counts = [f"{figures[figure]:,.0f} {name}" for figure, name in names if figures[figure] > 0]
    if not counts:
        return "elements that are not finite"
    elements = "element" if figures["size"] == 1 else "elements"
    return f"{' and '.join(counts)} of {figures['size']:,.0f} {elements}"


TENSOR_RULES: Final = (
    TensorRule(
        "not_finite",
        "A value has NaN or infinite elements. Operations that make masks may have -Inf.",
        f"{_SAGEMAKER} for exploding_tensor: any",
        lambda tensor: True,
        _not_finite,
        lambda tensor, figures: f"has {_counts(figures)}; all should be finite",
        ("size", "nan", "positive_infinity", "negative_infinity"),
        trait=makes_masks,
    ),
    TensorRule(
        "exploding",
        "The mean absolute value is over 1,000 times its running mean (exponential, with weight 0.1 for the newest"
        " value, after at least three values); or, in a 16- or 8-bit type, an element is within a factor of two of the"
        " type's maximum.",
        "Stepscope's own",
        lambda tensor: not is_operation(tensor) and tensor.phase in ("forward", "backward", "update", "parameter"),
        _exploding,
        lambda tensor, figures: (
            f"grew to a mean absolute value of {figures['absolute_mean']:.3g} from {figures['baseline']:.3g}"
            if figures["absolute_mean"] > 1000 * figures["baseline"]
            else f"has {figures['overflow']:.2%} of its elements at the limit of {tensor.dtype}"
        ),
        ("absolute_mean", "baseline", "overflow"),
        trait=_has_few_bits,
    ),
    TensorRule(
        "vanishing",
        "The mean absolute value of a gradient is below 1e-7, three times in a row.",
        f"{_SAGEMAKER} for vanishing_gradient; three times is Stepscope's own",
        lambda tensor: tensor.phase == "backward" and not is_operation(tensor),
        lambda found: (found.figure("absolute_mean") < 1e-7) & (found.figure("zeros") < found.figure("size")),
        lambda tensor, figures: f"has a mean absolute value of {figures['absolute_mean']:.3g}, below the limit of 1e-7",
        ("absolute_mean",),
        patience=3,
    ),
    TensorRule(
        "dead",
        "At least 95% of a ReLU's outputs are zero, three times in a row.",
        "Stepscope's own, because the share of individual units is not recorded",
        _relu_like,
        lambda found: found.figure("zeros") >= 0.95 * np.maximum(found.figure("size"), 1),
        lambda tensor, figures: f"is {figures['zeros'] / figures['size']:.1%} zeros; expected under 95%",
        ("zeros", "size"),
        patience=3,
    ),
    TensorRule(
        "saturated",
        "The mean slope of a sigmoid or tanh is below 1% of its steepest, three times in a row.",
        "Stepscope's own",
        lambda tensor: bool(_squashing(tensor)),
        _saturated,
        lambda tensor, figures: "is saturated: its mean slope is below 1% of the steepest",
        ("mean", "variance"),
        trait=lambda tensor: _squashing(tensor) == "tanh",
        patience=3,
    ),
    TensorRule(
        "all_zero",
        "All elements of an output, a gradient or a trained parameter are zero, three times in a row.",
        f"{_SAGEMAKER} for all_zero: 100%; three times is Stepscope's own",
        lambda tensor: not is_operation(tensor) and (tensor.phase in ("forward", "backward") or _is_trained(tensor)),
        _all_zero,
        lambda tensor, figures: f"is zero in all of its {figures['size']:,.0f} elements",
        ("size",),
        patience=3,
    ),
    TensorRule(
        "unchanged",
        "No statistic of a trained parameter changed (relative 1e-5, absolute 1e-8), three times in a row.",
        f"{_SAGEMAKER} for unchanged_tensor",
        _is_trained,
        _unchanged,
        lambda tensor, figures: "no longer changes, though it is trained",
        ("l2",),
        patience=3,
    ),
    TensorRule(
        "update_ratio",
        "The L2 norm of an update is over 10 times, or under 1e-8 times, that of its parameter, three times in a row.",
        f"{_SAGEMAKER} for weight_update_ratio, with its epsilon of 1e-9; three times is Stepscope's own",
        lambda tensor: tensor.phase == "update",
        _update_ratio,
        lambda tensor, figures: (
            f"is {figures['l2'] / (figures['parameter_l2'] + 1e-9):.3g} times its parameter; expected 1e-8 to 10"
        ),
        ("l2", "parameter_l2"),
        patience=3,
    ),
)
