"""How strongly each hyperparameter relates to a metric: importance in a random forest, and correlation."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.distinct import numbered
from stepscope.summary.full_install import SCIKIT_LEARN, NotInstalledError, needs_extra
from stepscope.summary.kinds.hparams import HParamValue

FEWEST_SESSIONS: Final = 8
"""Minimum number of sessions; with fewer, chance alone makes any hyperparameter look important."""
POOR_FIT: Final = 0.3
"""Out-of-bag R^2 below which the forest explains too little for its importances to be meaningful."""
TREES: Final = 100
REPEATS: Final = 3
MOST_CATEGORIES: Final = 30
MOST_GROWN: Final = 5_000
"""Maximum number of sessions that a tree is grown from; if there are more, each tree draws a random sample from all."""

Values = Sequence[HParamValue | None]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Correlation:
    """The correlation of a metric with one hyperparameter."""

    measure: Literal["spearman", "eta"]
    value: float
    """-1 to 1 for "spearman", 0 to 1 for "eta"."""
    sessions: int
    """Number of sessions that have both."""


@dataclass(frozen=True)
class Forest:
    """What a random forest learned about a metric from the hyperparameters."""

    importance: Mapping[str, float]
    """By hyperparameter, how much of the metric's variance is no longer explained when its values are shuffled."""
    r2: float
    """Out-of-bag R^2 for the metric's ranks: 1 is perfect, 0 no better than the mean."""


@dataclass(frozen=True)
class Analysis:
    """Importance and correlation of every hyperparameter that differs between sessions."""

    sessions: int
    """Number of sessions with a finite value of the metric; only these count."""
    left_out: int
    """Number of sessions without one."""
    forest: Forest | None
    """None if there are fewer than `FEWEST_SESSIONS`, nothing differs, or scikit-learn is not installed."""
    correlations: Mapping[str, Correlation]
    missing: str | None = None
    """Message that tells the user what to install for a forest."""


def analyze(hparams: Mapping[str, Values], metric: Sequence[float | None], *, seed: int = 0) -> Analysis:
    """Return the importance of each hyperparameter for a metric, and its correlation with the metric.

    Args:
        hparams: by name, the value of each session; None if it has none.
        metric: the metric of each session; sessions with None, NaN or infinity are left out.
        seed: seed of the forest and of the shuffling; the same seed gives the same numbers.
    """
    kept = [at for at, value in enumerate(metric) if value is not None and math.isfinite(value)]
    target = np.array([metric[at] for at in kept], np.float64)
    columns = {name: [values[at] for at in kept] for name, values in hparams.items()}
    differing = {name: values for name, values in columns.items() if len({_label(value) for value in values}) > 1}
    found = {name: correlation(values, target) for name, values in differing.items()}
    enough = len(kept) >= FEWEST_SESSIONS and bool(differing) and float(np.ptp(target)) > 0
    forest, missing = None, None
    if enough:
        try:
            forest = permutation_importance(differing, target, seed=seed)
        except NotInstalledError as error:
            missing = str(error)
    return Analysis(
        sessions=len(kept),
        left_out=len(metric) - len(kept),
        forest=forest,
        correlations={name: value for name, value in found.items() if value is not None},
        missing=missing,
    )


def ranks(values: Floats) -> Floats:
    """Return ranks from 1; equal values share their mean rank."""
    inverse = numbered(values).number
    counts = np.bincount(inverse)
    ends = np.cumsum(counts)
    result: Floats = (ends - (counts - 1) / 2)[inverse]
    return result


def spearman(x: Floats, y: Floats) -> float | None:
    """Return Spearman's rank correlation.

    This is Pearson's correlation of the ranks, so that any monotone relation gives 1 or -1.

    rho = cov(rank x, rank y) / (sd(rank x) sd(rank y)); C. Spearman, "The Proof and Measurement of Association between
    Two Things", 1904. None if either is constant or there are fewer than 3 pairs.
    """
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def correlation_ratio(categories: Sequence[str], y: Floats) -> float | None:
    """Return the correlation ratio eta of a numeric variable on categories.

    eta^2 = sum_k n_k (mean_k - mean)^2 / sum_i (y_i - mean)^2: the fraction of the variance between categories;
    K. Pearson, "On the General Theory of Skew Correlation and Non-linear Regression", 1905. It is computed for the
    ranks of ``y``, as in `spearman`. It is 1 if every session has a category to itself, whatever the metric. None if
    ``y`` is constant or there are fewer than 3 values or 2 categories.
    """
    if len(y) < 3 or len(set(categories)) < 2 or np.ptp(y) == 0:
        return None
    ranked = ranks(y)
    mean = float(ranked.mean())
    codes = numbered(np.array(categories, dtype=object).astype(str)).number
    counts = np.bincount(codes)
    means = np.bincount(codes, ranked) / counts
    between = float((counts * (means - mean) ** 2).sum())
    return math.sqrt(between / float(((ranked - mean) ** 2).sum()))


