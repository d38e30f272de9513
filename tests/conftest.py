"""Fixtures for all tests, and the handling of browser tests that fail by chance."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each processor has a worker: more OpenMP and BLAS threads would only spin while waiting for each other.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Programs started by tests print as they do for any user, whatever is set here: some lines appeared only unbuffered.
os.environ.pop("PYTHONUNBUFFERED", None)

from tests.plugin_distributions import EXAMPLE, pip_install

# Imported objects stay: searching them for garbage again and again takes a fifth of the time of test collection.
gc.disable()

# Checks of timing would make tests fail on a busy machine.
settings.register_profile("stepscope", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stepscope")

# Shells make background processes ignore Ctrl+C, and so do the processes that those start.
signal.signal(signal.SIGINT, signal.default_int_handler)

PACK = Path(__file__).resolve().parent / "peers" / "pack"
PEERS = Path(__file__).resolve().parents[2] / "shared" / "peer"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Recognize browser tests by the fixtures that they use, and give them a second try in CI only."""
    in_ci = os.environ.get("CI") == "true"
    for item in items:
        if "playwright" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if in_ci and item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Collect garbage again, but only among objects that tests create."""
    gc.freeze()
    # Rarely: a test usually leaves little, and the objects that it works with are searched each time.
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report tests that passed only on the second try, with what went wrong on the first: each of them is a bug."""
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
    """Gives the path of a file or folder that another tool wrote.

    Files named "pack/..." are in ``tests/peers/pack`` and always exist. Other files are larger and lie beside the
    repository if somebody put them there; a test of an absent file is skipped.
    """

    def path(name: str) -> Path:
        if name.startswith("pack/"):
            return PACK / name.removeprefix("pack/")
        found = PEERS / name
        if not found.exists():
            pytest.skip(f"the other tools' files are not here: {found}")
        return found

    return path


@pytest.fixture(scope="module", autouse=True)
def _workers_of_joblib_end() -> Iterator[None]:
    """End joblib's worker processes, which would wait for more work and end in the middle of another test."""
    yield
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    if loky is not None and loky._executor is not None:
        loky._executor.shutdown(wait=True)


@pytest.fixture(scope="module", autouse=True)
def _applications_end() -> Iterator[None]:
    """Have FastAPI forget the functions of applications that are gone: it keeps 4,096, with all that hundreds show."""
    yield
    models = sys.modules.get("fastapi.dependencies.models")
    for each in list(vars(models).values()) if models is not None else ():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def _one_look_for_hooks_of_dash() -> Iterator[None]:
    """Have Dash search all distributions for hooks once, not twice for each of a thousand applications."""
    hooks = sys.modules.get("dash._hooks")
    with pytest.MonkeyPatch.context() as patch:
        if hooks is not None:
            hooks.HooksManager.register_setuptools()
            patch.setattr(hooks.HooksManager, "_registered", True)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_look_at_the_pages_bundle() -> Iterator[None]:
    """Compare the page's modules with their bundle, and read it, once, not for each of a thousand applications."""
    bundle = sys.modules.get("stepscope.dashboard.page.bundle")
    if bundle is None:
        yield
        return
    looks_current: Callable[..., bool] = bundle.is_current
    read: Callable[..., dict[str, bytes]] = bundle.files_of
    current: set[str] = set()
    known: dict[str, dict[str, bytes]] = {}

    def is_current(variant: str, root: Path = bundle.ROOT) -> bool:
        if root == bundle.ROOT and variant in current:
            return True
        found = looks_current(variant, root)
        if found and root == bundle.ROOT:
            current.add(variant)
        return found

    def files_of(variant: str, root: Path = bundle.ROOT) -> dict[str, bytes]:
        if root == bundle.ROOT and variant in known and bundle.is_current(variant, root):
            return known[variant]
        found = read(variant, root)
        if root == bundle.ROOT:
            known[variant] = found
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "is_current", is_current)
        patch.setattr(bundle, "files_of", files_of)
        yield


@pytest.fixture(scope="session")
def installed_example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed ``examples/plugin``, to be copied."""
    folder = tmp_path_factory.mktemp("example")
    pip_install(EXAMPLE, folder)
    return folder
