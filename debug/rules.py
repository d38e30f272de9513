"""Rules: what in the tensors and scalars of a training is worth an alert, with thresholds and where these are from.

    from stepscope.debug import rules
    alerts = rules.judge(data, scalars)

A rule is a pure function. While a training is recorded, a `Judgment` is given one step after another; `judge` gives it
all of a recording or of a dump. One stretch in which a rule is broken is one alert, at the observation that makes it
certain.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.scalar_rules import SCALAR_RULES, ScalarRule
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.debugger.model import COLUMN, FIGURES, Alert, DebugData, Figure, Observations, WatchedTensor

Mask = NDArray[np.bool_]
MOST_ALERTS: Final = 1_000
"""Of `judge`."""
MOST_OF_A_RULE: Final = 10
"""Alerts of one rule in one step; how many more tensors there are is one more alert."""
_STRETCH: Final = 1 << 14
"""Observations that are read at once."""
_SAGEMAKER: Final = "Amazon SageMaker Debugger's default"
_BASELINE_WEIGHT: Final = 0.1
_BASELINE_LEAST: Final = 3


class Curve(Protocol):
    """A scalar's points, as `stepscope.summary.series.Series` and `Columns` have them."""

    @property
    def steps(self) -> NDArray[np.int64]: ...

    @property
    def wall_times(self) -> NDArray[np.float64]: ...

    @property
    def values(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Round:
    """Observations of different tensors, a row each, with what was known of these tensors before."""

    watched: Sequence[WatchedTensor]
    """The tensor of each."""
    figures: NDArray[np.float64]
    """[n, len(FIGURES)]"""
    before: NDArray[np.float64]
    """The figures of the same tensors the last time; NaN where there was none."""
    baseline: NDArray[np.float64]
    """[n]: the running mean of the absolute mean until then; NaN until it is of three observations."""
    parameter_l2: NDArray[np.float64]
    """[n]: of an update, the L2 norm of the parameter that it was added to; else NaN."""
    marked: Mask
    """[n]: whether it is known to be not finite, though not how; see `Observations.marked`."""

    def figure(self, figure: Figure) -> NDArray[np.float64]:
        """Return one figure of each."""
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
    patience: int = 1
    """Observations in a row that must break it."""


Rule = TensorRule | ScalarRule


def _bad(found: Round) -> Mask:
    counts = found.figure("nan") + found.figure("positive_infinity") + found.figure("negative_infinity")
    bad: Mask = (counts > 0) | found.marked
    return bad


def is_operation(tensor: WatchedTensor) -> bool:
    """Return whether it is the output of a single operation, such as "aten.log", rather than of a module."""
    return "." in tensor.op_type


def base_name(tensor: WatchedTensor) -> str:
    """Return what an operation or a module is called without the library's name, such as "log" or "relu"."""
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
    """Return whether -Inf in its values is as a rule meant so: attention masks are made by such operations."""
    return is_operation(tensor) and base_name(tensor) in _MASKING


def _not_finite(found: Round) -> Mask:
    only_negative = found.figure("nan") + found.figure("positive_infinity") == 0
    masks = np.array([makes_masks(tensor) for tensor in found.watched], bool)
    broken: Mask = _bad(found) & ~(only_negative & masks)
    return broken


def _exploding(found: Round) -> Mask:
    few_bits = np.array([_bits(tensor.dtype) <= 16 for tensor in found.watched], bool)
    grown = found.figure("absolute_mean") > 1000 * found.baseline
    broken: Mask = (grown & (found.baseline > 0)) | (few_bits & (found.figure("overflow") > 0))
    return broken


def _bits(dtype: str) -> int:
    if dtype.startswith("float8"):
        return 8
    return 16 if dtype in ("float16", "bfloat16") else 64


def _relu_like(tensor: WatchedTensor) -> bool:
    return tensor.phase == "forward" and base_name(tensor) in ("relu", "relu6", "threshold", "hardtanh", "hardswish")


def _squashing(tensor: WatchedTensor) -> str:
    kind = base_name(tensor)
    return kind if tensor.phase == "forward" and kind in ("sigmoid", "tanh") else ""


def _saturated(found: Round) -> Mask:
    is_tanh = np.array([_squashing(tensor) == "tanh" for tensor in found.watched], bool)
    mean, square = found.figure("mean"), found.figure("variance") + found.figure("mean") ** 2
    # The mean of the derivative, 1 - y**2 of tanh and y - y**2 of the sigmoid, as a share of the steepest.
    flat: Mask = np.where(is_tanh, 1 - square, 4 * (mean - square)) < 0.01
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
    return f"{' and '.join(counts)} of {figures['size']:,.0f} elements"


TENSOR_RULES: Final = (
    TensorRule(
        "not_finite",
        "A value has NaN or infinite elements. Operations that make masks may have -Inf.",
        f"{_SAGEMAKER} for exploding_tensor: any",
        lambda tensor: True,
        _not_finite,
        lambda tensor, figures: f"has {_counts(figures)}, where all should be finite",
        ("size", "nan", "positive_infinity", "negative_infinity"),
    ),
    TensorRule(
        "exploding",
        "The absolute mean is over 1,000 times its running mean (a tenth for the newest, at least three before), or in"
        " 16 or 8 bits an element is within a factor of two of the largest number.",
        "Stepscope's own",
        lambda tensor: not is_operation(tensor) and tensor.phase in ("forward", "backward", "update", "parameter"),
        _exploding,
        lambda tensor, figures: (
            f"grew to an absolute mean of {figures['absolute_mean']:.3g} from {figures['baseline']:.3g}"
            if figures["absolute_mean"] > 1000 * figures["baseline"]
            else f"has {figures['overflow']:.2%} of its elements at the limit of {tensor.dtype}"
        ),
        ("absolute_mean", "baseline", "overflow"),
    ),
    TensorRule(
        "vanishing",
        "The absolute mean of a gradient is below 1e-7, three times in a row.",
        f"{_SAGEMAKER} for vanishing_gradient; three times is Stepscope's own",
        lambda tensor: tensor.phase == "backward" and not is_operation(tensor),
        lambda found: (found.figure("absolute_mean") < 1e-7) & (found.figure("zeros") < found.figure("size")),
        lambda tensor, figures: f"has an absolute mean of {figures['absolute_mean']:.3g}, where 1e-7 is the least",
        ("absolute_mean",),
        patience=3,
    ),
    TensorRule(
        "dead",
        "At least 95% of what a ReLU gives are zeros, three times in a row.",
        "Stepscope's own, as the share of single units is not recorded",
        _relu_like,
        lambda found: found.figure("zeros") >= 0.95 * np.maximum(found.figure("size"), 1),
        lambda tensor, figures: f"is {figures['zeros'] / figures['size']:.1%} zeros, where under 95% is expected",
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
        patience=3,
    ),
    TensorRule(
        "all_zero",
        "All elements of an output, a gradient or a parameter are zero, three times in a row.",
        f"{_SAGEMAKER} for all_zero: 100%; three times is Stepscope's own",
        lambda tensor: not is_operation(tensor) and tensor.phase in ("forward", "backward", "parameter"),
        _all_zero,
        lambda tensor, figures: f"is zero in all of its {figures['size']:,.0f} elements",
        ("size",),
        patience=3,
    ),
    TensorRule(
        "unchanged",
        "No figure of a parameter changed (relative 1e-5, absolute 1e-8), three times in a row.",
        f"{_SAGEMAKER} for unchanged_tensor",
        lambda tensor: tensor.phase == "parameter",
        _unchanged,
        lambda tensor, figures: "does not change any more, though it is trained",
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
            f"is {figures['l2'] / (figures['parameter_l2'] + 1e-9):.3g} times its parameter, where 1e-8 to 10 are usual"
        ),
        ("l2", "parameter_l2"),
        patience=3,
    ),
)
ALL: Final[tuple[Rule, ...]] = (*TENSOR_RULES, *SCALAR_RULES)
"""All rules; `named` chooses among them."""