def correlation(values: Values, metric: Floats) -> Correlation | None:
    """Return Spearman's for numbers, else eta, for which sessions without a value count as a category."""
    if _numeric(values):
        numbers = np.array([math.nan if value is None else value for value in values], np.float64)
        both = ~np.isnan(numbers)
        rho = spearman(numbers[both], metric[both])
        return None if rho is None else Correlation("spearman", rho, int(both.sum()))
    eta = correlation_ratio([_label(value) for value in values], metric)
    return None if eta is None else Correlation("eta", eta, len(values))


def permutation_importance(hparams: Mapping[str, Values], metric: Floats, *, seed: int) -> Forest:
    """Return the permutation importance in a random forest, on the sessions that each tree did not see.

    L. Breiman, "Random Forests", 2001, section 10: each hyperparameter is shuffled among a tree's out-of-bag sessions,
    and the predictions are compared with those without shuffling. The importance of j is

        (MSE with j shuffled - MSE) / variance of the metric,

    with both MSEs over the out-of-bag predictions of the whole forest, at least 0, averaged over `REPEATS` shufflings.
    The forest is scikit-learn's ``RandomForestRegressor``. It predicts ranks: otherwise, a few diverged sessions would
    be all that it explains. Each category is one column, and these are shuffled together. Hyperparameters with the same
    information share their importance. With more than `MOST_GROWN` sessions, each tree is grown from that many, drawn
    from all with replacement, and the predictions are made for an even sample of that many.

    Args:
        hparams: by name, the value of each session; each hyperparameter must differ between some sessions.
        metric: the metric of each session; finite and not constant.
        seed: seed of the forest and of the shuffling.

    Raises:
        NotInstalledError: if scikit-learn is not installed.
    """
    with needs_extra("Importance", SCIKIT_LEARN):
        from sklearn.ensemble import RandomForestRegressor

    blocks = [_encoded(values) for values in hparams.values()]
    table = np.hstack(blocks)
    target = ranks(metric)
    judged = np.linspace(0, len(target) - 1, min(len(target), MOST_GROWN)).round().astype(np.intp)
    forest: Any = RandomForestRegressor(
        TREES,
        min_samples_leaf=2,
        max_features=0.5,
        max_samples=MOST_GROWN if len(target) > MOST_GROWN else None,
        random_state=seed,
        n_jobs=1,
    )
    forest.fit(table, target)
    trees = [
        (tree.tree_, np.setdiff1d(judged, drawn))
        for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True)
    ]
    trees = [(tree, out) for tree, out in trees if len(out)]
    variance = float(target.var())
    whole = _out_of_bag_error(trees, table, target)
    generator = np.random.default_rng(seed)
    importance: dict[str, float] = {}
    begin = 0
    for name, block in zip(hparams, blocks, strict=True):
        part = slice(begin, begin + block.shape[1])
        begin = part.stop
        errors = [_out_of_bag_error(trees, table, target, part, generator) for _ in range(REPEATS)]
        importance[name] = max(0.0, (float(np.mean(errors)) - whole) / variance)
    return Forest(importance, 1 - whole / variance)


def _out_of_bag_error(
    trees: Sequence[tuple[Any, NDArray[np.intp]]],
    table: NDArray[np.float32],
    target: Floats,
    shuffled: slice | None = None,
    generator: np.random.Generator | None = None,
) -> float:
    """Return the mean squared error of the average prediction by the trees that did not see a session."""
    total = np.zeros(len(target))
    voices = np.zeros(len(target))
    for tree, out in trees:
        rows = table[out]
        if shuffled is not None and generator is not None:
            rows[:, shuffled] = rows[generator.permutation(len(out)), shuffled]
        total[out] += tree.predict(rows)[:, 0]
        voices[out] += 1
    heard = voices > 0
    error = total[heard] / voices[heard] - target[heard]
    return float(np.mean(error**2))


def _encoded(values: Values) -> NDArray[np.float32]:
    """Return a column of ranks for numbers, else a column of 0 and 1 per category, with rare categories joined.

    Missing numbers get the middle rank.
    """
    if _numeric(values):
        numbers = np.array([math.nan if value is None else value for value in values], np.float64)
        have = ~np.isnan(numbers)
        ranked = np.zeros(len(numbers))
        ranked[have] = ranks(numbers[have])
        ranked[~have] = float(np.median(ranked[have]))
        return ranked[:, None].astype(np.float32)
    labels = [_label(value) for value in values]
    counts = Counter(labels)
    common = sorted(counts, key=lambda label: (-counts[label], label))[:MOST_CATEGORIES]
    return np.array([[label == category for category in common] for label in labels], np.float32)


def _numeric(values: Values) -> bool:
    return all(value is None or type(value) is float for value in values) and any(
        value is not None and not math.isnan(value) for value in values if not isinstance(value, str)
    )


def _label(value: HParamValue | None) -> str:
    return f"{type(value).__name__} {value}"
