"""Arrays whose health is measured by every framework."""

from typing import Any, Final

import ml_dtypes
import numpy as np

inf, nan = float("inf"), float("nan")
GENERATOR: Final = np.random.default_rng(0)
VALUES: Final[dict[str, Any]] = {
    "usual": GENERATOR.normal(3, 2, (7, 11)).astype(np.float32),
    "not finite": np.array([[nan, inf, -inf, 2.0], [3.0, -1e-40, 0.0, 3e38]], np.float32),
    "nothing finite": np.array([nan, -inf], np.float32),
    "huge": np.array([1e30, -2e30, 1e20], np.float32),
    "float16": np.array([6e-5, 1e-7, -60000, 3, inf, 0], np.float16),
    "bfloat16": np.array([1e-39, 3.1, -2e38, nan], ml_dtypes.bfloat16),
    "float8_e4m3fn": np.array([0.01, 3, -300, nan], ml_dtypes.float8_e4m3fn),
    "empty": np.empty((0, 4), np.float32),
    "scalar": np.array(-7.0, np.float32),
    "complex": np.array([1 + 2j, complex(nan, -1)], np.complex64),
}
