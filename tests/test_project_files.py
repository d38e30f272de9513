"""The files around the code: the dashboard's image, linted everywhere and built where Docker exists, and public CI."""

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
HADOLINT = Path(sysconfig.get_path("scripts")) / "hadolint"


def has_docker() -> bool:
    """Whether the command exists and a daemon answers."""
    return (
        shutil.which("docker") is not None and subprocess.run(["docker", "info"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="hadolint is not installed here"
)
def test_the_dockerfile_has_no_faults() -> None:
    told = subprocess.run([HADOLINT, REPOSITORY / "Dockerfile"], capture_output=True, text=True)
    assert told.stdout == ""


def test_the_image_runs_as_a_plain_user_and_asks_for_a_token() -> None:
    lines = (REPOSITORY / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("FROM ")] == [
        "FROM python:3.13-slim AS wheels",
        "FROM python:3.13-slim",
    ]
    assert [line for line in lines if line.startswith("USER ")] == ["USER 1000"]
    assert lines[-1] == 'CMD ["serve", "--logdir", "/logs", "--host", "0.0.0.0"]'


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not has_docker(), reason="no Docker daemon answers here")
def test_the_image_is_built_and_tells_its_version() -> None:
    subprocess.run(["docker", "build", "--quiet", "--tag", "stepscope:test", REPOSITORY], check=True)
    told = subprocess.run(
        ["docker", "run", "--rm", "stepscope:test", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("stepscope ")


def test_public_ci_runs_what_make_test_runs_with_pinned_actions() -> None:
    workflow = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text()
    used = re.findall(r"uses: (\S+)", workflow)
    assert used != []
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
    assert "run: .ci/run" in workflow
    assert 'python: ["3.11", "3.14"]' in workflow
