"""A dashboard on a free port over a temporary log directory, and a headless Chromium page that tolerates no error."""

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Playwright,
    Response,
    Route,
    expect,
    sync_playwright,
)

from stepscope.dashboard.cli.serving import make_live, make_server
from stepscope.dashboard.page import bundle
from stepscope.dashboard.page.assets import VARIANT
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.app import LOCAL
from stepscope.dashboard.server.live import Live
from stepscope.summary.logdir_source import source_of
from tools.browser import FLAGS, browser_path

# Long enough for the compilation of the scan, which the first start on a new machine waits for.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)

CALLBACKS = "**/_dash-update-component*"

# How many times slower the scripts of pages run, to find what only a busy machine shows: STEPSCOPE_SLOW_PAGES=4.
SLOWNESS = float(os.environ.get("STEPSCOPE_SLOW_PAGES", "1"))


def slowed(page: Page) -> Page:
    """Have the scripts of a page run ``SLOWNESS`` times slower, while its server is as fast as ever."""
    if SLOWNESS > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWNESS})
    return page


@dataclass(frozen=True)
class Dashboard:
    """A running server and what it looks at."""

    url: str
    logdir: Path
    live: Live


@pytest.fixture(scope="module", autouse=True)
def _debug_handles() -> Iterator[None]:
    """Servers of the tests, and of processes that they start, give away the bundle with ``window.stepscope``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIANT, bundle.DEBUG)
        yield


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def usual_port() -> int:
    """The port of the first dashboard of each test of a worker.

    The page's scripts then have the same address in all of them, so that the browser compiles them once.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError:
        return socket.create_server(("127.0.0.1", 0))


@pytest.fixture
def serve(usual_port: int) -> Iterator[Callable[..., Dashboard]]:
    """A function that serves a directory until the test ends."""
    stops: list[Callable[[], None]] = []

    def start(path: Path, *, keep_superseded: bool = False, access: Access = LOCAL) -> Dashboard:
        listener = listening(usual_port)
        live = make_live(source_of(path), keep_superseded, 0.2)
        server = make_server(live, access)
        live.start()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()

        def stop() -> None:
            server.should_exit = True
            thread.join()
            listener.close()

        stops.append(stop)
        return Dashboard(f"http://localhost:{listener.getsockname()[1]}", path, live)

    yield start
    for stop in stops:
        stop()


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    # For a module, not the session: Playwright keeps an event loop running, and other tests start their own.
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A browser for tests that make their own contexts."""
    started = playwright.chromium.launch(executable_path=browser_path(), args=FLAGS)
    yield started
    started.close()


@pytest.fixture(scope="session")
def profile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser_profile")


@pytest.fixture(scope="module")
def context(playwright: Playwright, profile_folder: Path) -> Iterator[BrowserContext]:
    """A browser whose profile keeps the compiled scripts of the page, which takes longer than all else of a load."""
    opened = playwright.chromium.launch_persistent_context(
        profile_folder,
        executable_path=browser_path(),
        args=FLAGS,
        viewport={"width": 1280, "height": 900},
        color_scheme="light",
    )
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, serve: Callable[..., Dashboard], usual_port: int) -> Iterator[Page]:
    """A page that fails the test on a console error, an uncaught exception, or a request to another host.

    It is closed before its servers are stopped: it would ask them in vain. Nothing of it stays for the next test but
    scripts.
    """
    opened = slowed(context.new_page())
    opened.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    strangers: list[str] = []
    kept: list[str] = []

    def check(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.hostname not in ("localhost", "127.0.0.1"):
            strangers.append(url)

    def note(response: Response) -> None:
        if "/api/" in response.url and "immutable" in response.headers.get("cache-control", ""):
            kept.append(response.url)

    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: check(request.url))
    opened.on("response", note)
    opened.on("websocket", lambda websocket: check(websocket.url))
    yield opened
    clean = context.new_page()
    for other in context.pages:
        if other is not clean:
            other.close()
    session = context.new_cdp_session(clean)
    origin = f"http://localhost:{usual_port}"
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage,indexeddb"})
    if kept:
        session.send("Network.clearBrowserCache")
    context.unroute_all()
    context.clear_cookies()
    context.clear_permissions()
    assert errors == []
    assert strangers == []


def wait_until(page: Page, condition: Callable[[], bool], missed: str) -> None:
    """Wait for what a page does; ``missed`` says what did not come about."""
    until = time.monotonic() + PATIENCE_MS / 1000
    while not condition():
        assert time.monotonic() < until, missed
        page.wait_for_timeout(20)


def expect_uncut(parts: Locator) -> None:
    """Wait for elements to be as wide as what is in them: names are fitted a frame after their column has its width."""
    is_whole = "all => all.every((e) => e.scrollWidth <= e.clientWidth + 1)"
    wait_until(parts.page, lambda: bool(parts.evaluate_all(is_whole)), f"{parts} is cut off")


class Held:
    """Requests of a page that its server does not see until they are let go, those to come included.

    Args:
        page: the page.
        address: which requests, as `Page.route` takes it.
        is_meant: which of these.
    """

    def __init__(
        self, page: Page, address: str | re.Pattern[str], is_meant: Callable[[Route], bool] = lambda _route: True
    ) -> None:
        self.page = page
        self._is_meant = is_meant
        self._open = False
        self.routes: list[Route] = []
        page.route(address, self._hold)

    def _hold(self, route: Route) -> None:
        if self._open or not self._is_meant(route):
            route.continue_()
        else:
            self.routes.append(route)

    def wait(self, count: int = 1) -> None:
        """Wait until so many are there."""
        wait_until(self.page, lambda: len(self.routes) >= count, f"{count} requests that were to be held back")

    def release(self) -> None:
        """Let all go; what came while the others went is on its way already."""
        self._open = True
        for route in self.routes.copy():
            route.continue_()


def hold_back(page: Page, address: str) -> Held:
    """Keep the requests back whose address holds the regular expression, until they are released."""
    return Held(page, re.compile(address))


def hold_callbacks(page: Page, words: str) -> Held:
    """Keep back what the page asks Dash's callbacks for with these words in it, until it is released."""
    return Held(page, CALLBACKS, lambda route: words in (route.request.post_data or ""))


@pytest.fixture
def phone(browser: Browser, serve: Callable[..., Dashboard]) -> Iterator[Page]:
    """A page as wide as a phone, under a finger; closed before its servers are stopped."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, color_scheme="light")
    page = slowed(context.new_page())
    page.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []
