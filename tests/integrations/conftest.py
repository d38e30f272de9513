"""Tests with training frameworks, each of which is skipped where its framework is not installed.

``make test-integrations`` runs them in an environment that has all of them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from stepscope.summary import open_logdir

Scalars = Mapping[str, Mapping[str, list[tuple[int, float]]]]


@pytest.fixture(scope="session")
def scalars() -> Callable[[Path], Scalars]:
    """Reads a log directory into (step, value) pairs by run and tag."""

    def read(logdir: Path) -> Scalars:
        return {
            name: {
                tag: list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
                for tag, series in run.series.items()
                if series.kind == "scalars"
            }
            for name, run in open_logdir(logdir).runs.items()
        }

    return read
