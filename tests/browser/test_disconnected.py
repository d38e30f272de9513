"""The page while its server is gone, and when there is one again."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from stepscope.summary import SummaryWriter
from tests.browser.chromium import prepared
from tests.browser.conftest import CALLBACKS, Busy, Dashboard, Held, wait_until
from tests.browser.test_frame import expect_curves, write_runs

pytestmark = pytest.mark.browser

# In a headless browser, every page believes that it is in front.
BEHIND = """hidden => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


class Server:
    """A dashboard in its own process, always on the same port."""

    def __init__(self, logdir: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = probe.getsockname()[1]
        self.logdir = logdir
        self.url = f"http://localhost:{self._port}"
        self.start()

    def start(self, *more: str) -> None:
        where = ("--logdir", str(self.logdir), "--port", str(self._port))
        command = [sys.executable, "-m", "stepscope", "serve", *where, *more]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        assert self._process.stdout is not None
        while "http://" not in self._process.stdout.readline():
            assert self._process.poll() is None

    def stop(self) -> None:
        """Make it hang: it accepts connections and answers nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def server(logdir: Path) -> Iterator[Server]:
    write_runs(logdir, "a")
    started = Server(logdir)
    yield started
    started.kill()


@pytest.fixture
def url(serve: Callable[..., Dashboard], logdir: Path) -> str:
    """The address of a server that stays, for tests in which only some of its answers are lost."""
    write_runs(logdir, "a")
    return serve(logdir).url


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that may complain about requests without an answer; it is left before its server ends."""
    request.getfixturevalue("server" if "server" in request.fixturenames else "url")
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    yield prepared(context.new_page())
    context.close()


def banner_of(page: Page) -> Locator:
    """The alert about the connection: charts that were not loaded show alerts, too."""
    return page.get_by_role("alert").and_(page.locator("#disconnected"))


def test_a_server_that_is_gone_is_said_and_all_is_well_when_it_is_back(
    page: Page, server: Server, logdir: Path
) -> None:
    page.goto(server.url)
    expect_curves(page)
    server.kill()
    banner = banner_of(page)
    expect(banner).to_contain_text("Disconnected, retrying")
    expect(banner).to_contain_text("Is stepscope still running?")
    expect(banner.locator(".since")).to_have_text(re.compile(r"for \d+ s"))
    expect(banner.get_by_role("button", name="Retry")).to_be_visible()
    panel = page.locator("#panel")
    expect(panel).to_have_attribute("inert", "")
    # The panel that was open is not shown under another tab's name.
    page.get_by_role("tab", name="Health").click()
    expect(page.get_by_role("tab", name="Health", selected=True)).to_be_visible()
    expect(panel).to_have_attribute("data-waits", "Health could not be opened, retrying…")
    expect(page.locator(".scalars-card")).to_be_hidden()

    write_runs(logdir, "b", points=7)
    server.start()
    expect(banner).to_have_count(0)
    expect(page.locator(".health-panel")).to_be_visible()
    expect(panel).not_to_have_attribute("inert", "")
    expect(panel).not_to_have_attribute("data-waits", re.compile("."))
    expect(page.locator(".health-table")).to_contain_text("b")
    expect(page.locator("#run-count")).to_have_text("2 of 2 shown")
    page.get_by_role("tab", name="Scalars").click()
    expect_curves(page)


def test_a_server_that_is_back_with_another_token_is_said_and_asks_for_it(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/?tab=health")
    expect(page.locator(".health-panel")).to_be_visible()
    server.kill()
    banner = banner_of(page)
    expect(banner).to_contain_text("Disconnected, retrying")
    server.start("--token", "a-token-of-enough-letters")
    expect(banner).to_have_text("This dashboard requires a tokenEnter token")
    expect(page.locator("#live")).to_have_attribute("title", "This dashboard requires a token")
    banner.get_by_role("button", name="Enter token").click()
    page.get_by_label("Token").fill("a-token-of-enough-letters")
    page.keyboard.press("Enter")
    expect(page.locator(".health-panel")).to_be_visible()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_what_a_script_was_missing_for_is_there_when_the_server_is_back(page: Page, server: Server) -> None:
    page.route("**/async-community.js", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: request.url.endswith("async-community.js")):
        page.goto(server.url)
    server.kill()
    expect(banner_of(page)).to_contain_text("Disconnected, retrying")
    page.unroute_all()
    server.start()
    expect(page.get_by_label("Show a")).to_be_visible()


def test_a_script_that_a_busy_server_did_not_send_is_asked_for_once_more(refused_page: Page, url: str) -> None:
    page = refused_page
    page.route("**/async-community.js", lambda route: route.fulfill(status=503), times=1)
    with page.expect_response(lambda response: response.status == 503):
        page.goto(url)
    expect(page.get_by_label("Show a")).to_be_visible()


def test_a_script_is_asked_for_once_more_by_a_page_whose_connection_comes_late(page: Page, url: str) -> None:
    page.clock.install()
    connection = Held(page, "/api/revision")
    page.route("**/async-community.js", lambda route: route.fulfill(status=503), times=1)
    with page.expect_response(lambda response: response.status == 503):
        page.goto(url)
    connection.wait()
    page.clock.fast_forward(4_000)
    connection.release()
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.clock.fast_forward(4_000)
    expect(page.get_by_label("Show a")).to_be_visible()


def test_a_module_that_a_busy_server_did_not_send_is_asked_for_once_more(refused_page: Page, url: str) -> None:
    page = refused_page
    refused: list[str] = []
    is_busy = False

    def refuse_once(route: Route) -> None:
        if is_busy and not refused:
            refused.append(route.request.url)
            route.fulfill(status=503)
        else:
            route.continue_()

    # Before the page is opened: an open page may send its next request before it is told to send it another way.
    page.route("**/page/**", refuse_once)
    page.goto(url)
    expect_curves(page)
    is_busy = True
    menu = page.locator(".scalars-card").first.locator(".act-menu")
    with page.expect_event("load"):
        menu.click()
    expect_curves(page)
    menu.click()
    expect(page.locator(".menu")).to_be_visible()


def test_a_tab_that_a_busy_server_did_not_open_is_asked_for_once_more(page: Page, url: str) -> None:
    page.clock.install()
    page.goto(url)
    expect_curves(page)
    server = Busy(page, CALLBACKS, '"output":"..runs-listing.data')
    page.get_by_role("tab", name="Health").click()
    panel = page.locator("#panel")
    expect(panel).to_have_attribute("data-waits", "Health could not be opened, retrying…")
    server.free()
    page.clock.fast_forward(1_000)
    expect(page.locator(".health-panel")).to_be_visible()
    expect(panel).not_to_have_attribute("data-waits", re.compile("."))


def test_what_fails_again_and_again_is_said_until_it_does_not(page: Page, url: str) -> None:
    page.clock.install()
    page.goto(url)
    expect_curves(page)
    server = Busy(page, CALLBACKS, '"output":"..runs-listing.data', status=500)
    page.get_by_role("tab", name="Health").click()
    expect(page.locator("#panel")).to_have_attribute("data-waits", "Health could not be opened, retrying…")
    alert = page.locator("#failing")
    # One failure that a retry mends would not be worth a message.
    expect(alert).to_have_count(0)
    page.clock.fast_forward(1_000)
    expect(alert).to_have_text(
        "Part of the page could not be updated, retrying…The terminal where stepscope runs shows why.Retry"
    )
    seen = server.refused
    alert.get_by_role("button", name="Retry").click()
    wait_until(page, lambda: server.refused > seen, "another try")
    expect(alert).to_be_visible()
    server.free()
    alert.get_by_role("button", name="Retry").click()
    expect(page.locator(".health-panel")).to_be_visible()
    page.clock.fast_forward(70_000)
    expect(alert).to_have_count(0)
    # The button that had the focus is gone.
    expect(page.locator("#panel")).to_be_focused()


def test_charts_are_those_of_the_server_that_is_back(page: Page, server: Server, logdir: Path) -> None:
    page.goto(server.url)
    expect_curves(page)
    server.kill()
    expect(banner_of(page)).to_be_visible()
    # As many changes as before, so that the new server is at the same revision with different data.
    (old,) = (logdir / "a").iterdir()
    old.unlink()
    write_runs(logdir, "a", points=50)
    server.start()
    expect(banner_of(page)).to_have_count(0)
    page.wait_for_function("() => stepscope.curveCards.find('train/loss')?.model.lines[0]?.x.length === 50")


def test_the_title_is_that_of_the_server_that_is_back(page: Page, server: Server, tmp_path: Path) -> None:
    write_runs(server.logdir, ".")
    page.goto(server.url)
    expect(page).to_have_title("logs · Stepscope")
    expect(page.get_by_label("Show logs")).to_be_visible()
    server.kill()
    server.logdir = tmp_path / "others"
    write_runs(server.logdir, ".")
    server.start()
    expect(page).to_have_title("others · Stepscope")
    expect(page.get_by_label("Show others")).to_be_visible()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_a_server_that_hangs_is_said_until_it_goes_on(page: Page, server: Server) -> None:
    page.goto(server.url)
    expect_curves(page)
    server.stop()
    banner = banner_of(page)
    expect(banner).to_contain_text("Disconnected, retrying")
    server.go_on()
    expect(banner).to_have_count(0)
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_tabs_behind_others_leave_their_connection_to_the_one_in_front(
    page: Page, server: Server, logdir: Path
) -> None:
    # A browser has six connections to a server.
    tabs = [page, *(prepared(page.context.new_page()) for _ in range(7))]
    for tab in tabs:
        tab.goto(server.url)
        expect_curves(tab)
        tab.evaluate(BEHIND, True)
    page.evaluate(BEHIND, False)
    write_runs(logdir, "b", points=7)
    expect(page.locator("#run-count")).to_have_text("2 of 2 shown")
    expect(tabs[1].locator("#run-count")).to_have_text("1 of 1 shown")
    expect(tabs[1].locator("#live")).to_have_attribute("data-state", "live")
    tabs[1].evaluate(BEHIND, False)
    expect(tabs[1].locator("#run-count")).to_have_text("2 of 2 shown")


def test_a_tab_that_comes_to_the_front_has_what_another_server_tells(page: Page, server: Server, logdir: Path) -> None:
    page.goto(server.url)
    expect_curves(page)
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/revision")):
        page.evaluate(BEHIND, True)
    server.kill()
    # As many changes as before, so that the new server is at the same revision with different data.
    (old,) = (logdir / "a").iterdir()
    old.unlink()
    write_runs(logdir, "a", points=50)
    server.start()
    page.evaluate(BEHIND, False)
    page.wait_for_function("() => stepscope.curveCards.find('train/loss')?.model.lines[0]?.x.length === 50")


SHOWN: Final = {
    "text": "document.querySelector('.text-card .entry')?.innerText",
    "histograms": """stepscope.elements.numbers(
        document.querySelector(".histograms-card .js-plotly-plot")?._fullData?.at(-1)?.meta?.counts)
        .reduce((sum, each) => sum + each, 0)""",
    "images": """(() => {
        const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        context.drawImage(document.querySelector(".picture img"), 0, 0);
        return context.getImageData(0, 0, 1, 1).data[0];
    })()""",
    "audio": "document.querySelector('.clip .facts')?.innerText",
    "pr_curves": "document.querySelector('.pr-table tbody tr')?.innerText",
    "hparams": "document.querySelector('.hparams-grid .ag-center-cols-container')?.innerText",
}
"""By panel, an expression for what it shows of the data."""


def write_something_for_all(logdir: Path, number: int) -> None:
    """Always the same number of points at the same steps, with different contents."""
    shutil.rmtree(logdir / "r", ignore_errors=True)
    with SummaryWriter(str(logdir / "r")) as writer:
        writer.add_text("note", f"text {number}", 0, walltime=1000.0 + number)
        writer.add_histogram("weights", np.ones(10 * number), 0, walltime=1000.0 + number)
        writer.add_image("picture", np.full((1, 4, 6), 10 * number, np.uint8), 0, walltime=1000.0 + number)
        writer.add_audio("sound", np.zeros(8000 * number), 0, sample_rate=8000, walltime=1000.0 + number)
        writer.add_pr_curve("pr", [1, 0], [0.4 * number, 0.5], 0, num_thresholds=11, walltime=1000.0 + number)
        writer.add_hparams({"rate": 0.1 * number}, {"score": float(number)}, run_name=".")


def test_panels_show_what_the_server_that_is_back_has(browser: Browser, logdir: Path) -> None:
    write_something_for_all(logdir, 1)
    with ExitStack() as stack:
        server = Server(logdir)
        stack.callback(server.kill)
        pages: dict[str, Page] = {}
        context = None
        for panel, shown in SHOWN.items():
            # The pages of one context have six connections in all, and each page listens on one of them.
            if context is None or len(context.pages) == 3:
                context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
                stack.callback(context.close)
            page = pages[panel] = prepared(context.new_page())
            page.goto(f"{server.url}?tab={panel}")
            page.wait_for_function(seen(shown))
        before = {panel: page.evaluate(seen(SHOWN[panel])) for panel, page in pages.items()}
        server.kill()
        for page in pages.values():
            expect(banner_of(page)).to_contain_text("Disconnected")
        write_something_for_all(logdir, 2)
        server.start()
        for panel, page in pages.items():
            page.wait_for_function(seen(SHOWN[panel]), arg=before[panel])


def seen(expression: str) -> str:
    """A function that returns an expression's value, or null while it fails or has its previous value."""
    return f"""(before) => {{
        try {{ const now = {expression}; return now !== before && now || null; }} catch {{ return null; }}
    }}"""
