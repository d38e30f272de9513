"""Settings of t-SNE, separate from t-SNE so that checking them does not load its compiled loops."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class TsneSettings:
    """Settings of t-SNE, with scikit-learn's defaults."""

    dimensions: Literal[2, 3] = 2
    perplexity: float = 30.0
    """Approximate number of neighbors that count; at most a third of the other points."""
    learning_rate: float | None = None
    """None: the number of points / exaggeration / 4, at least 50."""
    exaggeration: float = 12.0
    """Factor of the attraction at the beginning."""
    exaggeration_iterations: int = 250
    iterations: int = 1000
    """Total iterations, including those with exaggeration."""
    metric: Literal["euclidean", "cosine"] = "euclidean"
    """Cosine: squared distances of the points on the unit sphere, as in TensorBoard."""
    supervision: float = 0.0
    """0 to 100: how much points of the same label are pulled together, as in TensorBoard."""
    seed: int = 0
    approximate: bool | None = None
    """Whether neighbors and repulsion are approximate; None: if that is faster."""

    def __post_init__(self) -> None:
        _check(self.dimensions in (2, 3), "dimensions", self.dimensions, "2 or 3")
        _check(1 <= self.perplexity <= 1000, "perplexity", self.perplexity, "from 1 to 1000")
        rate = self.learning_rate
        _check(rate is None or 0 < rate <= 1e6, "learning rate", rate, "above 0 and at most 1000000")
        _check(1 <= self.exaggeration <= 1000, "exaggeration", self.exaggeration, "from 1 to 1000")
        limits = "from 0 to 1000000"
        _check(0 <= self.iterations <= 1_000_000, "iterations", self.iterations, limits)
        _check(
            0 <= self.exaggeration_iterations <= 1_000_000,
            "iterations with exaggeration",
            self.exaggeration_iterations,
            limits,
        )
        _check(self.metric in ("euclidean", "cosine"), "metric", self.metric, "euclidean or cosine")
        _check(0 <= self.supervision <= 100, "supervision", self.supervision, "from 0 to 100")
        _check(0 <= self.seed < 1 << 32, "seed", self.seed, f"from 0 to {(1 << 32) - 1}")


def neighbors_for(perplexity: float, n: int) -> int:
    """Return the number of neighbors with a weight for each of ``n`` points, as in scikit-learn."""
    return min(n - 1, int(3 * perplexity + 1))


def _check(fits: bool, name: str, value: object, wanted: str) -> None:
    if not fits:
        raise ValueError(f"The {name} of t-SNE must be {wanted}, not {value}.")
