import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from stepscope.dashboard.projections.alignment import aligned


@given(st.integers(0, 1 << 16), st.sampled_from([2, 3]), st.booleans())
def test_a_picture_that_was_moved_turned_and_mirrored_is_moved_back(seed: int, k: int, mirrored: bool) -> None:
    generator = np.random.default_rng(seed)
    fixed = generator.normal(size=(12, k)).astype(np.float32)
    turn = np.linalg.qr(generator.normal(size=(k, k)))[0]
    turn[:, 0] *= -1 if mirrored else 1
    moving = (fixed @ turn + generator.normal(size=k) * 10).astype(np.float32)
    np.testing.assert_allclose(aligned(moving, fixed), fixed, atol=1e-4)
    np.testing.assert_allclose(aligned(moving * np.float32(3), fixed, scale=True), fixed, atol=1e-4)


def test_is_as_near_as_scipys() -> None:
    generator = np.random.default_rng(0)
    moving, fixed = generator.normal(size=(2, 30, 2)).astype(np.float32)
    turn, _ = orthogonal_procrustes(moving - moving.mean(axis=0), fixed - fixed.mean(axis=0))
    np.testing.assert_allclose(
        aligned(moving, fixed), (moving - moving.mean(axis=0)) @ turn + fixed.mean(axis=0), atol=1e-5
    )


def test_points_that_only_one_picture_has_come_along() -> None:
    fixed = np.array([[0, 0], [2, 0], [0, 1]], np.float32)
    moving = np.array([[9, 9], [0, 5], [0, 7], [-1, 5]], np.float32)
    found = aligned(moving, fixed, matches=(np.array([1, 2, 3]), np.array([0, 1, 2])))
    np.testing.assert_allclose(found, [[4, -9], [0, 0], [2, 0], [0, 1]], atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_or_equal_points(n: int) -> None:
    moving, fixed = np.full((n, 2), 3, np.float32), np.full((n, 2), 5, np.float32)
    for scale in (False, True):
        assert aligned(moving, fixed, scale=scale).tolist() == fixed.tolist()


def test_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="2 and 3 dimensions"):
        aligned(np.zeros((4, 2), np.float32), np.zeros((4, 3), np.float32))
    with pytest.raises(ValueError, match="4 points cannot be laid onto 5"):
        aligned(np.zeros((4, 2), np.float32), np.zeros((5, 2), np.float32))
