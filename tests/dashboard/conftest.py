"""What tests of the dashboard's routes share."""

import os
from collections.abc import Iterator
from typing import BinaryIO

import pytest
from anyio.from_thread import start_blocking_portal
from fastapi.testclient import TestClient


@pytest.fixture(scope="session", autouse=True)
def one_event_loop() -> Iterator[None]:
    """Have all clients share one event loop: starting and ending one per request takes longer than most answers."""
    with start_blocking_portal() as TestClient.portal:
        yield
    TestClient.portal = None


@pytest.fixture
def closed_pipe() -> Iterator[BinaryIO]:
    """A pipe whose reader has left, as ``head`` does when it has enough."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        yield pipe
