"""A dashboard in this process, over a log directory as it is now."""

from collections.abc import Iterable
from pathlib import Path

from fastapi.testclient import TestClient

from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.summary.logdir import open_logdir


class NoFollower:
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def heed(self, runs: Iterable[str]) -> None: ...


def live_of(path: Path) -> Live:
    """A log directory that is not followed; nothing of it is read."""
    return Live(str(path), lambda publish: NoFollower())


def client_of(path: Path) -> TestClient:
    live = live_of(path)
    live.publish(open_logdir(path))
    return TestClient(build_app(live), base_url="http://localhost:6006")
