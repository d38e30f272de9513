"""What tests of the dashboard's routes share."""

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal
from fastapi.testclient import TestClient


@pytest.fixture(scope="session", autouse=True)
def one_event_loop() -> Iterator[None]:
    """Have all clients share one event loop: starting and ending one per request takes longer than most answers."""
    with start_blocking_portal() as TestClient.portal:
        yield
    TestClient.portal = None
