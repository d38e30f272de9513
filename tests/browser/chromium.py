"""The Chromium of a worker: one for all consecutive browser tests, and the pages that it lends them.

Compiling the scripts takes half the time of a load. Compiled scripts stay as long as the page does, so one page is lent
to test after test: what a test leaves in the page is undone, and where that is not possible, the page is closed.
"""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, ViewportSize, sync_playwright

from tests.browser.interception import interception_of
from tests.browser.servers import FORGETTING, FORGOTTEN
from tools.browser import FLAGS, browser_path, headless_browser_path

# Long enough for the first start on a new machine, which compiles the scan, and for one that has much else to do.
PATIENCE_MS: Final = 120_000
# How many times slower the scripts of pages run, to find faults that only a busy machine shows: STEPSCOPE_SLOW_PAGES=4.
SLOWNESS: Final = float(os.environ.get("STEPSCOPE_SLOW_PAGES", "1"))
# The most seconds by which a page's frames are late, each at random, as on a machine that is busy drawing:
# STEPSCOPE_LATE_FRAMES=0.3.
FRAME_LATENESS_S: Final = float(os.environ.get("STEPSCOPE_LATE_FRAMES", "0"))
LATE_FRAMES: Final = """(() => {
    const frames = window.requestAnimationFrame.bind(window);
    let [asked, now, number, due] = [new Map(), new Map(), 0, 0];
    window.requestAnimationFrame = (tell) => {
        asked.set(++number, tell);
        due ||= setTimeout(() => frames((at) => {
            [now, asked, due] = [asked, new Map(), 0];
            for (const tell of now.values()) tell(at);
        }), Math.random() * 1000 * SECONDS);
        return number;
    };
    window.cancelAnimationFrame = (number) => asked.delete(number) || now.delete(number);
})()"""
# No page lasts long enough to justify compiling its scripts a third and a fourth time, a sixth of a browser's work.
TEST_FLAGS: Final = (*FLAGS, "--js-flags=--no-maglev,--no-opt")
EMPTY: Final = "about:blank"
MODIFIERS: Final = ("Alt", "Control", "Meta", "Shift")
STAYS: Final = (
    "add_init_script",
    "add_locator_handler",
    "expose_binding",
    "expose_function",
    "on",
    "once",
    "route_web_socket",
    "set_extra_http_headers",
)
"""What is done to a page for good."""

Listeners = Mapping[str, Callable[..., None]]


def prepared(page: Page) -> Page:
    """Give a page the patience of tests, and the slow scripts and late frames that are asked for."""
    page.set_default_timeout(PATIENCE_MS)
    if FRAME_LATENESS_S:
        page.add_init_script(LATE_FRAMES.replace("SECONDS", str(FRAME_LATENESS_S)))
    if SLOWNESS > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWNESS})
    return page


