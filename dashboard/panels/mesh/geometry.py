"""A mesh at one step, ready to draw: pure functions from stored rows to plain columns, with notes on omissions."""

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.server.numbers import count
from stepscope.summary.counts import counted
from stepscope.summary.distinct import running_count
from stepscope.summary.kinds.base import PayloadError

Rows: TypeAlias = NDArray[Any]
"""One sample of a part: shape [n, 3], any numeric dtype."""

MOST_VERTICES: Final = 2_000_000
"""Maximum number of vertices sent to a browser: 24 MB of coordinates."""
MOST_FACES: Final = 4_000_000


@dataclass(frozen=True)
class Moved:
    """How far vertices are from their positions in another mesh."""

    distances: NDArray[np.float32]
    """Per drawn vertex; -1 where unknown."""
    mean: float
    most: float


@dataclass(frozen=True)
class Geometry:
    """The geometry to draw, with notes about it."""

    positions: NDArray[np.float32]
    """Shape [n, 3], relative to ``origin``, which preserves the precision of meshes far from zero."""
    faces: NDArray[np.uint32] | None
    """Shape [m, 3], indices into ``positions``."""
    colors: NDArray[np.uint8] | None
    """Shape [n, 4]: red, green, blue, 255."""
    origin: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    vertices: int
    """The number of vertices as written."""
    face_count: int
    every: int = 1
    """Only every ``every``-th point is included."""
    moved: Moved | None = None
    notes: tuple[str, ...] = ()
    """Notes on what was left out, and why."""


@dataclass
class _Notes:
    """Collects the notes."""

    said: list[str] = field(default_factory=list)

    def add(self, note: str) -> None:
        self.said.append(note)


def sample_of(rows: NDArray[Any], sample: int) -> Rows:
    """Return one sample of a batch.

    Args:
        rows: shape [batch, n, 3].
        sample: index in the batch.

    Raises:
        PayloadError: if the sample does not exist.
    """
    if not 0 <= sample < len(rows):
        raise PayloadError(f"there is no sample {sample}: this step has {counted(len(rows), 'mesh', 'meshes')}")
    found: Rows = rows[sample]
    return found


