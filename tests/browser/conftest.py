"""A dashboard on a free port over a temporary log directory, and a headless Chromium page that tolerates no error."""

import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    expect,
)

from stepscope.dashboard.cli.serving import make_app, make_live
from stepscope.dashboard.embeddings import worker_pool
from stepscope.dashboard.page import bundle
from stepscope.dashboard.page.assets import VARIANT
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.app import LOCAL
from stepscope.dashboard.server.live import Live
from stepscope.summary.log_index import LogIndex
from stepscope.summary.logdir_source import source_of
from tests.browser.chromium import CHROMIUM, PATIENCE_MS, Listeners, Pages
from tests.browser.interception import Intercepted, interception_of
from tests.browser.servers import SERVERS
from tests.browser.workers import WORKERS, LentWorker

expect.set_options(timeout=PATIENCE_MS)

CALLBACKS = "/_dash-update-component"
FAILED = pytest.StashKey[bool]()


@dataclass(frozen=True)
class Dashboard:
    """A running server and what it looks at."""

    url: str
    logdir: Path
    live: Live


@pytest.fixture(scope="module", autouse=True)
def _debug_handles() -> Iterator[None]:
    """Servers of the tests, and of processes that they start, serve the bundle with ``window.stepscope``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIANT, bundle.DEBUG)
        yield


@pytest.fixture(scope="module", autouse=True)
def _kept_workers() -> Iterator[None]:
    """Dashboards of the tests use the projector's worker processes one after another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "WorkerProcess", LentWorker)
        yield


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    path.mkdir()
    return path


@pytest.fixture
def serve() -> Iterator[Callable[..., Dashboard]]:
    """A function that serves a directory until the test ends."""
    stops: list[Callable[[], None]] = []

    def start(
        path: Path, *, keep_superseded: bool = False, access: Access = LOCAL, index: LogIndex | None = None
    ) -> Dashboard:
        live = make_live(source_of(path), keep_superseded, 0.2, index=index)
        server = SERVERS.lend(make_app(live, access, ()))
        # Streams end along with what they report on, so that the server does not wait for them.
        stops.extend((live.stop, server.take_back))
        live.start()
        # Separate tests cover pages that are opened while the log directory is read for the first time.
        assert live.wait_for_first(PATIENCE_MS / 1000)
        return Dashboard(server.origin, path, live)

    yield start
    for stop in stops:
        stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Remember that a test failed: its page may be in any state."""
    if call.excinfo is not None:
        item.stash[FAILED] = True
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """End Chromium, the servers and their workers after the last test that drives it."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.get_closest_marker("browser") is None:
            CHROMIUM.end()
            SERVERS.end()
            WORKERS.end()


@pytest.fixture(scope="module")
def playwright() -> Playwright:
    """The driver of Chromium; browser tests are recognized by this fixture."""
    return CHROMIUM.playwright


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Browser:
    """A browser for tests that make their own contexts."""
    return CHROMIUM.browser


@contextmanager
def lent(pages: Pages, request: pytest.FixtureRequest, listeners: Listeners) -> Iterator[Page]:
    """Lend a page to a test.

    The test leaves the page before its servers are stopped, which the page would otherwise ask in vain. Only scripts
    stay for the next test.
    """
    yield pages.lend(listeners)
    pages.take_back(listeners, SERVERS.usual.origin, failed=request.node.stash.get(FAILED, False))
    # The page has left, and requests nothing more.
    pages.forget(SERVERS.kept())


@pytest.fixture
def page(request: pytest.FixtureRequest, playwright: Playwright, serve: Callable[..., Dashboard]) -> Iterator[Page]:
    """A page that fails the test on a console error or an uncaught exception.

    A request to another host is an error too, for the browser finds none.
    """
    errors: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    with lent(
        CHROMIUM.desktop, request, {"console": hear, "pageerror": lambda error: errors.append(str(error))}
    ) as page:
        yield page
    assert errors == []


