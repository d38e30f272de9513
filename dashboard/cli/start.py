"""The start of a server: it answers at once, while a thread imports and builds the application."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console

from stepscope.dashboard.cli.imports import import_dash, quick_imports
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.first_answers import KeptFirstAnswers, ask_for, installation_key
from stepscope.dashboard.server.opening import Opening
from stepscope.dashboard.server.page_title import page_title
from stepscope.dashboard.server.web_server import DashboardServer
from stepscope.plugins import is_any_installed
from stepscope.summary.cache_folder import cache_folder

if TYPE_CHECKING:
    from fastapi import FastAPI

    from stepscope.dashboard.page.front import Front
    from stepscope.dashboard.server.live import Live
    from stepscope.profiler.client import Address


MOST_WAIT_SECONDS: Final = 0.5
"""Maximum wait for the first data to be read, once the application is built."""


@dataclass(frozen=True)
class Served:
    """What a server shows."""

    path: str
    """The path as shown to the user."""
    make: "Callable[[], Live]"
    """Makes the log directory ready to be followed; called in another thread, where its libraries are imported."""
    title: str = ""
    """Title of the browser tab; if empty, it is made from the path."""


class Start:
    """A server and the thread that builds its application.

    Args:
        served: what to show.
        access: who may use the server.
        captures: programs that pages may record, besides those on this machine.
        console: shows the progress.
    """

    def __init__(self, served: Served, access: Access, captures: "Sequence[Address]", console: Console) -> None:
        self._served: Final = served
        self._access: Final = access
        self._captures: Final = captures
        self._console: Final = console
        self._kept: Final = KeptFirstAnswers(cache_folder("pages"), installation_key(access.prefix))
        self._first: Final = self._kept.load()
        self._title: Final = page_title(served.path, served.title)
        self._opening: Final = Opening(access, None if self._first is None else self._first.titled(self._title))
        self.server: Final = DashboardServer(self._opening, self._end)
        self._thread: Final = threading.Thread(target=self._build, name="start", daemon=True)
        self._changing: Final = threading.Lock()
        self._live: Live | None = None
        self._ends = False
        self._problem: BaseException | None = None

    def begin(self) -> None:
        """Import and build in a thread; the server may run meanwhile."""
        self._thread.start()

    def finish(self) -> None:
        """Wait for the thread, once the server has ended.

        Raises:
            Exception: the error that prevented the application from being built.
        """
        self._end()
        if self._thread.is_alive():
            self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _end(self) -> None:
        with self._changing:
            self._ends = True
            live = self._live
        self._opening.end()
        if live is not None:
            live.stop()

    def _build(self) -> None:
        try:
            with quick_imports():
                import_dash()
                front = self._show_front()
                from stepscope.dashboard.cli import serving

                live = self._served.make()
                with self._changing:
                    if self._ends:
                        return
                    # If nothing was kept from an earlier start, none has compiled the loops: the page comes first.
                    look = serving.follow(live, self._console, look_later=self._first is None)
                    self._live = live
                app = serving.make_app(live, self._access, self._captures, front)
        except BaseException as error:
            self._problem = error
            self._opening.end()
            self.server.should_exit = True
            return
        # A page that came sooner would show that nothing has been read yet, and request everything again.
        live.wait_for_first(MOST_WAIT_SECONDS)
        if not self._opening.open(app):
            return
        if self._first is None:
            look()
        live.may_look.set()
        serving.show_first_pass(live, self._console)
        if not self._ends:
            asyncio.run(self._keep_first_answers(app))

    def _show_front(self) -> "Front | None":
        """Let browsers load the page while everything else is imported; return None if plug-ins may add to it."""
        if is_any_installed():
            return None
        from stepscope.dashboard.page.front import Front

        front = Front(self._access, self._title)
        self._opening.show(front.app, front.scripts)
        return front

    async def _keep_first_answers(self, app: "FastAPI") -> None:
        """Store answers so that the next start of this installation has those that this one could not give at once."""
        # Plug-ins of other distributions may change without being reinstalled.
        first = None if app.state.has_plugins else await ask_for(app, self._access, app.state.scripts, self._first)
        if first is None:
            self._kept.forget()
        elif first is not self._first:
            self._kept.store(first)