def make_geometry(
    vertices: Rows, faces: Rows | None = None, colors: Rows | None = None, reference: Rows | None = None
) -> Geometry:
    """Make the geometry to draw; what does not fit is left out, and counted and named in ``notes``.

    Args:
        vertices: coordinates.
        faces: indices of each triangle's vertices; None for a point cloud.
        colors: red, green and blue of each vertex: 0..255, or floats that are all in 0..1.
        reference: the vertices to measure distances from, if there is a mesh to compare with.

    Raises:
        PayloadError: if there is nothing to draw, or more than a browser can draw.
    """
    notes = _Notes()
    total, total_faces = len(vertices), 0 if faces is None else len(faces)
    if total == 0:
        raise PayloadError("there are no vertices at this step")
    if faces is not None and total_faces and (total > MOST_VERTICES or total_faces > MOST_FACES):
        raise PayloadError(
            f"{count(total)} vertices and {count(total_faces)} faces are too many to draw: at most "
            f"{count(MOST_VERTICES)} and {count(MOST_FACES)}. Download the PLY file to view them elsewhere"
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(vertices.astype(np.float32, copy=False))
    kept: NDArray[np.bool_] = np.logical_and.reduce(finite, axis=1)
    if not kept.any():
        raise PayloadError(f"all {counted(total, 'vertex', 'vertices')} are NaN or infinite")
    if not kept.all():
        notes.add(f"{_left_out(total - int(kept.sum()), 'vertex', 'vertices')}: NaN or infinite")
    used = None if faces is None else _faces(faces, kept, notes)
    paint = None if colors is None else _colors(colors, total, notes)
    distances = None if reference is None else _distances(vertices, reference, notes)
    places = np.flatnonzero(kept)
    every = 1
    if not total_faces and len(places) > MOST_VERTICES:
        every = -(-len(places) // MOST_VERTICES)
        notes.add(f"{count(len(places))} points are too many to draw; 1 of {every} is shown")
    extent = vertices[places].astype(np.float64)
    low, high = extent.min(axis=0), extent.max(axis=0)
    origin = (low + high) / 2
    places = places[::every]
    return Geometry(
        positions=(extent[::every] - origin).astype(np.float32),
        faces=used,
        colors=None if paint is None else np.ascontiguousarray(paint[places]),
        origin=origin,
        low=low,
        high=high,
        vertices=total,
        face_count=total_faces,
        every=every,
        moved=None if distances is None else _moved(distances[places], notes),
        notes=tuple(notes.said),
    )


def valid_faces(faces: Rows, vertices: int) -> NDArray[np.bool_]:
    """Return a mask of the faces with three integer indices of existing vertices."""
    valid: NDArray[np.bool_] = ((faces >= 0) & (faces < vertices) & (faces == np.floor(faces))).all(axis=1)
    return valid


def bytes_of_colors(colors: Rows) -> tuple[NDArray[np.uint8], int]:
    """Return colors as bytes, and how many of the numbers had to be clipped to 0..255.

    Floats up to 1 are fractions of 255.
    """
    known = colors[np.isfinite(colors)] if colors.dtype.kind == "f" else colors
    scale = 255.0 if colors.dtype.kind == "f" and known.size and known.max() <= 1 else 1.0
    scaled = np.nan_to_num(colors.astype(np.float64) * scale, nan=-1.0)
    wrong = int(((scaled < 0) | (scaled > 255)).sum())
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8), wrong


def _left_out(number: int, noun: str, plural: str) -> str:
    return f"{counted(number, noun, plural)} left out"


def _faces(faces: Rows, kept: NDArray[np.bool_], notes: _Notes) -> NDArray[np.uint32] | None:
    valid = valid_faces(faces, len(kept))
    if not valid.all():
        last = f"expected indices of the vertices, 0 to {count(len(kept) - 1)}"
        notes.add(f"{_left_out(len(faces) - int(valid.sum()), 'face', 'faces')}: {last}")
    indices = faces[valid].astype(np.int64)
    if not kept.all():
        whole = kept[indices].all(axis=1)
        if not whole.all():
            notes.add(f"{_left_out(len(indices) - int(whole.sum()), 'face', 'faces')}: a vertex is NaN or infinite")
        indices = (running_count(kept) - 1)[indices[whole]]
    return indices.astype(np.uint32) if len(indices) else None


def _colors(colors: Rows, vertices: int, notes: _Notes) -> NDArray[np.uint8] | None:
    if len(colors) != vertices:
        notes.add(f"Colors ignored: {counted(len(colors), 'color')} for {counted(vertices, 'vertex', 'vertices')}")
        return None
    shades, wrong = bytes_of_colors(colors)
    if wrong:
        notes.add(f"{counted(wrong, 'color value')} outside 0–255 {'was' if wrong == 1 else 'were'} clamped")
    return np.column_stack([shades, np.full(vertices, 255, np.uint8)])


def _distances(vertices: Rows, reference: Rows, notes: _Notes) -> NDArray[np.float64] | None:
    if len(vertices) != len(reference):
        notes.add(f"Not compared: {count(len(vertices))} vertices here, {count(len(reference))} there")
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        found: NDArray[np.float64] = np.linalg.norm(vertices.astype(np.float64) - reference, axis=1)
    return found


def _moved(distances: NDArray[np.float64], notes: _Notes) -> Moved | None:
    known = np.isfinite(distances)
    if not known.all():
        unknown = counted(int((~known).sum()), "vertex", "vertices")
        notes.add(f"{unknown} not compared: NaN or infinite there; shown in gray")
    if not known.any():
        return None
    filled = np.where(known, distances, -1.0).astype(np.float32)
    return Moved(filled, float(distances[known].mean()), float(distances[known].max()))
