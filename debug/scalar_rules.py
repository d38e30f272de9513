"""Rules about scalars: losses that do not fall, spikes, overfitting, imbalanced classes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from stepscope.summary.counts import counted
from stepscope.summary.debugger.model import Alert

Points = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Steps and values of one tag."""
Curves = Mapping[str, Points]

LABELS_FOLDER: Final = "labels"
"""Tags ``labels/<class>`` are the number of examples seen of each class."""
REACH: Final = 200
"""Number of points before the last that decide whether it breaks a rule."""

_WINDOW: Final = 10
_SPIKE_WINDOW: Final = 20
_SPIKE_DEVIATIONS: Final = 6
_GAP: Final = 0.1
_GAP_PATIENCE: Final = 3
_IMBALANCE: Final = 10
_LEAST_LABELS: Final = 500
_MAD_OF_NORMAL: Final = 1.4826
_VALIDATION: Final = ("validation", "valid", "val", "eval", "test")


@dataclass(frozen=True)
class ScalarRule:
    """A rule about scalars."""

    name: str
    about: str
    """What it finds, with its thresholds."""
    source: str
    """Where the thresholds are from."""
    judge: Callable[[Curves], list[Alert]]
    """Finds what breaks it, one alert for each stretch of points that do."""
    is_state: bool = False
    """Whether it looks only at the last points, so that it finds the same again until that is over."""


def is_loss(tag: str) -> bool:
    """Return whether a tag belongs to a training loss, judged by its name."""
    return "loss" in tag.lower() and not is_validation(tag)


def is_validation(tag: str) -> bool:
    """Return whether a tag belongs to data that is not trained on, judged by its name."""
    return any(part in _VALIDATION for part in _parts(tag))


def _parts(tag: str) -> list[str]:
    return tag.lower().replace("\\", "/").replace(".", "/").replace("_", "/").replace("-", "/").split("/")


def _onsets(broken: NDArray[np.bool_], patience: int = 1) -> list[int]:
    """Return where ``patience`` points in a row break a rule, once for each stretch."""
    counts = np.zeros(len(broken), np.int64)
    places = np.arange(len(broken))
    last_good = np.maximum.accumulate(np.where(broken, -1, places))
    counts[broken] = (places - last_good)[broken]
    return np.flatnonzero(counts == patience).tolist()


def _finite(points: Points) -> Points:
    steps, values = points
    finite = np.isfinite(values)
    return steps[finite], values[finite]


def _alert(rule: str, step: int, tag: str, text: str, **figures: float) -> Alert:
    return Alert(rule, step, None, f"{tag} {text}", figures=figures)


def loss_not_decreasing(curves: Curves) -> list[Alert]:
    """Find losses whose median of 10 points is not below that of the 10 before, ten points in a row."""
    found = []
    for tag, points in curves.items():
        steps, values = _finite(points)
        if not is_loss(tag) or len(values) < 3 * _WINDOW:
            continue
        medians = np.median(sliding_window_view(values, _WINDOW), axis=1)
        broken = medians[_WINDOW:] >= medians[:-_WINDOW]
        for place in _onsets(broken, _WINDOW):
            # The last point of the later window.
            at = place + 2 * _WINDOW - 1
            later, before = float(medians[place + _WINDOW]), float(medians[place])
            text = f"does not decrease: the median of 10 points is {later:.4g}, that of the 10 before {before:.4g}"
            found.append(_alert("loss_not_decreasing", int(steps[at]), tag, text, median=later, before=before))
    return found


def loss_spike(curves: Curves) -> list[Alert]:
    """Find losses that are not finite, or far above the 20 points before."""
    found = []
    for tag, (steps, values) in curves.items():
        if not is_loss(tag):
            continue
        for place in _onsets(~np.isfinite(values)):
            text = f"is {values[place]}; expected a finite number"
            found.append(_alert("loss_spike", int(steps[place]), tag, text, value=float(values[place])))
        finite_steps, finite = _finite((steps, values))
        if len(finite) <= _SPIKE_WINDOW:
            continue
        windows = sliding_window_view(finite, _SPIKE_WINDOW)[:-1]
        medians = np.median(windows, axis=1)
        spreads = _MAD_OF_NORMAL * np.median(np.abs(windows - medians[:, np.newaxis]), axis=1)
        values_after = finite[_SPIKE_WINDOW:]
        with np.errstate(invalid="ignore"):
            far = values_after > medians + _SPIKE_DEVIATIONS * spreads
            broken = far & (values_after > medians + np.abs(medians))
        for place in _onsets(broken):
            at, median = place + _SPIKE_WINDOW, float(medians[place])
            text = f"jumped to {finite[at]:.4g} from a median of {median:.4g} in the 20 points before"
            found.append(_alert("loss_spike", int(finite_steps[at]), tag, text, value=float(finite[at]), median=median))
    return found