def named(names: Iterable[str]) -> tuple[Rule, ...]:
    """Return rules by their names.

    Raises:
        ValueError: there is no such rule; says which there are.
    """
    rules = {rule.name: rule for rule in ALL}
    chosen = tuple(names)
    if unknown := [name for name in chosen if name not in rules]:
        raise ValueError(f"there is no rule {unknown[0]!r}; expected some of {', '.join(rules)}")
    return tuple(rules[name] for name in chosen)


class Judgment:
    """What rules have seen of a training so far, and what they find in what comes next."""

    def __init__(self, rules: Iterable[Rule] = ALL) -> None:
        self._rules: Final = tuple(rule for rule in rules if isinstance(rule, TensorRule))
        self._applies: Final = [np.zeros(0, bool) for _ in self._rules]
        self._streaks: Final = [np.zeros(0, np.int64) for _ in self._rules]
        self._before = np.empty((0, len(FIGURES)))
        self._baseline = np.empty(0)
        self._seen = np.zeros(0, np.int64)
        self._parameters: dict[str, int] = {}
        self._parameter_of = np.zeros(0, np.int64)
        self._parameter_steps = np.zeros(0, np.int64)

    def advance(self, tensors: Sequence[WatchedTensor], observations: Observations, first: int = 0) -> list[Alert]:
        """Return what the next observations break, in their order.

        Args:
            tensors: all that there are by now; those that were there before stay as they are.
            observations: the next ones.
            first: the number of the first of them.
        """
        self._learn(tensors)
        alerts: list[Alert] = []
        for begin, end in _rounds(observations.tensors):
            alerts.extend(self._round(tensors, observations, begin, end, first))
        return alerts

    def _learn(self, tensors: Sequence[WatchedTensor]) -> None:
        known, count = len(self._seen), len(tensors)
        if known == count:
            return
        more = count - known
        self._before = np.concatenate([self._before, np.full((more, len(FIGURES)), np.nan)])
        self._baseline = np.concatenate([self._baseline, np.zeros(more)])
        self._seen = np.concatenate([self._seen, np.zeros(more, np.int64)])
        self._parameter_steps = np.concatenate([self._parameter_steps, np.full(more, -1)])
        for place, rule in enumerate(self._rules):
            self._streaks[place] = np.concatenate([self._streaks[place], np.zeros(more, np.int64)])
            applies = np.array([rule.applies(tensor) for tensor in tensors[known:]], bool)
            self._applies[place] = np.concatenate([self._applies[place], applies])
        for number in range(known, count):
            if tensors[number].phase == "parameter":
                self._parameters[tensors[number].name] = number
        self._parameter_of = np.array(
            [self._parameters.get(t.name, -1) if t.phase == "update" else -1 for t in tensors], np.int64
        )

    def _round(
        self, tensors: Sequence[WatchedTensor], observations: Observations, begin: int, end: int, first: int
    ) -> list[Alert]:
        numbers = observations.tensors[begin:end]
        figures = observations.figures[begin:end]
        steps = observations.steps[begin:end]
        everything = Round(
            [tensors[number] for number in numbers.tolist()],
            figures,
            self._before[numbers],
            np.where(self._seen[numbers] >= _BASELINE_LEAST, self._baseline[numbers], np.nan),
            np.full(len(numbers), np.nan),
            np.zeros(len(numbers), bool) if observations.marked is None else observations.marked[begin:end],
        )
        self._remember(numbers, figures, steps)
        parameters = self._parameter_of[numbers]
        same_step = (parameters >= 0) & (self._parameter_steps[parameters] == steps)
        everything.parameter_l2[same_step] = self._before[parameters[same_step], COLUMN["l2"]]
        alerts: list[tuple[int, Alert]] = []
        for place, rule in enumerate(self._rules):
            rows = np.flatnonzero(self._applies[place][numbers])
            if not len(rows):
                continue
            with np.errstate(all="ignore"):
                broken = rule.broken(_rows(everything, rows))
            streaks = self._streaks[place]
            streaks[numbers[rows]] = np.where(broken, streaks[numbers[rows]] + 1, 0)
            due = rows[broken & (streaks[numbers[rows]] == rule.patience)]
            for count, row in enumerate(due.tolist()):
                if count == MOST_OF_A_RULE:
                    text = f"{rule.name}: {len(due) - count:,} more tensors in this step"
                    alerts.append((row, Alert(rule.name, int(steps[row]), None, text)))
                    break
                alert = self._alert(rule, everything, row, int(numbers[row]), observations, begin, first)
                alerts.append((row, alert))
        return [alert for _, alert in sorted(alerts, key=lambda pair: pair[0])]

    def _remember(self, numbers: NDArray[np.int32], figures: NDArray[np.float64], steps: NDArray[np.int64]) -> None:
        self._before[numbers] = figures
        self._parameter_steps[numbers] = steps
        size = figures[:, COLUMN["absolute_mean"]]
        usual = np.isfinite(size)
        known = numbers[usual]
        weight = np.where(self._seen[known] == 0, 1.0, _BASELINE_WEIGHT)
        self._baseline[known] += weight * (size[usual] - self._baseline[known])
        self._seen[known] += 1

    def _alert(
        self,
        rule: TensorRule,
        everything: Round,
        row: int,
        number: int,
        observations: Observations,
        begin: int,
        first: int,
    ) -> Alert:
        tensor = everything.watched[row]
        figures = dict(zip(FIGURES, everything.figures[row].tolist(), strict=True))
        known: dict[str, float] = {
            **figures,
            "baseline": float(everything.baseline[row]),
            "parameter_l2": float(everything.parameter_l2[row]),
        }
        return Alert(
            rule.name,
            int(observations.steps[begin + row]),
            number,
            f"{called(tensor)} {rule.found(tensor, known)}",
            first + begin + row,
            float(observations.wall_times[begin + row]),
            {figure: known[figure] for figure in rule.judged_by},
        )


