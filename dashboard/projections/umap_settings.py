"""Settings of UMAP, separate from UMAP so that checking them does not load its compiled loops."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class UmapSettings:
    """Settings of UMAP, with umap-learn's defaults."""

    dimensions: Literal[2, 3] = 2
    neighbors: int = 15
    """Number of neighbors, including the point itself."""
    minimum_distance: float = 0.1
    spread: float = 1.0
    epochs: int | None = None
    """None: 500 up to 10,000 points, else 200."""
    metric: Literal["euclidean", "cosine"] = "euclidean"
    supervision: float = 0.0
    """Weight of labels, 0 to 100: umap-learn's target weight in percent, except that 0 means none at all."""
    learning_rate: float = 1.0
    negative_samples: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dimensions not in (2, 3):
            raise ValueError(f"dimensions is {self.dimensions}; expected 2 or 3")
        if self.metric not in ("euclidean", "cosine"):
            raise ValueError(f"metric is {self.metric!r}; expected euclidean or cosine")
        _check("neighbors", self.neighbors, 2, 500)
        _check("spread", self.spread, 0.05, 10)
        _check("minimum_distance", self.minimum_distance, 0, self.spread)
        if self.epochs is not None:
            _check("epochs", self.epochs, 1, 100_000)
        _check("supervision", self.supervision, 0, 100)
        _check("learning_rate", self.learning_rate, 1e-6, 100)
        _check("negative_samples", self.negative_samples, 1, 100)
        _check("seed", self.seed, 0, (1 << 32) - 1)


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}; expected {least} to {most}")
