"""Fixtures for all tests."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline would make tests fail on a busy machine, and tests never judge times.
settings.register_profile("stepscope", deadline=None)
settings.load_profile("stepscope")

PACK = Path(__file__).resolve().parent / "peers" / "pack"
PEERS = Path(__file__).resolve().parents[2] / "shared" / "peer"


@pytest.fixture(scope="session")
def peer() -> Callable[[str], Path]:
    """Gives the path of a file or folder that another tool wrote.

    What is called "pack/..." is in ``tests/peers/pack``, and always there. Other files are larger, and lie beside the
    repository where somebody put them; a test of one that is absent is skipped.
    """

    def path(name: str) -> Path:
        if name.startswith("pack/"):
            return PACK / name.removeprefix("pack/")
        found = PEERS / name
        if not found.exists():
            pytest.skip(f"the other tools' files are not here: {found}")
        return found

    return path
