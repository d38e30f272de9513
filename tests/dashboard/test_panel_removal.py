"""A panel is one folder and one line of the registry: without both, the rest builds, type-checks and serves.

``test_architecture`` and ``test_web_modules`` check that no module of another folder imports a panel's modules.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.page import bundle
from stepscope.dashboard.panels.registry import PANELS, companion_patterns
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.summary.follow import Follower
from stepscope.summary.logdir import Logdir

REPOSITORY = bundle.ROOT.parent

SERVE = """
import importlib, pkgutil, sys
from fastapi.testclient import TestClient
from stepscope import dashboard

for module in pkgutil.walk_packages(dashboard.__path__, "stepscope.dashboard."):
    importlib.import_module(module.name)

from stepscope.dashboard.panels.registry import PANELS, companion_patterns
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.summary.follow import Follower
from stepscope.summary.logdir import Logdir

logdir = Logdir(sys.argv[1], companion_patterns=companion_patterns())
live = Live(sys.argv[1], lambda publish: Follower(logdir, publish))
live.publish(logdir.update())
client = TestClient(build_app(live), base_url="http://localhost")
assert client.get("/").status_code == 200
layout = client.get("/_dash-layout").text
assert all(f'"name":"{panel.name}"' in layout.replace(" ", "") for panel in PANELS)
print(*(panel.name for panel in PANELS))
"""


@pytest.mark.parametrize("removed", [panel.name for panel in PANELS])
def test_the_others_are_served_without_a_panel(removed: str, tmp_path: Path) -> None:
    others = [panel for panel in PANELS if panel.name != removed]
    logdir = Logdir(str(tmp_path), companion_patterns=companion_patterns(others))
    live = Live(str(tmp_path), lambda publish: Follower(logdir, publish))
    live.publish(logdir.update())
    client = TestClient(build_app(live, panels=others), base_url="http://localhost")
    layout = client.get("/_dash-layout").text.replace(" ", "")
    assert [panel.name for panel in PANELS if f'"name":"{panel.name}"' in layout] == [panel.name for panel in others]


@pytest.mark.long
def test_the_rest_works_without_the_folders_of_panels(tmp_path: Path) -> None:
    removed = ("audio", "timeline")
    package = tmp_path / "stepscope"
    root = package / "dashboard"
    package.mkdir()
    for path in (REPOSITORY / "stepscope").glob("*.py"):
        shutil.copy(path, package)
    for room in ("summary", "profiler", "debug"):
        (package / room).symlink_to(REPOSITORY / room)
    shutil.copytree(bundle.ROOT, root, ignore=shutil.ignore_patterns("*_bundle", ".bundle-*", "__pycache__"))
    shutil.copy(bundle.ROOT.parent / "deno.json", tmp_path)
    for panel in removed:
        shutil.rmtree(root / "panels" / panel)
    registry = root / "panels" / "registry.py"
    lines = registry.read_text().splitlines(keepends=True)
    kept = [line for line in lines if line not in {f'    "{panel}",\n' for panel in removed}]
    assert len(kept) == len(lines) - len(removed)
    registry.write_text("".join(kept))

    checked = subprocess.run(
        [bundle.deno(), "check", "--quiet", str(root)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    bundle.make(bundle.SHIPPED, root)
    logs = tmp_path / "logs"
    logs.mkdir()
    served = subprocess.run(
        [sys.executable, "-c", SERVE, str(logs)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "STEPSCOPE_PAGE": bundle.SHIPPED},
        capture_output=True,
        text=True,
        check=False,
    )
    assert served.returncode == 0, served.stderr
    assert served.stdout.split() == [panel.name for panel in PANELS if panel.name not in removed]
