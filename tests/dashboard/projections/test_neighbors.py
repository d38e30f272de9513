import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from stepscope.dashboard.projections.neighbors import Metric, neighbor_graph, neighbors_of
from stepscope.dashboard.projections.parallel import Workers

SQUARE = np.array([[0, 0], [3, 0], [0, 4], [6, 8]], np.float32)


def blobs(count: int, width: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centers = 10 * generator.standard_normal((20, width))
    return (centers[generator.integers(0, 20, count)] + generator.standard_normal((count, width))).astype(np.float32)


def test_neighbors_of_a_row_leave_it_out() -> None:
    found = neighbors_of(SQUARE, 0, 10, "euclidean")
    assert found.rows.tolist() == [1, 2, 3]
    assert found.distances.tolist() == [3, 4, 10]
    assert [array.dtype.name for array in (found.rows, found.distances)] == ["int64", "float32"]


def test_neighbors_of_a_vector_are_all_points() -> None:
    found = neighbors_of(SQUARE, np.array([3, 0], np.float32), 2, "euclidean")
    assert found.rows.tolist() == [1, 0]
    assert found.distances.tolist() == [0, 3]


def test_the_largest_inner_products_come_first() -> None:
    found = neighbors_of(SQUARE, np.array([1, 1], np.float32), 3, "inner")
    assert (found.rows.tolist(), found.distances.tolist()) == ([3, 2, 1], [14, 4, 3])


@pytest.mark.parametrize("exponent", [100, -100])
@pytest.mark.parametrize(("metric", "degree"), [("euclidean", 1), ("cosine", 0), ("inner", 2)])
def test_neighbors_are_the_same_at_any_scale(exponent: int, metric: Metric, degree: int) -> None:
    points = blobs(50, 4)
    expected, found = (neighbors_of(each, 3, 5, metric) for each in (points, np.ldexp(points, exponent)))
    assert found.rows.tolist() == expected.rows.tolist()
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(found.distances, np.ldexp(expected.distances, degree * exponent), rtol=1e-5)


def test_a_cosine_with_zeros_is_zero() -> None:
    found = neighbors_of(SQUARE, 1, 3, "cosine")
    assert found.rows.tolist() == [3, 0, 2]
    np.testing.assert_allclose(found.distances, [0.4, 1, 1], atol=1e-6)


def test_equally_near_points_come_by_row() -> None:
    points = np.array([[1], [-1], [0], [1], [-1]], np.float32)
    assert neighbors_of(points, 2, 4, "euclidean").rows.tolist() == [0, 1, 3, 4]
    assert neighbor_graph(points, 4).rows[2].tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize("row", [-1, 4])
def test_a_row_that_is_not_there(row: int) -> None:
    with pytest.raises(ValueError, match=f"There is no row {row}: there are 4 points."):
        neighbors_of(SQUARE, row, 2)


def test_a_vector_of_another_length() -> None:
    with pytest.raises(ValueError, match="Expected a vector of 2 numbers"):
        neighbors_of(SQUARE, np.zeros(3, np.float32), 2)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_graph_is_that_of_scikit_learn(metric: Metric) -> None:
    points = load_digits().data.astype(np.float32)
    graph = neighbor_graph(points, 15, metric)
    distances, rows = NearestNeighbors(n_neighbors=15, metric=metric).fit(points.astype(np.float64)).kneighbors()
    assert (graph.exact, graph.recall) == (True, None)
    np.testing.assert_allclose(graph.distances, distances, rtol=1e-5, atol=1e-6)
    # Equal distances, and nearly equal ones in single precision, may be in a different order.
    assert (graph.rows == rows).mean() > 0.95


def test_a_graph_of_inner_products() -> None:
    points = blobs(300, 5)
    products = points.astype(np.float64) @ points.T.astype(np.float64)
    np.fill_diagonal(products, -np.inf)
    graph = neighbor_graph(points, 4, "inner")
    np.testing.assert_allclose(graph.distances, -np.sort(-products, axis=1)[:, :4], rtol=1e-5)


def test_small_distances_far_from_the_origin() -> None:
    points = (np.repeat([[0, 0, 0], [9000, 0, 0]], 50, axis=0) + np.random.default_rng(0).random((100, 3))).astype("f")
    distances, rows = NearestNeighbors(n_neighbors=5).fit(points.astype(np.float64)).kneighbors()
    graph = neighbor_graph(points, 5)
    assert graph.rows.tolist() == rows.tolist()
    np.testing.assert_allclose(graph.distances, distances, rtol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_inverted_file_finds_nearly_all_neighbors(metric: Metric) -> None:
    points = blobs(6000, 16)
    exact = neighbor_graph(points, 10, metric, approximate=False)
    graph = neighbor_graph(points, 10, metric, approximate=True)
    share = np.mean([len(set(a) & set(b)) for a, b in zip(graph.rows.tolist(), exact.rows.tolist(), strict=True)]) / 10
    assert not graph.exact
    assert graph.recall is not None
    assert share > 0.95
    assert abs(graph.recall - share) < 0.03


def test_the_inverted_file_of_points_that_are_all_equal() -> None:
    graph = neighbor_graph(np.ones((3000, 4), np.float32), 5, approximate=True)
    assert (graph.distances == 0).all()
    assert (graph.rows != np.arange(3000)[:, None]).all()


def test_approximate_graphs_are_the_same_for_a_seed() -> None:
    points = blobs(4000, 8)
    one, other = (neighbor_graph(points, 5, approximate=True, seed=3) for _ in range(2))
    assert one.rows.tolist() == other.rows.tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_fewer_points_than_neighbors(count: int) -> None:
    graph = neighbor_graph(SQUARE[:count], 5)
    assert graph.rows.shape == (count, max(count - 1, 0))


@settings(max_examples=25)
@given(
    arrays(np.float32, st.tuples(st.integers(2, 40), st.integers(1, 5)), elements=st.integers(-9, 9).map(float)),
    st.integers(1, 6),
    st.sampled_from(["euclidean", "cosine", "inner"]),
)
def test_the_graph_and_the_single_search_agree(points: np.ndarray, count: int, metric: Metric) -> None:
    graph = neighbor_graph(points, count, metric)
    for row in range(len(points)):
        found = neighbors_of(points, row, count, metric)
        np.testing.assert_allclose(graph.distances[row], found.distances, rtol=1e-5, atol=1e-5)
        assert row not in graph.rows[row]
        assert len(set(graph.rows[row].tolist())) == graph.rows.shape[1]


def test_sums_do_not_depend_on_the_number_of_threads() -> None:
    values = np.random.default_rng(0).random(5000)
    sums = [Workers(threads).over(5000, lambda begin, end: values[begin:end].sum(), least=10) for threads in (1, 3)]
    assert sums[0] == sums[1]
    assert len(sums[0]) > 1


def test_of_equal_distances_the_first_rows_are_taken() -> None:
    points = np.ones((1000, 2), np.float32)
    points[::2] = 0
    assert neighbors_of(points, 1, 5, "euclidean").rows.tolist() == [3, 5, 7, 9, 11]
    assert neighbors_of(points, 1, 502, "euclidean").rows.tolist() == [*range(3, 1000, 2), 0, 2, 4]