def called(tensor: WatchedTensor) -> str:
    """Return what a tensor is called in a sentence."""
    match tensor.phase:
        case "parameter":
            return f"the parameter {tensor.name}"
        case "backward":
            return f"the gradient of {tensor.name}" if not is_operation(tensor) else f"{tensor.name} (backward)"
        case "update":
            return f"the update of {tensor.name}"
        case _:
            return tensor.name


def _rows(found: Round, rows: NDArray[np.int64]) -> Round:
    return Round(
        [found.watched[row] for row in rows.tolist()],
        found.figures[rows],
        found.before[rows],
        found.baseline[rows],
        found.parameter_l2[rows],
        found.marked[rows],
    )


def _rounds(tensors: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Cut a stretch so that no piece has a tensor twice."""
    count = len(tensors)
    if not count:
        return
    order = np.argsort(tensors, kind="stable")
    previous = np.full(count, -1, np.int64)
    same = tensors[order[1:]] == tensors[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    latest = np.maximum.accumulate(previous)
    begin = 0
    while begin < count:
        end = int(np.searchsorted(latest, begin, "left"))
        yield begin, min(max(end, begin + 1), count)
        begin = max(end, begin + 1)


def judge(
    data: DebugData, scalars: Mapping[str, Curve] | None = None, rules: Iterable[Rule] = ALL
) -> tuple[Alert, ...]:
    """Return what rules find in a recording or a dump, and in the scalars of the same run.

    Args:
        data: read whole, a stretch at a time.
        scalars: by tag, such as ``{series.tag: series for series in run.of_kind("scalars")}``.
        rules: which.

    Returns:
        At most `MOST_ALERTS`, in the order of their steps, and within a step as the observations came.
    """
    chosen = tuple(rules)
    judgment = Judgment(chosen)
    alerts: list[Alert] = []
    for begin, found in stretches(data):
        alerts.extend(judgment.advance(data.tensors, found, begin))
        if len(alerts) >= MOST_ALERTS:
            break
    curves = {tag: (curve.steps, curve.values) for tag, curve in (scalars or {}).items()}
    for rule in chosen:
        if isinstance(rule, ScalarRule):
            alerts.extend(rule.judge(curves))
    alerts.sort(key=lambda alert: alert.step)
    return tuple(alerts[:MOST_ALERTS])


def stretches(data: DebugData) -> Iterator[tuple[int, Observations]]:
    """Give all observations, a piece at a time, with the number of each piece's first."""
    for begin in range(0, data.observation_count, _STRETCH):
        check_cancelled()
        yield begin, data.observations(begin, min(begin + _STRETCH, data.observation_count))
