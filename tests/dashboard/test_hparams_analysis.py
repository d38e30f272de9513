import math
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stepscope.dashboard.panels.hparams import analysis
from stepscope.dashboard.panels.hparams.analysis import (
    FEWEST_SESSIONS,
    Analysis,
    Correlation,
    analyze,
    correlation_ratio,
    ranks,
    spearman,
)
from stepscope.summary.kinds.hparams import HParamValue


def floats(*values: float) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert ranks(floats(10, 30, 10, -5)).tolist() == [2.5, 4.0, 2.5, 1.0]


def test_spearman_sees_any_monotone_relation() -> None:
    x = floats(1, 2, 3, 4, 5)
    assert spearman(x, x**7) == pytest.approx(1)
    assert spearman(x, -np.exp(x)) == pytest.approx(-1)
    # 1 - 6 * sum(d^2) / (n (n^2 - 1)) with d = (1, -1, 0, 0): 1 - 12 / 60
    assert spearman(floats(1, 2, 3, 4), floats(20, 10, 30, 40)) == pytest.approx(0.8)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])])
def test_spearman_of_too_little_is_none(x: list[float], y: list[float]) -> None:
    assert spearman(floats(*x), floats(*y)) is None


def test_correlation_ratio_is_the_share_between_categories() -> None:
    # Ranks are 1 to 4; the categories' means are 1.5 and 3.5 around 2.5: 4/5 of the squares lie between categories.
    assert correlation_ratio(["a", "a", "b", "b"], floats(1, 2, 30, 40)) == pytest.approx(math.sqrt(4 / 5))
    assert correlation_ratio(["a", "b", "a", "b"], floats(1, 2, 4, 3)) == pytest.approx(0)
    assert correlation_ratio(["a", "a", "a"], floats(1, 2, 3)) is None
    assert correlation_ratio(["a", "b", "a"], floats(2, 2, 2)) is None


def made_sessions(count: int) -> tuple[dict[str, list[HParamValue | None]], list[float | None]]:
    generator = np.random.default_rng(7)
    rates = [float(rate) for rate in 10 ** generator.uniform(-4, 0, count)]
    names = [str(name) for name in generator.choice(["sgd", "adam"], count)]
    noise = [float(value) for value in generator.uniform(0, 1, count)]
    metric: list[float | None] = [
        math.log10(rate) + (0.8 if name == "adam" else 0) for rate, name in zip(rates, names, strict=True)
    ]
    return {"lr": [*rates], "optimizer": [*names], "noise": [*noise], "seed": [0.0] * count}, metric


def test_forest_finds_what_matters_and_how_well_it_knows() -> None:
    hparams, metric = made_sessions(150)
    found = analyze(hparams, metric)
    assert found.forest is not None
    importance = found.forest.importance
    assert list(importance) == ["lr", "optimizer", "noise"]
    assert importance["lr"] > 0.8 > importance["optimizer"] > 0.02 > importance["noise"]
    assert 0.9 < found.forest.r2 < 1
    assert found.correlations["lr"].measure == "spearman"
    assert found.correlations["lr"].value > 0.9
    assert found.correlations["optimizer"].measure == "eta"
    assert "seed" not in found.correlations
    assert analyze(hparams, metric) == found


def test_noise_is_not_explained() -> None:
    hparams, _ = made_sessions(60)
    metric: list[float | None] = [float(value) for value in np.random.default_rng(1).uniform(0, 1, 60)]
    found = analyze(hparams, metric)
    assert found.forest is not None
    assert found.forest.r2 < 0.3


def test_without_scikit_learn_correlations_stay_and_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    hparams, metric = made_sessions(20)
    expected = analyze(hparams, metric).correlations
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    sentence = "Importance needs scikit-learn. Run: pip install 'stepscope[scikit-learn]'"
    assert analyze(hparams, metric) == Analysis(20, 0, None, expected, sentence)


def test_too_few_sessions_get_no_forest() -> None:
    hparams, metric = made_sessions(FEWEST_SESSIONS - 1)
    found = analyze(hparams, metric)
    assert (found.sessions, found.forest) == (FEWEST_SESSIONS - 1, None)
    enough, more = made_sessions(FEWEST_SESSIONS)
    assert analyze(enough, more).forest is not None


def test_sessions_without_a_finite_metric_are_left_out_and_counted() -> None:
    values: list[HParamValue | None] = [1.0, 2.0, 3.0, 4.0, None, 6.0]
    found = analyze({"x": values, "mixed": [True, 1.0, "1", None, "a", "a"]}, [3, 2, math.nan, 1, 0, math.inf])
    assert found == Analysis(4, 2, None, {"x": Correlation("spearman", -1.0, 3), "mixed": Correlation("eta", 1.0, 4)})


def test_missing_numbers_and_odd_types_are_no_obstacle() -> None:
    count = 20
    odd: list[HParamValue | None] = [
        None if at % 3 == 0 else math.nan if at % 3 == 1 else float(at) for at in range(count)
    ]
    mixed: list[HParamValue | None] = [[True, 1.0, "1", None, math.inf][at % 5] for at in range(count)]  # type: ignore[misc]
    found = analyze({"odd": odd, "mixed": mixed}, [float(at) for at in range(count)])
    assert found.forest is not None
    assert set(found.forest.importance) == {"odd", "mixed"}


@pytest.mark.parametrize("metric", [[], [None], [math.nan] * 9, [1.0] * 9])
def test_nothing_to_explain(metric: list[float | None]) -> None:
    found = analyze({"x": [float(at) for at in range(len(metric))]}, metric)
    assert found.forest is None
    assert dict(found.correlations) == {}


def test_trees_of_many_sessions_are_grown_from_some_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_GROWN", 60)
    generator = np.random.default_rng(0)
    rates = generator.uniform(size=600).tolist()
    noise = generator.choice(["a", "b"], 600).tolist()
    metric = [rate + 0.01 * chance for rate, chance in zip(rates, generator.uniform(size=600), strict=True)]
    judged: list[int] = []
    of_trees = analysis._out_of_bag_error

    def counting(trees: Any, *rest: Any) -> float:
        judged.append(max(len(out) for _, out in trees))
        return of_trees(trees, *rest)

    monkeypatch.setattr(analysis, "_out_of_bag_error", counting)
    found = analyze({"lr": rates, "noise": noise}, metric)
    assert found.forest is not None
    assert (found.sessions, max(judged) <= 60) == (600, True)
    assert found.forest.r2 > 0.9
    assert found.forest.importance["lr"] > 1 > 0.05 > found.forest.importance["noise"]
    assert found.correlations["lr"].sessions == 600
