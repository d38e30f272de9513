"""Alignment of one picture with another, so that points keep their places from step to step."""

import numpy as np
from numpy.typing import NDArray


def aligned(
    moving: NDArray[np.float32],
    fixed: NDArray[np.float32],
    *,
    scale: bool = False,
    matches: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> NDArray[np.float32]:
    """Return the moving picture shifted, rotated, and mirrored so that its points are closest to the fixed ones.

    Orthogonal Procrustes: ``R = U V'`` of the singular values ``(M - m)' (F - f) = U S V'`` minimizes
    ``|(M - m) R - (F - f)|``; the result is ``s (M - m) R + f``, with ``s = sum(S) / |M - m|^2`` if the size may
    change, else 1. Source: Schönemann 1966, "A generalized solution of the orthogonal Procrustes problem".

    Args:
        moving: float32[n, k].
        fixed: float32[m, k].
        scale: whether the size may change.
        matches: rows of ``moving`` and the rows of ``fixed`` for the same points; by default row i is row i.

    Returns:
        float32[n, k].

    Raises:
        ValueError: the pictures have different shapes, or the matches different lengths.
    """
    if moving.shape[1] != fixed.shape[1]:
        raise ValueError(f"pictures have {moving.shape[1]} and {fixed.shape[1]} dimensions; expected the same number")
    ours, theirs = (moving, fixed) if matches is None else (moving[matches[0]], fixed[matches[1]])
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} points cannot be laid onto {len(theirs)}; expected one for each")
    if not len(ours):
        return moving.copy()
    our_mean, their_mean = ours.mean(axis=0, dtype=np.float64), theirs.mean(axis=0, dtype=np.float64)
    from_middle = ours - our_mean
    left, values, right = np.linalg.svd(from_middle.T @ (theirs - their_mean))
    size = 1.0
    squares = float(np.vdot(from_middle, from_middle))
    if scale and squares > 0 and values.sum() > 0:
        size = float(values.sum()) / squares
    return np.ascontiguousarray(size * ((moving - our_mean) @ (left @ right)) + their_mean, dtype=np.float32)