@pytest.fixture
def refused_page(
    request: pytest.FixtureRequest, playwright: Playwright, serve: Callable[..., Dashboard]
) -> Iterator[Page]:
    """The page for tests in which requests fail, which the browser reports in its console."""
    with lent(CHROMIUM.desktop, request, {}) as page:
        yield page


@pytest.fixture
def phone(request: pytest.FixtureRequest, playwright: Playwright, serve: Callable[..., Dashboard]) -> Iterator[Page]:
    """A page as wide as a phone, operated by touch; left before its servers are stopped."""
    errors: list[str] = []
    with lent(CHROMIUM.phone, request, {"pageerror": lambda error: errors.append(str(error))}) as page:
        yield page
    assert errors == []


def wait_until(page: Page, condition: Callable[[], bool], missed: str) -> None:
    """Wait for something that a page does; ``missed`` describes what did not happen."""
    until = time.monotonic() + PATIENCE_MS / 1000
    while not condition():
        assert time.monotonic() < until, missed
        page.wait_for_timeout(20)


def expect_uncut(parts: Locator) -> None:
    """Wait for elements to be as wide as their content: names are fitted a frame after their column gets its width."""
    is_whole = "all => all.every((e) => e.scrollWidth <= e.clientWidth + 1)"
    wait_until(parts.page, lambda: bool(parts.evaluate_all(is_whole)), f"{parts} is cut off")


class Held:
    """Requests of a page, later ones included, that its server does not see until they are released.

    Args:
        page: the page.
        address: a regular expression that is found in their addresses: of data or callbacks, not of scripts.
        words: what their bodies contain.
    """

    def __init__(self, page: Page, address: str, words: str = "") -> None:
        self.page = page
        self._address = re.compile(address)
        self._words = words
        self._open = False
        self.requests: list[Intercepted] = []
        interception_of(page).add(self._hold)

    def _hold(self, request: Intercepted) -> bool:
        if self._open or not self._address.search(request.url) or self._words not in request.body:
            return False
        self.requests.append(request)
        return True

    def wait(self, count: int = 1) -> None:
        """Wait until this many requests are held back."""
        wait_until(self.page, lambda: len(self.requests) >= count, f"{count} requests that were to be held back")

    def release(self) -> None:
        """Release all requests; any that come in the meantime are sent on directly."""
        self._open = True
        for request in self.requests.copy():
            request.pass_on()


class Busy:
    """A server that refuses some requests until it is free.

    Args:
        page: the page that asks.
        address: what the addresses of these requests contain: of data or callbacks, not of scripts.
        words: what their bodies contain.
        status: with which HTTP status they are answered, if at all.
    """

    def __init__(self, page: Page, address: str, words: str = "", status: int | None = 503) -> None:
        self.page = page
        self.refused = 0
        """The number of refused requests so far."""
        self._address = address
        self._words = words
        self._status = status
        self._is_free = False
        interception_of(page).add(self._refuse)

    def _refuse(self, request: Intercepted) -> bool:
        if self._is_free or self._address not in request.url or self._words not in request.body:
            return False
        self.refused += 1
        if self._status is None:
            request.fail()
        else:
            request.refuse(self._status)
        return True

    def wait(self, count: int) -> None:
        """Wait until this many requests have been refused."""
        wait_until(self.page, lambda: self.refused >= count, f"{count} requests that a busy server refuses")

    def free(self) -> None:
        """Refuse no more requests."""
        self._is_free = True


def hold_callbacks(page: Page, words: str) -> Held:
    """Hold back the page's requests to Dash's callbacks that contain these words until they are released."""
    return Held(page, CALLBACKS, words)


@contextmanager
def held_frames(page: Page) -> Iterator[None]:
    """Hold back what the page asks for its next frame, and have it done at the end of the block."""
    page.evaluate("""() => {
        window.held = [];
        window.frames = window.requestAnimationFrame;
        window.requestAnimationFrame = (tell) => window.held.push(tell);
    }""")
    yield
    page.evaluate("""() => {
        window.requestAnimationFrame = window.frames;
        window.held.forEach((tell) => tell(performance.now()));
    }""")
