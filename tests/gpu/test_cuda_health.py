"""What is measured of tensors on an NVIDIA GPU."""

import pytest
import torch
from numpy.testing import assert_allclose

from stepscope.debug.torch_health import HealthBatch
from tests.debug.test_health import VALUES, reference

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here")

GENERATOR = torch.Generator().manual_seed(0)
LARGE = {
    "far from zero": torch.randn(3_000_001, generator=GENERATOR) + 1e6,
    "bfloat16": torch.randn(700, 1001, generator=GENERATOR).bfloat16(),
    "transposed": torch.randn(1000, 1003, generator=GENERATOR).T,
    "first not finite": torch.cat([torch.full((20_000,), float("nan")), torch.ones(20_000)]),
    "beside an even address": torch.randn(50_000, generator=GENERATOR, dtype=torch.float16)[1:],
}


def test_values_measure_as_the_reference() -> None:
    batch = HealthBatch()
    for value in VALUES.values():
        batch.add(value.cuda())
    for name, figures in zip(VALUES, batch.figures(), strict=True):
        assert_allclose(figures, reference(VALUES[name]), rtol=1e-9, atol=1e-9, err_msg=name)


def test_large_values_measure_as_the_reference() -> None:
    batch = HealthBatch()
    for value in LARGE.values():
        batch.add(value.cuda())
    repeated = torch.ones(20_000_000, device="cuda")
    batch.add(repeated)
    batch.add(repeated)
    *found, once, again = batch.figures()
    for name, figures in zip(LARGE, found, strict=True):
        assert_allclose(figures, reference(LARGE[name]), rtol=1e-7, atol=1e-9, err_msg=name)
    assert_allclose(once, reference(torch.ones(20_000_000)))
    assert_allclose(again, once)
