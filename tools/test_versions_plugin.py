"""A pytest plug-in that skips tests if `tools.test_versions` did not install what they compare with.

In an environment of stepscope-core, it also skips tests of what that does without.
"""

import os
from collections.abc import Iterator
from typing import Final

import pytest

_CORE_ONLY: Final = os.environ.get("STEPSCOPE_INSTALLED") == "core"
_OTHERS: Final = frozenset(
    ("IPython", "aiohttp", "cv2", "dask", "grpc_tools", "keras", "matplotlib", "moto", "onnx", "pandas", "playwright",
     "tensorboard", "tensorboardX", "tensorflow", "torch")
)  # fmt: skip
"""Packages that tests compare with."""
_WITHOUT_CORE: Final = frozenset(["fsspec", "h5py", "llvmlite", "numba", "orjson", "polars", "regex", "watchdog"])


def _is_absent(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            package = (error.name or "").partition(".")[0]
            return package in _OTHERS or (_CORE_ONLY and package in _WITHOUT_CORE)
        if _CORE_ONLY and type(error).__name__ == "NotInstalledError":
            return True
        error = error.__cause__ or error.__context__
    return False


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a module that imports what is not installed."""
    collect = collector.collect

    def collected() -> object:
        try:
            return list(collect())
        except Exception as error:
            if _is_absent(error):
                pytest.skip(f"{error.__cause__ or error}", allow_module_level=True)
            raise

    collector.collect = collected  # type: ignore[method-assign, assignment]
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Iterator[None]:
    """Skip a test that uses what is not installed."""
    try:
        return (yield)
    except Exception as error:
        if _is_absent(error):
            pytest.skip(str(error))
        raise
