"""Rules: what in the tensors and scalars of a training run raises an alert, with thresholds and their sources.

    from stepscope.debug import rules
    alerts = rules.judge(data, scalars)

A rule is a pure function. During recording, a `Judgment` is given one step after another; `judge` gives it a whole
recording or dump. Each stretch in which a rule is broken is one alert, at the observation that makes it certain.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.scalar_rules import SCALAR_RULES, ScalarRule
from stepscope.debug.tensor_names import called
from stepscope.debug.tensor_rules import TENSOR_RULES, Mask, Round, TensorRule
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.counts import counted
from stepscope.summary.debugger.model import COLUMN, FIGURES, Alert, DebugData, Observations, WatchedTensor

MOST_ALERTS: Final = 1_000
"""Maximum number of alerts of `judge`."""
MOST_OF_A_RULE: Final = 10
"""Maximum number of alerts of one rule in one step; the number of further tensors is one more alert."""
_STRETCH: Final = 1 << 14
"""Number of observations that are read at once."""
_BASELINE_WEIGHT: Final = 0.1
_BASELINE_LEAST: Final = 3


class Curve(Protocol):
    """A scalar's points, as in `stepscope.summary.series.Series` and `Columns`."""

    @property
    def steps(self) -> NDArray[np.int64]: ...

    @property
    def wall_times(self) -> NDArray[np.float64]: ...

    @property
    def values(self) -> NDArray[np.float64]: ...


Rule = TensorRule | ScalarRule


ALL: Final[tuple[Rule, ...]] = (*TENSOR_RULES, *SCALAR_RULES)
"""All rules; `named` selects among them."""


def named(names: Iterable[str]) -> tuple[Rule, ...]:
    """Return rules by their names.

    Raises:
        ValueError: there is no such rule; the message lists those that exist.
    """
    rules = {rule.name: rule for rule in ALL}
    chosen = tuple(names)
    if unknown := [name for name in chosen if name not in rules]:
        raise ValueError(f"there is no rule {unknown[0]!r}; expected some of {', '.join(rules)}")
    return tuple(rules[name] for name in chosen)


class Judgment:
    """What rules have seen of a training run so far, and what they find next."""

    def __init__(self, rules: Iterable[Rule] = ALL) -> None:
        self._rules: Final = tuple(rule for rule in rules if isinstance(rule, TensorRule))
        self._applies: Final = [np.zeros(0, bool) for _ in self._rules]
        self._traits: Final = [np.zeros(0, bool) for _ in self._rules]
        self._streaks: Final = [np.zeros(0, np.int64) for _ in self._rules]
        self._before = np.empty((0, len(FIGURES)))
        self._baseline = np.empty(0)
        self._seen = np.zeros(0, np.int64)
        self._parameters: dict[str, int] = {}
        self._parameter_of = np.zeros(0, np.int64)
        self._parameter_steps = np.zeros(0, np.int64)

    def advance(self, tensors: Sequence[WatchedTensor], observations: Observations, first: int = 0) -> list[Alert]:
        """Return alerts for the next observations, in their order.

        Args:
            tensors: all tensors that exist by now; earlier ones must not change.
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
            self._applies[place] = _joined(self._applies[place], rule.applies, tensors[known:])
            self._traits[place] = _joined(self._traits[place], rule.trait, tensors[known:])
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
            figures,
            self._before[numbers],
            np.where(self._seen[numbers] >= _BASELINE_LEAST, self._baseline[numbers], np.nan),
            np.full(len(numbers), np.nan),
            np.zeros(len(numbers), bool) if observations.marked is None else observations.marked[begin:end],
            np.zeros(len(numbers), bool),
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
                broken = rule.broken(_rows(everything, rows, self._traits[place][numbers[rows]]))
            streaks = self._streaks[place]
            streaks[numbers[rows]] = np.where(broken, streaks[numbers[rows]] + 1, 0)
            due = rows[broken & (streaks[numbers[rows]] == rule.patience)]
            for count, row in enumerate(due.tolist()):
                if count == MOST_OF_A_RULE:
                    text = f"{rule.name}: {counted(len(due) - count, 'more tensor')} in this step"
                    alerts.append((row, Alert(rule.name, int(steps[row]), None, text)))
                    break
                alert = self._alert(rule, tensors, everything, row, observations, begin, first)
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
        tensors: Sequence[WatchedTensor],
        everything: Round,
        row: int,
        observations: Observations,
        begin: int,
        first: int,
    ) -> Alert:
        number = int(observations.tensors[begin + row])
        tensor = tensors[number]
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


def _joined(known: Mask, question: Callable[[WatchedTensor], bool], more: Sequence[WatchedTensor]) -> Mask:
    return np.concatenate([known, np.array([question(tensor) for tensor in more], bool)])


def _rows(found: Round, rows: NDArray[np.int64], trait: Mask) -> Round:
    return Round(
        found.figures[rows],
        found.before[rows],
        found.baseline[rows],
        found.parameter_l2[rows],
        found.marked[rows],
        trait,
    )


def _rounds(tensors: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Split a stretch so that no piece has a tensor twice."""
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
    """Return the alerts for a recording or a dump, and for the scalars of the same run.

    Args:
        data: read completely, one stretch at a time.
        scalars: by tag, such as ``{series.tag: series for series in run.of_kind("scalars")}``.
        rules: the rules to apply.

    Returns:
        At most `MOST_ALERTS`, by step, and within a step in the order of the observations.
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
    """Yield all observations, one piece at a time, with the number of each piece's first."""
    for begin in range(0, data.observation_count, _STRETCH):
        check_cancelled()
        yield begin, data.observations(begin, min(begin + _STRETCH, data.observation_count))
