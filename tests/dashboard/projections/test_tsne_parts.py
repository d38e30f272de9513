import numpy as np
import pytest
from scipy import fft

from stepscope.dashboard.projections.affinities import Affinities, Steps, affinity_steps, supervise
from stepscope.dashboard.projections.neighbor_graph import neighbor_graph
from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.repulsion import AllPairs, Repulsion
from stepscope.dashboard.projections.repulsion_grid import Grid, Ring, transformed_kernel
from stepscope.dashboard.projections.repulsion_tree import Tree
from stepscope.dashboard.projections.tsne_settings import neighbors_for


def points_of(count: int, width: int = 5) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((count, width)).astype(np.float32)


def affinities_of(points: np.ndarray, perplexity: float, *, cosine: bool = False) -> Affinities:
    graph = neighbor_graph(points, neighbors_for(perplexity, len(points)), "cosine" if cosine else "euclidean")
    return finished(affinity_steps(graph, perplexity, Workers(), cosine=cosine))


def finished(steps: Steps) -> Affinities:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: Affinities = end.value
            return made


def dense(affinities: Affinities) -> np.ndarray:
    n = len(affinities.starts) - 1
    matrix = np.zeros((n, n))
    matrix[np.repeat(np.arange(n), np.diff(affinities.starts)), affinities.columns] = affinities.weights
    return matrix


@pytest.mark.parametrize("nodes", [16, 48])
def test_a_grid_is_convolved_with_the_kernel(nodes: int) -> None:
    ring = Ring(nodes, 0.5)
    for seed in (0, 1):
        drawn = np.random.default_rng(seed).standard_normal((nodes, nodes)).astype(np.float32)
        ring.grid[:, :nodes] = drawn
        size = ring.grid.shape[1]
        transformed = fft.rfft2(drawn.astype(np.float64), s=(size, size)) * transformed_kernel(size, 0.5).T
        expected = fft.irfft2(transformed, s=(size, size))[:nodes]
        np.testing.assert_allclose(ring.convolved(Workers(2)), expected, atol=1e-5 * np.abs(expected).max())


def test_all_neighbors_have_a_weight_where_there_are_few() -> None:
    # With all other points as neighbors, the weights are those of the exact method.
    points = points_of(40)
    squares = ((points[:, None].astype(np.float64) - points) ** 2).sum(axis=2)
    conditional = np.zeros_like(squares)
    for i in range(40):
        low, high = 1e-3, 10.0
        for _ in range(200):
            beta = np.sqrt(low * high)
            weights = np.exp(-squares[i] * beta)
            weights[i] = 0
            weights /= weights.sum()
            entropy = -(weights[weights > 0] * np.log(weights[weights > 0])).sum()
            low, high = (beta, high) if entropy > np.log(13) else (low, beta)
        conditional[i] = weights
    matrix = dense(affinities_of(points, 13))
    np.testing.assert_allclose(matrix, (conditional + conditional.T) / 80, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("cosine", [False, True])
def test_the_matrix_is_symmetric_and_sums_to_one(cosine: bool) -> None:
    matrix = dense(affinities_of(points_of(500), 5, cosine=cosine))
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix.sum() == pytest.approx(1, abs=1e-5)
    assert (np.diag(matrix) == 0).all()


def test_duplicates_have_equal_weights() -> None:
    weights = affinities_of(np.zeros((20, 3), np.float32), 3).weights
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1, abs=1e-5)


def test_supervision_is_that_of_tensorboard() -> None:
    labels = np.array([0, 0, 1, 1, 1, -1], np.int32)
    plain = affinities_of(points_of(6), 1.6)
    matrix = dense(plain)
    expected = np.zeros_like(matrix)
    size, other = {0: 2, 1: 3}, {0: 3, 1: 2}
    for i, j in np.argwhere(matrix > 0).tolist():
        a, b = int(labels[i]), int(labels[j])
        if min(a, b) < 0:
            factor = 1 / 6
        elif a == b:
            factor = 1 / 6 + 0.3 / size[a]
        else:
            factor = (max(1 / 6 - 0.3 / other[a], 1e-7) + max(1 / 6 - 0.3 / other[b], 1e-7)) / 2
        expected[i, j] = matrix[i, j] * factor
    np.testing.assert_allclose(dense(supervise(plain, labels, 30)), expected / expected.sum(), rtol=1e-5)
    np.testing.assert_array_equal(dense(plain), matrix)


def test_supervision_without_labels_changes_nothing() -> None:
    plain = affinities_of(points_of(30), 5)
    np.testing.assert_allclose(supervise(plain, np.full(30, -1, np.int32), 100).weights, plain.weights, rtol=1e-5)


def test_affinities_have_the_memory_of_the_graph() -> None:
    graph = neighbor_graph(points_of(500), 16)
    made = finished(affinity_steps(graph, 5, Workers()))
    assert made.columns is graph.rows
    assert made.weights is graph.distances
    assert 500 * 16 < len(made.columns) == made.starts[-1]


def exact_forces(picture: np.ndarray) -> tuple[float, np.ndarray]:
    differences = picture[:, :, None].astype(np.float64) - picture[:, None]
    q = 1 / (1 + (differences**2).sum(axis=0))
    return q.sum() - picture.shape[1], (q**2 * differences).sum(axis=2)


def picture_of(dimensions: int, scale: float, count: int = 1500) -> np.ndarray:
    generator = np.random.default_rng(0)
    places = 8 * generator.standard_normal((dimensions, 10))[:, generator.integers(0, 10, count)]
    return (scale * (places + generator.standard_normal((dimensions, count)))).astype(np.float32)


@pytest.mark.parametrize("scale", [1e-5, 0.05, 1, 10])
@pytest.mark.parametrize(
    ("dimensions", "kind", "tolerance"), [(2, AllPairs, 1e-5), (3, AllPairs, 1e-5), (2, Grid, 0.03), (3, Tree, 0.03)]
)
def test_forces_are_those_of_all_pairs(
    dimensions: int, kind: type[AllPairs | Grid | Tree], tolerance: float, scale: float
) -> None:
    picture = picture_of(dimensions, scale)
    expected_z, expected = exact_forces(picture)
    forces = np.empty_like(picture)
    repulsion: Repulsion = kind(Workers())
    for _ in range(2):  # The second pass uses what the first one kept.
        z = repulsion(picture, forces)
    assert z == pytest.approx(expected_z, rel=max(tolerance / 4, 1e-5))
    assert np.sqrt(((forces - expected) ** 2).mean() / (expected**2).mean()) < tolerance


@pytest.mark.parametrize(("dimensions", "kind"), [(2, Grid), (3, Tree)])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_points_at_one_place_do_not_push(dimensions: int, kind: type[Grid | Tree], count: int) -> None:
    picture = np.full((dimensions, count), 7, np.float32)
    forces = np.full_like(picture, np.nan)
    z = kind(Workers())(picture, forces)
    assert z == pytest.approx(count * (count - 1), abs=0.01 * count**2)
    np.testing.assert_allclose(forces, 0, atol=1e-3 * count)


def test_a_picture_too_wide_for_the_grid_stays_finite() -> None:
    picture = picture_of(2, 1.0)
    picture[:, 0] = 1e5
    forces = np.empty_like(picture)
    assert Grid(Workers())(picture, forces) > 0
    assert np.isfinite(forces).all()