def overfit(curves: Curves) -> list[Alert]:
    """Find validation losses that are more than 10% above the training loss and rise, three points in a row."""
    found = []
    for tag, train, validation in _pairs(curves):
        (train_steps, train_values), (steps, values) = _finite(train), _finite(validation)
        places = np.searchsorted(train_steps, steps, "right") - 1
        known = places >= 0
        steps, values, places = steps[known], values[known], places[known]
        if len(values) < 2:
            continue
        beside = train_values[places]
        gap = (values - beside) / np.maximum(np.abs(beside), 1e-12)
        best_before = np.concatenate([[np.inf], np.minimum.accumulate(values)[:-1]])
        for place in _onsets((gap > _GAP) & (values > best_before), _GAP_PATIENCE):
            text = f"rises while it is {gap[place]:.0%} above the training loss: overfitting"
            found.append(_alert("overfit", int(steps[place]), tag, text, gap=float(gap[place])))
    return found


def _pairs(curves: Curves) -> Iterator[tuple[str, Points, Points]]:
    """Yield each validation loss's tag, its training loss, and itself: tags that differ only by that word."""
    training = {tuple(p for p in _parts(tag) if p not in ("train", "training")): tag for tag in curves if is_loss(tag)}
    for tag, points in curves.items():
        if "loss" in tag.lower() and is_validation(tag):
            other = training.get(tuple(part for part in _parts(tag) if part not in _VALIDATION))
            if other is not None:
                yield tag, curves[other], points


def class_imbalance(curves: Curves) -> list[Alert]:
    """Find classes of which ten times as many examples were seen as of another, of 500 examples at least."""
    seen = {
        tag.partition("/")[2]: (int(steps[-1]), float(values[-1]))
        for tag, (steps, values) in curves.items()
        if tag.startswith(f"{LABELS_FOLDER}/") and len(values) and np.isfinite(values[-1])
    }
    if len(seen) < 2 or sum(count for _, count in seen.values()) < _LEAST_LABELS:
        return []
    most = max(seen, key=lambda name: seen[name][1])
    least = min(seen, key=lambda name: seen[name][1])
    (step, high), (_, low) = seen[most], seen[least]
    if high <= _IMBALANCE * low:
        return []
    text = f"has {counted(int(high), 'example')}, more than 10 times as many as class {least} with {low:,.0f}"
    return [_alert("class_imbalance", step, f"class {most}", text, most=high, least=low)]


SCALAR_RULES: Final = (
    ScalarRule(
        "loss_not_decreasing",
        "The median of 10 points of a loss is not below that of the 10 before, ten points in a row.",
        "Amazon SageMaker Debugger's default of 10 steps and 0%; medians, for noise, are Stepscope's own",
        loss_not_decreasing,
    ),
    ScalarRule(
        "loss_spike",
        "A loss is NaN or infinite; or six standard deviations (by the median absolute deviation) above the median of"
        " the 20 points before, and twice it.",
        "Stepscope's own",
        loss_spike,
    ),
    ScalarRule(
        "overfit",
        "A validation loss is over 10% above the training loss and above its own best, three points in a row.",
        "Amazon SageMaker Debugger's default ratio of 0.1; three points are Stepscope's own",
        overfit,
    ),
    ScalarRule(
        "class_imbalance",
        "One class has over 10 times as many examples as another, among at least 500 (tags labels/CLASS).",
        "Amazon SageMaker Debugger's default",
        class_imbalance,
        is_state=True,
    ),
)
"""All scalar rules."""
