"""A dashboard in this process, including the files next to event files that a server also lists."""

from pathlib import Path

from fastapi.testclient import TestClient

from stepscope.dashboard.panels.registry import companion_patterns
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.summary.logdir import Logdir
from tests.dashboard.media import NoFollower


def client_with_companions(path: Path) -> TestClient:
    live = Live(str(path), lambda publish: NoFollower())
    live.publish(Logdir(path, companion_patterns=companion_patterns()).update())
    return TestClient(build_app(live), base_url="http://localhost:6006")
