"""Metrics from the counts of a binary classifier: pure functions over the tables of PR curves."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.steps import pick
from stepscope.summary.kinds.pr_curve import PrCurve

Floats = NDArray[np.float64]

MOST_THRESHOLDS: Final = 1_001
"""Maximum number of thresholds drawn of one curve; the areas and the best F1 are computed from all thresholds."""
_TOLERANCE: Final = 1e-3
"""How far written precision and recall may be from the counts before this is reported; they are usually float32."""


@dataclass(frozen=True)
class Curve:
    """One curve at its valid thresholds, in ascending order of threshold."""

    thresholds: Floats
    """float64[n] in 0..1. A prediction at or above its threshold counts as positive."""
    counts: Floats
    """float64[4, n]: true positives, false positives, true negatives, false negatives; finite and not negative."""
    precision: Floats
    """float64[n], as written."""
    recall: Floats
    """float64[n], as written."""
    shown: int
    """The number of thresholds of a PR curve: those at the end at which nothing counts as positive are cut off."""
    left_out: int
    """Number of thresholds of the record left out, because a number there is NaN, infinite, negative or above 1."""

    @property
    def positives(self) -> float:
        """Total weight of the positive samples."""
        return float(self.counts[0, 0] + self.counts[3, 0]) if len(self.thresholds) else 0.0

    @property
    def negatives(self) -> float:
        """Total weight of the negative samples."""
        return float(self.counts[1, 0] + self.counts[2, 0]) if len(self.thresholds) else 0.0

    @property
    def baseline(self) -> float:
        """The fraction of positives: the precision of a random classifier. NaN without samples."""
        total = self.positives + self.negatives
        return self.positives / total if total > 0 else float("nan")

    @cached_property
    def average_precision(self) -> float:
        """The sum over thresholds, from the highest down, of (R_n - R_(n-1)) P_n, with R_0 = 0.

        This is the definition of scikit-learn's ``average_precision_score``, at the thresholds of the record; equal to
        it if no two different predictions lie between two thresholds. NaN without positives, or with fewer than two
        thresholds.
        """
        if self.positives == 0 or len(self.thresholds) < 2:
            return float("nan")
        recall = np.append(self.recall[: self.shown], 0.0)
        return float(-np.sum(np.diff(recall) * self.precision[: self.shown]))

    @cached_property
    def roc(self) -> tuple[Floats, Floats]:
        """False and true positive rates, float64[n] each: FP / (FP + TN) and TP / (TP + FN); NaN where undefined."""
        true_positives, false_positives, true_negatives, false_negatives = self.counts
        return (
            _ratio(false_positives, false_positives + true_negatives),
            _ratio(true_positives, true_positives + false_negatives),
        )

    @cached_property
    def roc_auc(self) -> float:
        """The area under the ROC curve by trapezoids, with the curve extended to (0, 0) and (1, 1).

        NaN without positives or without negatives, or with fewer than two thresholds.
        """
        if self.positives == 0 or self.negatives == 0 or len(self.thresholds) < 2:
            return float("nan")
        false_rate, true_rate = (np.concatenate([[1.0], rate, [0.0]]) for rate in self.roc)
        return float(-np.trapezoid(true_rate, false_rate))

    @cached_property
    def f1(self) -> Floats:
        """2 TP / (2 TP + FP + FN), float64[n]; NaN where there are neither true nor predicted positives."""
        true_positives, false_positives, _, false_negatives = self.counts
        return _ratio(2 * true_positives, 2 * true_positives + false_positives + false_negatives)

    @cached_property
    def accuracy(self) -> Floats:
        """(TP + TN) / all, float64[n]; NaN without samples."""
        return _ratio(self.counts[0] + self.counts[2], self.counts.sum(axis=0))

    @cached_property
    def mcc(self) -> Floats:
        """Matthews correlation coefficient, float64[n]; 0 if a row or column of the matrix is empty.

        (TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN)), as scikit-learn's ``matthews_corrcoef``.
        """
        tp, fp, tn, fn = self.counts
        # Separate roots, because the product of four large counts may overflow float64.
        below = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
        quotient: Floats = np.divide(tp * tn - fp * fn, below, out=np.zeros_like(below), where=below > 0)
        return quotient

    @cached_property
    def best(self) -> int | None:
        """Index of the threshold with the maximum F1, the lowest if there are several; None if there is no F1."""
        return int(np.nanargmax(self.f1)) if np.isfinite(self.f1).any() else None

    @property
    def contradicts(self) -> bool:
        """Whether precision or recall as logged disagree with the counts."""
        tp, fp, _, fn = self.counts
        pairs = ((self.precision, _ratio(tp, tp + fp)), (self.recall, _ratio(tp, tp + fn)))
        return any(bool((np.abs(written - counted) > _TOLERANCE).any()) for written, counted in pairs)

    def thinned(self) -> NDArray[np.int64]:
        """Return the indices of the thresholds to draw: all, or `MOST_THRESHOLDS` evenly spaced, and the best F1."""
        chosen = pick(len(self.thresholds), MOST_THRESHOLDS)
        return chosen if self.best is None else np.union1d(chosen, [self.best])


def check(found: PrCurve) -> Curve:
    """Leave out the thresholds with impossible values."""
    table = found.table
    possible = np.isfinite(table) & (table >= 0)
    possible[4:] &= table[4:] <= 1 + _TOLERANCE
    usable = np.logical_and.reduce(possible)
    kept = table[:, usable]
    return Curve(
        thresholds=found.thresholds[usable],
        counts=kept[:4],
        precision=kept[4],
        recall=kept[5],
        shown=_shown(kept[0] + kept[1]),
        left_out=int(len(usable) - usable.sum()),
    )


def _shown(predicted_positive: Floats) -> int:
    """Return the number of thresholds to keep, like `shown_thresholds` of TensorBoard's routes.

    The sums are not rounded to integers: weights may sum to less than 1.
    """
    reached = np.flatnonzero(predicted_positive > 0)
    return int(reached[-1]) + 1 if len(reached) else min(1, len(predicted_positive))


def _ratio(part: Floats, whole: Floats) -> Floats:
    quotient: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return quotient
