"""The dashboard in a frame of another page: allowed for pages of this machine, not for those of another host."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from stepscope.dashboard.notebook.magic import iframe
from stepscope.summary import SummaryWriter
from tests.browser.chromium import prepared
from tests.browser.conftest import Dashboard

pytestmark = pytest.mark.browser

Serve = Callable[..., Dashboard]


@pytest.fixture
def notebook() -> Iterator[Callable[[str, str], int]]:
    """A function that serves a page with a frame of a URL at an address of this machine, and returns the port."""
    servers: list[ThreadingHTTPServer] = []

    def start(address: str, url: str) -> int:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                icon = '<link rel="icon" href="data:,">'
                self.wfile.write(f"<!DOCTYPE html>{icon}<p>A notebook</p>{iframe(url, 700)}".encode())

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer((address, 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever).start()
        return server.server_address[1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_notebook_of_this_machine_shows_the_dashboard(
    serve: Serve, page: Page, logdir: Path, notebook: Callable[[str, str], int]
) -> None:
    with SummaryWriter(str(logdir / "a")) as writer:
        writer.add_text("note", "hello from a frame", 0)
    page.goto(f"http://localhost:{notebook('127.0.0.1', serve(logdir).url)}/")
    expect(page.frame_locator("iframe").get_by_text("hello from a frame")).to_be_visible()


def test_a_page_of_another_host_may_not(
    serve: Serve, browser: Browser, logdir: Path, notebook: Callable[[str, str], int]
) -> None:
    # An address that the dashboard does not know as its own, but that browsers still treat as local.
    port = notebook("127.0.0.2", serve(logdir).url)
    context = browser.new_context()
    page = prepared(context.new_page())
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        page.goto(f"http://127.0.0.2:{port}/")
    context.close()