class Pages:
    """A browser with a profile, which keeps compiled scripts, and a page that tests use one after another."""

    def __init__(self, playwright: Playwright, folder: str, viewport: ViewportSize, *, has_touch: bool = False) -> None:
        self._viewport: Final = viewport
        self._context: Final = playwright.chromium.launch_persistent_context(
            folder,
            executable_path=browser_path() if has_touch else headless_browser_path(),
            args=TEST_FLAGS,
            viewport=viewport,
            has_touch=has_touch,
            color_scheme="light",
        )
        self._page = self._opened()
        self._is_lent = False

    def _opened(self) -> Page:
        page = prepared(self._context.new_page())
        self._session = self._context.new_cdp_session(page)
        self._is_spoiled = False
        for name in STAYS:
            self._notice(page, name)
        return page

    def _notice(self, owner: Page | BrowserContext, name: str) -> None:
        """Notice from now on when a method with a lasting effect is called."""
        method = getattr(type(owner), name)

        def noticed(*arguments: Any, **options: Any) -> Any:
            self._is_spoiled = True
            return method(owner, *arguments, **options)

        setattr(owner, name, noticed)

    def lend(self, listeners: Listeners) -> Page:
        """Return the page as if it were new; ``listeners``, by event name, receive its events until it is returned."""
        assert not self._is_lent, "a test has one page: others are opened in its context"
        self._is_lent = True
        for event, listener in listeners.items():
            Page.on(self._page, event, listener)  # type: ignore[call-overload]
        self._notice(self._context, "new_cdp_session")
        return self._page

    def take_back(self, listeners: Listeners, origin: str, *, failed: bool) -> None:
        """Undo what a test did in its page, in other pages that it opened, and in the browser.

        Args:
            listeners: the listeners with which the page was lent.
            origin: the origin of the server that most tests use.
            failed: whether the test failed, and so may have ended in the middle of anything.
        """
        self._is_lent = False
        vars(self._context).pop("new_cdp_session")
        # A failing page would leave its stored data to the next try, which might fail for that reason alone.
        origins = {origin, *(f"{parts.scheme}://{parts.netloc}" for parts in self._addresses())}
        if failed or self._is_spoiled or not self._is_left(listeners):
            self._page = self._opened()
        for page in self._context.pages:
            if page is not self._page:
                page.close()
        for each in origins:
            stored = {"origin": each, "storageTypes": "local_storage,indexeddb"}
            self._session.send("Storage.clearDataForOrigin", stored)
        self._context.unroute_all()
        self._context.clear_cookies()
        self._context.clear_permissions()

    def _addresses(self) -> list[SplitResult]:
        found = [urlsplit(page.url) for page in self._context.pages]
        return [address for address in found if address.scheme in ("http", "https")]

    def _is_left(self, listeners: Listeners) -> bool:
        """Undo what a test did in the page; return whether that was possible."""
        page = self._page
        try:
            # All messages so far are received during this call.
            page.evaluate("try { localStorage.clear(); sessionStorage.clear(); } catch {}")
            for event, listener in listeners.items():
                page.remove_listener(event, listener)
            page.goto(EMPTY)
            page.unroute_all()
            interception_of(page).end()
            page.emulate_media(media="null", color_scheme="light", reduced_motion="null", forced_colors="null")
            if page.viewport_size != self._viewport:
                page.set_viewport_size(self._viewport)
            page.mouse.up()
            page.mouse.move(-1, -1)
            for key in MODIFIERS:
                page.keyboard.up(key)
        except Error:
            # The page was closed, or has crashed.
            return False
        return True

    def forget(self, kept: Mapping[str, Sequence[str]]) -> None:
        """Drop answers that the browser may keep, by origin: the next test has others at the same addresses.

        The scripts, which are the same, are kept.
        """
        for origin, addresses in kept.items():
            self._page.goto(origin + FORGETTING)
            self._page.evaluate(
                """([addresses, header]) => Promise.all(
                     addresses.map((address) => fetch(address, { cache: "reload", headers: { [header]: "" } }))
                   ).then(() => null)""",
                [addresses, FORGOTTEN],
            )
            self._page.goto(EMPTY)

    def close(self) -> None:
        self._context.close()


class Chromium:
    """Playwright and what it has started, each on its first use, and again after the end."""

    @cached_property
    def _ends(self) -> ExitStack:
        return ExitStack()

    @cached_property
    def playwright(self) -> Playwright:
        return self._ends.enter_context(sync_playwright())

    @cached_property
    def browser(self) -> Browser:
        """A browser for tests that make their own contexts."""
        browser = self.playwright.chromium.launch(executable_path=headless_browser_path(), args=TEST_FLAGS)
        self._ends.callback(browser.close)
        return browser

    @cached_property
    def desktop(self) -> Pages:
        return self._pages({"width": 1280, "height": 900})

    @cached_property
    def phone(self) -> Pages:
        return self._pages({"width": 390, "height": 844}, has_touch=True)

    def _pages(self, viewport: ViewportSize, *, has_touch: bool = False) -> Pages:
        playwright = self.playwright
        # On a busy machine, some process of the browser writes into the profile a little longer.
        profile = tempfile.TemporaryDirectory(prefix="stepscope-browser-", ignore_cleanup_errors=True)
        folder = self._ends.enter_context(profile)
        pages = Pages(playwright, folder, viewport, has_touch=has_touch)
        self._ends.callback(pages.close)
        return pages

    def end(self) -> None:
        """End all of them; whatever fails to end is not kept for the next test."""
        try:
            self._ends.close()
        finally:
            vars(self).clear()


CHROMIUM: Final = Chromium()
"""Playwright keeps an event loop running, while other tests start their own: it ends before these."""
