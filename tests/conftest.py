"""Fixtures for all tests."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline would make tests fail on a busy machine, and tests never judge times.
settings.register_profile("stepscope", deadline=None)
settings.load_profile("stepscope")

PEERS = Path(__file__).resolve().parents[2] / "shared" / "peer"


@pytest.fixture(scope="session")
def peer() -> Callable[[str], Path]:
    """Gives the path of a file or folder that another tool wrote; skips the test where it is absent."""

    def path(name: str) -> Path:
        found = PEERS / name
        if not found.exists():
            pytest.skip(f"the other tools' files are not here: {found}")
        return found

    return path
