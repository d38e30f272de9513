"""Requests of a page that a test holds back or answers itself.

Playwright's own routes turn off the browser's cache, so that the page's scripts are sent and compiled again.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, CDPSession, Error, Page

PROBE: Final = "?intercepted"
PROBED: Final = 204
PATTERNS: Final = tuple({"urlPattern": pattern} for pattern in ("*/api/*", "*/_dash-update-component*", f"*{PROBE}"))
"""What can be intercepted: data and callbacks, but no scripts."""


@dataclass(frozen=True)
class Intercepted:
    """A request that waits for what the test does with it.

    Attributes:
        url: its address.
        body: what it sends, as text.
    """

    _session: CDPSession
    _id: str
    url: str
    body: str

    def pass_on(self) -> None:
        """Let the server answer."""
        self._end("continueRequest")

    def refuse(self, status: int) -> None:
        """Answer with an HTTP status and without a body."""
        self._end("fulfillRequest", responseCode=status)

    def fail(self) -> None:
        """Have the request fail without an answer, as if there were no server."""
        self._end("failRequest", errorReason="Failed")

    def _end(self, method: str, **parameters: Any) -> None:
        # The page may have ended the request, or may be gone.
        with suppress(Error):
            self._session.send(f"Fetch.{method}", {"requestId": self._id, **parameters})


class Interception:
    """The interception of one page's requests, which begins with the first handler.

    Args:
        page: the page.
    """

    def __init__(self, page: Page) -> None:
        self._page: Final = page
        # Not by the method that the context's owner watches: this session has no lasting effect.
        self._session: Final = BrowserContext.new_cdp_session(page.context, page)
        self._session.on("Fetch.requestPaused", self._decide)
        self._handlers: Sequence[Callable[[Intercepted], bool]] = ()

    def add(self, handle: Callable[[Intercepted], bool]) -> None:
        """Ask ``handle`` about each request from now on; it returns whether it has taken the request."""
        if not self._handlers:
            self._session.send("Fetch.enable", {"patterns": PATTERNS})
            self._wait()
        self._handlers = (handle, *self._handlers)

    def end(self) -> None:
        """Pass all requests on, those that wait included."""
        if self._handlers:
            self._handlers = ()
            with suppress(Error):
                self._session.send("Fetch.disable")

    def _wait(self) -> None:
        """Wait until the requests of the open page are intercepted.

        Chromium tells the page to send its requests another way, but does not wait until the page does. On a busy
        machine, a page may handle the next key press first, whose request then reaches the server.
        """
        if urlsplit(self._page.url).scheme not in ("http", "https"):
            return
        while self._page.evaluate(f"fetch('{PROBE}').then(({{ status }}) => status)") != PROBED:
            pass

    def _decide(self, event: dict[str, Any]) -> None:
        asked = event["request"]
        request = Intercepted(self._session, event["requestId"], asked["url"], asked.get("postData", ""))
        if asked["url"].endswith(PROBE):
            request.refuse(PROBED)
        elif not any(handle(request) for handle in self._handlers):
            request.pass_on()


def interception_of(page: Page) -> Interception:
    """Return the interception of a page, one for all who ask."""
    known: dict[str, Any] = vars(page)
    if "interception" not in known:
        known["interception"] = Interception(page)
    found: Interception = known["interception"]
    return found
