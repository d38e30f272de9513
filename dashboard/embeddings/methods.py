"""The projections by name: how requests set their options, and how they are started."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias, assert_never

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points, Run
from stepscope.dashboard.projections.tsne_settings import TsneSettings, neighbors_for
from stepscope.dashboard.projections.umap_settings import UmapSettings

Iterative = Literal["tsne", "umap"]
Projection = Literal["pca", "tsne", "umap", "random", "custom"]
ITERATIVE: Final[tuple[Iterative, ...]] = ("tsne", "umap")

MOST_POINTS: Final[Mapping[Iterative, int]] = {"tsne": 500_000, "umap": 1_000_000}
"""Maximum number of points; more would take hours or too much memory."""
MOST_PAIRS: Final = 100_000_000
"""Maximum number of pairs of points and neighbors in a worker: some tens of bytes each."""
NEXT_SHARE: Final = 0.25
"""Fraction of the iterations for a step that starts from the picture of its neighbor."""
FEWEST_ITERATIONS: Final = 50


class SettingsError(ValueError):
    """A method does not accept its settings; the message is a sentence for the user."""


@dataclass(frozen=True)
class PcaSettings:
    """Settings of a principal component analysis."""

    components: int = 10
    """Number of components to compute."""

    def __post_init__(self) -> None:
        if not 1 <= self.components <= 100:
            raise ValueError(f"components is {self.components}; expected 1 to 100")


@dataclass(frozen=True)
class RandomSettings:
    """Settings of a projection onto random axes."""

    dimensions: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dimensions not in (2, 3):
            raise ValueError(f"dimensions is {self.dimensions}; expected 2 or 3")
        if not 0 <= self.seed < 1 << 32:
            raise ValueError(f"seed is {self.seed}; expected 0 to {(1 << 32) - 1}")


@dataclass(frozen=True)
class CustomSettings:
    """Settings of a projection onto axes named by the user; there are none, as the axes are given separately."""


Settings: TypeAlias = TsneSettings | UmapSettings | PcaSettings | RandomSettings | CustomSettings

SETTINGS: Final[Mapping[Projection, type[Any]]] = {
    "pca": PcaSettings,
    "tsne": TsneSettings,
    "umap": UmapSettings,
    "random": RandomSettings,
    "custom": CustomSettings,
}


def settings_of(projection: Projection, values: Mapping[str, Any]) -> Settings:
    """Return the settings of a projection, with defaults for those not given.

    Raises:
        SettingsError: a setting is unknown, of the wrong type, or out of range.
    """
    found: Settings = read_settings(SETTINGS[projection], values)
    return found


def read_settings(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return an instance of a settings dataclass; raises as `settings_of` does."""
    known = [field.name for field in fields(kind)]
    for name in values:
        if name not in known:
            raise SettingsError(f"There is no setting {name[:100]!r}; there are {', '.join(known) or 'none'}.")
    try:
        return msgspec.convert(dict(values), kind)
    except (msgspec.ValidationError, OverflowError) as error:
        raise SettingsError(f"Settings: {str(error).rstrip('.')}.") from None


def pairs_of(settings: Settings, count: int) -> int:
    """Return the number of pairs of ``count`` points and their neighbors that a projection holds."""
    match settings:
        case TsneSettings():
            return count * neighbors_for(settings.perplexity, count)
        case UmapSettings():
            return count * min(settings.neighbors, count)
        case _:
            return 0


def begin(
    method: Iterative,
    points: Points,
    settings: Mapping[str, Any],
    *,
    labels: NDArray[np.int32] | None = None,
    init: NDArray[np.float32] | None = None,
    state: dict[str, NDArray[Any]] | None = None,
) -> Run:
    """Start a projection, or resume one from a saved state; raises ValueError as the method does."""
    chosen = settings_of(method, settings)
    match method:
        case "tsne":
            from stepscope.dashboard.projections import tsne

            assert isinstance(chosen, TsneSettings)
            return tsne.start(points, chosen, labels=labels, init=init, state=state)
        case "umap":
            from stepscope.dashboard.projections import umap

            assert isinstance(chosen, UmapSettings)
            return umap.start(points, chosen, labels=labels, init=init, state=state)
        case _:
            assert_never(method)


def for_next_step(method: Iterative, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with fewer iterations, for a step that starts from the picture of its neighbor.

    Raises:
        ValueError: the method has no iterations.
    """
    chosen = settings_of(method, settings)
    match chosen:
        case TsneSettings():
            count = max(FEWEST_ITERATIONS, round(chosen.iterations * NEXT_SHARE))
            # Exaggeration would tear apart points that are already in place.
            return asdict(replace(chosen, iterations=min(chosen.iterations, count), exaggeration_iterations=0))
        case UmapSettings():
            count = max(FEWEST_ITERATIONS, round((chosen.epochs or 200) * NEXT_SHARE))
            return asdict(replace(chosen, epochs=min(chosen.epochs or 200, count)))
        case _:
            raise ValueError(f"{method} has no iterations")
