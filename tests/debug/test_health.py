"""What is measured about a value, in NumPy and on devices."""

import ml_dtypes
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from stepscope.debug import torch_health
from stepscope.debug.health import health
from stepscope.debug.torch_health import HealthBatch
from stepscope.summary.debugger.model import FIGURES

inf, nan = float("inf"), float("nan")


def test_every_figure_of_a_small_value() -> None:
    value = np.array([[1.0, -2.0, 0.0, 4.0], [nan, inf, -inf, inf]], np.float32)
    assert dict(zip(FIGURES, health(value).tolist(), strict=True)) == {
        "size": 8,
        "nan": 1,
        "positive_infinity": 2,
        "negative_infinity": 1,
        "zeros": 1,
        "negatives": 1,
        "minimum": -2,
        "maximum": 4,
        "mean": 0.75,
        "variance": 4.6875,
        "l2": 21**0.5,
        "absolute_mean": 1.75,
        "underflow": 0,
        "overflow": 3 / 8,
    }


@pytest.mark.parametrize(
    ("value", "underflow", "overflow"),
    [
        (np.array([1e-40, 1.0, -3e38, 0], np.float32), 0.25, 0.25),
        (np.array([6e-5, 6.2e-5, 32752, 32736], np.float16), 0.25, 0.25),
        (np.array([0.01, 0.02, 224, 223], ml_dtypes.float8_e4m3fn), 0.25, 0.5),
        (np.array([5e-5, 1.0, -28672, inf], ml_dtypes.float8_e5m2), 0.25, 0.5),
        (np.array([1e-39, 1.0, 2e38, 1e38], ml_dtypes.bfloat16), 0.25, 0.25),
        (np.array([0, 1, 2, 2**31 - 1], np.int32), nan, nan),
        (np.array([True, False]), nan, nan),
    ],
)
def test_underflow_and_overflow_are_shares_by_the_limits_of_the_type(
    value: NDArray[np.generic], underflow: float, overflow: float
) -> None:
    figures = dict(zip(FIGURES, health(value).tolist(), strict=True))
    assert_allclose([figures["underflow"], figures["overflow"]], [underflow, overflow])


def test_nothing_finite_leaves_no_statistics() -> None:
    for value in (np.array([nan, inf]), np.empty((0, 3), np.float32)):
        figures = dict(zip(FIGURES, health(value).tolist(), strict=True))
        assert figures["size"] == value.size
        assert np.isnan([figures[name] for name in ("minimum", "maximum", "mean", "variance", "l2")]).all()


def test_complex_numbers_count_as_two_and_texts_are_refused() -> None:
    assert health(np.array([1 + 2j, complex(nan, 0)], np.complex64))[:2].tolist() == [4, 1]
    assert health(3 - 4j).tolist() == health([3.0, -4.0]).tolist()
    columns = np.array([[1 + 2j, 3j], [5, 7 - 1j]])
    assert_allclose(health(columns.T), health(columns))
    with pytest.raises(TypeError, match="health needs numbers, got an array of <U1"):
        health(np.array(["a"]))


GENERATOR = np.random.default_rng(0)
VALUES = {
    "usual": torch.from_numpy(GENERATOR.normal(3, 2, (7, 11)).astype(np.float32)),
    "not finite": torch.tensor([[nan, inf, -inf, 2.0], [3.0, -1e-40, 0.0, 3e38]]),
    "nothing finite": torch.tensor([nan, -inf]),
    "far from zero": torch.from_numpy(GENERATOR.normal(1e8, 1, 1000)),
    "huge": torch.tensor([1e30, -2e30, 1e20]),
    "float16": torch.tensor([6e-5, 1e-7, -60000, 3, inf, 0], dtype=torch.float16),
    "bfloat16": torch.tensor([1e-39, 3.1, -2e38, nan], dtype=torch.bfloat16),
    "float8_e4m3fn": torch.tensor([0.01, 3, -300, nan]).to(torch.float8_e4m3fn),
    "float8_e5m2": torch.tensor([2e-5, 3, -50000, inf, 0]).to(torch.float8_e5m2),
    "int64": torch.tensor([[1, -2], [0, 2**40]]),
    "uint8": torch.tensor([0, 255], dtype=torch.uint8),
    "bool": torch.tensor([True, False, True]),
    "empty": torch.empty(0, 4),
    "scalar": torch.tensor(-7.0),
    "complex": torch.tensor([1 + 2j, complex(nan, -1)]),
    "transposed complex": torch.tensor([[1 + 2j, 3j], [5, 7 - 1j]]).T,
    "conjugate": torch.tensor([1 + 2j, 3j]).conj(),
    "negated": torch.tensor([1 + 2j, -3j, 4]).conj().imag,
    "strided": torch.arange(24.0).view(4, 6).T[::2],
    "expanded": torch.tensor([[2.0]]).expand(3, 5),
    "sparse": torch.tensor([[0.0, 3.0], [nan, 0.0]]).to_sparse(),
}


