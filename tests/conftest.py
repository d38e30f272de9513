"""Fixtures for all tests, and what becomes of a test that drives a browser and fails by chance."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline would make tests fail on a busy machine, and tests never judge times.
settings.register_profile("stepscope", deadline=None)
settings.load_profile("stepscope")

PEERS = Path(__file__).resolve().parents[2] / "shared" / "peer"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Know tests by the fixtures that they use; in CI alone, give those with a browser a second try."""
    in_ci = os.environ.get("CI") == "true"
    for item in items:
        if "playwright" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if in_ci and item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell of tests that passed at their second try alone, with what went wrong at the first: each of them is a bug."""
    stats = terminalreporter.stats
    failed = {report.nodeid for outcome in ("failed", "error") for report in stats.get(outcome, [])}
    flaky = [report for report in stats.get("rerun", []) if report.nodeid not in failed]
    if not flaky:
        return
    terminalreporter.section("flaky")
    for report in flaky:
        terminalreporter.write_sep("_", f"{report.nodeid} ({report.when}, first try)")
        terminalreporter.write_line(report.longreprtext)
    terminalreporter.section(f"flaky: {len(flaky)} needed a second try, each a bug to be mended")
    for report in flaky:
        terminalreporter.write_line(f"FLAKY {report.nodeid}")


@pytest.fixture(scope="session")
def peer() -> Callable[[str], Path]:
    """Gives the path of a file or folder that another tool wrote; skips the test where it is absent."""

    def path(name: str) -> Path:
        found = PEERS / name
        if not found.exists():
            pytest.skip(f"the other tools' files are not here: {found}")
        return found

    return path
