"""A loaded embedding: points, columns about them, pictures, and problems with the files."""

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points

MOST_CATEGORIES: Final = 1_000
"""Maximum number of distinct values for a column to have categories."""

ColumnKind = Literal["text", "number"]


@dataclass(frozen=True)
class Problem:
    """Something that was wrong with the files, and was worked around."""

    kind: str
    """A machine-readable kind: "unequal rows", "not finite", "constant columns", "metadata length" and so on."""
    message: str
    """A sentence for the user."""
    count: int
    """Number of rows, columns, or files affected."""


@dataclass(frozen=True)
class Column:
    """One named value for every point."""

    name: str
    kind: ColumnKind
    texts: tuple[str, ...] | None
    """One text per point, "" if missing; None for numbers, except for ids such as 00501, which they change."""
    numbers: NDArray[np.float64] | None
    """For numeric columns: float64 [n]; NaN if missing."""
    categories: tuple[str, ...]
    """The distinct values, the most frequent first; () if there are more than `MOST_CATEGORIES`."""
    codes: NDArray[np.int32] | None
    """int32 [n]: the category of each point, -1 if missing; None without categories."""


@dataclass(frozen=True)
class Sprite:
    """One image that contains the picture of each point, row by row."""

    content: bytes
    """PNG, JPEG, GIF, WebP or BMP."""
    width: int
    """Width of one point's picture in pixels."""
    height: int
    across: int
    """Number of pictures per row."""
    media_type: str


@dataclass(frozen=True)
class Dataset:
    """The points of an embedding at one step, with everything its files contain about them."""

    id: str
    """Id of its source."""
    run: str
    label: str
    step: int | None
    points: Points
    """float32 [n, d], C-contiguous, finite."""
    rows: NDArray[np.int64]
    """int64 [n]: the row of each point in the file; rows with NaN or infinity are left out."""
    columns: tuple[Column, ...]
    sprite: Sprite | None
    bookmarks: tuple[dict[str, Any], ...]
    """As in TensorBoard's JSON."""
    problems: tuple[Problem, ...]
    digest: str
    """Hash of the points and their shape."""
    bytes: int
    """Estimated memory use."""