class Elsewhere(torch.Tensor):  # type: ignore[misc]
    """Measured like a value on a device, since its numbers may be anywhere."""


def reference(tensor: torch.Tensor) -> NDArray[np.float64]:
    dense = tensor.coalesce().values() if tensor.is_sparse else tensor
    numbers = dense.resolve_conj().numpy() if dense.is_complex() else dense.double().numpy()
    return health(numbers, "" if dense.is_complex() else torch_health.dtype_name(dense.dtype))


@pytest.mark.parametrize("name", VALUES)
def test_tensors_of_pytorch_measure_as_the_reference(name: str) -> None:
    batch = HealthBatch()
    batch.add(VALUES[name])
    (figures,) = batch.figures()
    assert_allclose(figures, reference(VALUES[name]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in VALUES if name not in ("empty", "sparse")])
def test_what_runs_on_accelerators_measures_as_the_reference(name: str) -> None:
    batch = HealthBatch()
    batch.add(VALUES[name].as_subclass(Elsewhere))
    assert not batch.is_here
    (figures,) = batch.figures()
    assert_allclose(figures, reference(VALUES[name]), rtol=1e-9, atol=1e-9)


def test_pieces_of_a_large_tensor_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_health, "_CPU_PIECE", 10)
    monkeypatch.setattr(torch_health, "_DEVICE_PIECE", 10)
    tensor = torch.from_numpy(GENERATOR.normal(1e6, 1, 37))
    tensor[3], tensor[15], tensor[20:30] = nan, inf, -inf
    expected = reference(tensor)
    batch = HealthBatch()
    batch.add(tensor)
    assert_allclose(batch.figures()[0], expected, rtol=1e-4)
    batch = HealthBatch()
    for each in (torch.ones(3), tensor, torch.ones(15)):
        batch.add(each.as_subclass(Elsewhere))
    assert_allclose(batch.figures()[1], expected, rtol=1e-4)
    assert batch.figures()[[0, 2], FIGURES.index("mean")].tolist() == [1, 1]


def test_measuring_changes_nothing() -> None:
    tensor = torch.tensor([1.0, nan, 3.0], dtype=torch.float64, requires_grad=True)
    before = tensor.detach().clone()
    batch = HealthBatch()
    batch.add(tensor)
    batch.figures()
    assert torch.equal(tensor.detach().nan_to_num(7), before.nan_to_num(7))


def test_a_value_that_comes_again_is_not_measured_again_unless_it_was_written_to() -> None:
    tensor = torch.ones(3)
    batch = HealthBatch()
    batch.add(tensor)
    batch.add(tensor)
    tensor.mul_(2)
    batch.add(tensor)
    assert len(batch) == 3
    assert batch.figures()[:, FIGURES.index("mean")].tolist() == [1, 1, 2]


def test_what_is_measured_on_a_device_is_copied_from_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[int] = []
    copied = torch_health._copied

    def counted(rows: list[torch_health._Measured]) -> NDArray[np.float64]:
        copies.append(len(rows))
        return copied(rows)

    monkeypatch.setattr(torch_health, "_copied", counted)
    batch = HealthBatch()
    for value in (1.0, 2.0, 3.0):
        batch.add(torch.full((4,), value).as_subclass(Elsewhere))
    assert not batch.is_here
    assert copies == []
    assert batch.figures()[:, FIGURES.index("mean")].tolist() == [1, 2, 3]
    assert copies == [3]
