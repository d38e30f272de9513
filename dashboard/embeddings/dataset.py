"""An embedding as it is looked at: points, columns about them, pictures, and what was wrong with the files."""

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points

MOST_CATEGORIES: Final = 1_000
"""Different values of a column up to which they are numbered."""

ColumnKind = Literal["text", "number"]


@dataclass(frozen=True)
class Problem:
    """Something that was wrong with the files, and was worked around."""

    kind: str
    """What for a program: "unequal rows", "not finite", "constant columns", "metadata length" and so on."""
    message: str
    """A sentence for a person."""
    count: int
    """How many rows, columns or files it concerns."""


@dataclass(frozen=True)
class Column:
    """What is known of every point under one name."""

    name: str
    kind: ColumnKind
    texts: tuple[str, ...] | None
    """Of a text, one per point; "" where there is none."""
    numbers: NDArray[np.float64] | None
    """Of a number, float64 [n]; NaN where there is none."""
    categories: tuple[str, ...]
    """The different values, the most frequent first; () where there are more than `MOST_CATEGORIES`."""
    codes: NDArray[np.int32] | None
    """int32 [n]: which category each point has, -1 where it has none; None without categories."""


@dataclass(frozen=True)
class Sprite:
    """One picture that holds a picture of each point, line by line."""

    content: bytes
    """PNG, JPEG, GIF, WebP or BMP."""
    width: int
    """Of one point's picture, in pixels."""
    height: int
    across: int
    """How many lie side by side."""
    media_type: str


@dataclass(frozen=True)
class Dataset:
    """The points of an embedding at one step, with all that its files say of them."""

    id: str
    """Of its source."""
    run: str
    label: str
    step: int | None
    points: Points
    """float32 [n, d], C-contiguous, finite."""
    rows: NDArray[np.int64]
    """int64 [n]: the number of each point's row in the file; rows with NaN or infinity are left out."""
    columns: tuple[Column, ...]
    sprite: Sprite | None
    bookmarks: tuple[dict[str, Any], ...]
    """As TensorBoard's JSON has them."""
    problems: tuple[Problem, ...]
    digest: str
    """Hash of the points and their shape."""
    bytes: int
    """Estimate of the memory it holds."""
