"""``/api/capture``: records a running program through its `stepscope.profiler.server`, into the log directory."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import msgspec
from fastapi import APIRouter, HTTPException, Request

from stepscope.dashboard.server.access import is_loopback
from stepscope.dashboard.server.bodies import JsonBody, parsed
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.work import LightRoute
from stepscope.dashboard.traces import messages
from stepscope.dashboard.traces.messages import Captured, CaptureProblem
from stepscope.dashboard.traces.sources import trace_sources
from stepscope.profiler.capture_request import DEFAULT_PORT, CaptureOptions, CaptureRequest, checked_request
from stepscope.profiler.client import Address, Capture, CaptureError, Client, check_writable, parse_address
from stepscope.profiler.collectors.registry import all_collectors
from stepscope.summary.contents import Companion
from stepscope.summary.errors import UserError

LISTED_WITHIN_S: Final = 15.0
"""How long the response waits for the new trace to be found in the log directory."""
MOST_RUNS: Final = 1000
LOGDIR_ITSELF: Final = "."
_LOOK_S: Final = 0.25


class CaptureOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page's request: a `CaptureRequest`, the program to ask, and where to put the trace."""

    address: str
    token: str = ""
    run: str = LOGDIR_ITSELF
    """The run that the trace will belong to."""
    duration_ms: int | None = None
    steps: int | None = None
    options: CaptureOptions = CaptureOptions()
    collectors: list[str] | None = None


@dataclass(frozen=True)
class CaptureRules:
    """The programs that pages may record."""

    addresses: tuple[Address, ...] = ()
    """Programs that the dashboard was started with."""
    loopback: bool = True
    """Those on this machine too, since they trust all who are on it: only if nobody else reaches the dashboard."""

    @classmethod
    def of(cls, bound_host: str, addresses: Iterable[Address] = ()) -> Self:
        """Return the rules of a dashboard that listens on ``bound_host``."""
        return cls(tuple(addresses), is_loopback(bound_host))

    def check(self, address: Address) -> None:
        """Raise HTTPException 403 if the address must not be asked."""
        if address in self.addresses or (self.loopback and is_loopback(address.host)):
            return
        rule = (
            "This dashboard records programs on this machine."
            if self.loopback
            else "This dashboard records only programs that --capture allows, because other machines can reach it."
        )
        raise HTTPException(403, f"{rule} To allow {address} too, start it with --capture {address}.")


def router(live: Live, rules: CaptureRules) -> APIRouter:
    """Return the routes for the log directory that ``live`` follows."""
    routes = APIRouter(tags=["capture"], route_class=LightRoute)

    @routes.get("/api/capture")
    def possible() -> messages.CaptureRules:
        """Return whether anything can be recorded, and the available choices."""
        return {
            "why_not": why_not(live, rules),
            "loopback": rules.loopback,
            "addresses": [str(address) for address in rules.addresses],
            "usual": str(rules.addresses[0]) if rules.addresses else f"localhost:{DEFAULT_PORT}",
            "runs": [run for run in live.snapshot().runs if run != LOGDIR_ITSELF][:MOST_RUNS],
            "collectors": list(all_collectors()),
        }

    @routes.post("/api/capture")
    async def capture(request: Request, body: JsonBody) -> Captured | CaptureProblem:
        """Record a program; the response comes when its trace is in the log directory.

        If a program cannot be recorded, that is not the caller's error: the response then says why.
        """
        order, wanted = ordered(body)
        try:
            address = parse_address(order.address)
        except UserError as error:
            raise HTTPException(400, str(error)) from None
        rules.check(address)
        folder = await asyncio.to_thread(target_folder, live, rules, order.run)
        client = Client(address, order.token or None)
        try:
            done = await finished(client, wanted, folder, lambda: live.closed, request)
        except CaptureError as error:
            return {"problem": error.problem, "message": sentence(str(error))}
        return answer(done, await listed(live, done.files.trace_path))

    return routes


def why_not(live: Live, rules: CaptureRules) -> str:
    """Return why nothing can be recorded into the log directory; empty if something can."""
    folder = live.folder()
    if folder is None:
        return "Recordings are written into the log directory, which must be a single folder on this machine."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"Recordings are written into the log directory, but {folder} is not writable."
    if not rules.loopback and not rules.addresses:
        return "Other machines can reach this dashboard. Start it with --capture HOST:PORT to record the program there."
    return ""


def ordered(body: bytes) -> tuple[CaptureOrder, CaptureRequest]:
    """Return the order in a body, and its part for the program.

    Raises:
        HTTPException: 400 if the body is not an order.
    """
    order = parsed(body, CaptureOrder, "This cannot be recorded", 400)
    try:
        kept = {name: getattr(order, name) for name in CaptureRequest.__struct_fields__}
        # Through plain objects, so that the bounds of the request are checked.
        wanted = msgspec.convert(msgspec.to_builtins(kept), CaptureRequest)
        return order, checked_request(wanted)
    except (msgspec.MsgspecError, UserError) as error:
        raise HTTPException(400, f"This cannot be recorded: {error}.".replace("..", ".")) from None


def target_folder(live: Live, rules: CaptureRules, run: str) -> Path:
    """Return the folder of a run of the log directory.

    Raises:
        HTTPException: 409 if nothing can be written; 404 if there is no such run.
    """
    if reason := why_not(live, rules):
        raise HTTPException(409, reason)
    root = Path(live.path)
    folder = root if run == LOGDIR_ITSELF else root / run
    if run != LOGDIR_ITSELF and run not in live.snapshot().runs:
        raise HTTPException(404, f"There is no run {run!r} in the log directory.")
    if not folder.is_dir() or not folder.resolve().is_relative_to(root.resolve()):
        raise HTTPException(409, f"The folder of run {run!r} cannot be written to.")
    try:
        check_writable(folder)
    except UserError as error:
        raise HTTPException(409, sentence(str(error))) from None
    return folder


async def finished(
    client: Client, wanted: CaptureRequest, folder: Path, is_over: Callable[[], bool], request: Request
) -> Capture:
    """Return the capture, made by a thread; canceled when the page goes away or the dashboard ends.

    Raises CaptureError.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Capture] = loop.create_future()

    def settle(capture: Capture | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        elif capture is not None:
            future.set_result(capture)

    def work() -> None:
        capture: Capture | None = None
        failure: BaseException | None = None
        try:
            capture = client.capture(wanted, folder, time.time_ns())
        except BaseException as error:
            failure = error
        # The loop may be closed if the dashboard has ended meanwhile.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, capture, failure)

    # A daemon thread, so that the dashboard ends without waiting for it.
    threading.Thread(target=work, name=f"capture {client.address}", daemon=True).start()
    try:
        while not future.done():
            await asyncio.wait([future], timeout=_LOOK_S)
            if not future.done() and (is_over() or await request.is_disconnected()):
                client.cancel()
    except asyncio.CancelledError:
        client.cancel()
        raise
    return future.result()


async def listed(live: Live, trace_path: Path) -> str | None:
    """Return the id of a trace, as soon as the log directory's snapshot has it; None if that takes too long."""
    until = time.monotonic() + LISTED_WITHIN_S
    while True:
        snapshot = live.snapshot()
        for source in trace_sources(snapshot):
            if isinstance(source.origin, Companion) and Path(source.origin.path) == trace_path:
                return source.id
        left = until - time.monotonic()
        if left <= 0 or live.closed:
            return None
        await live.wait_beyond(snapshot.revision, left)


def answer(capture: Capture, trace: str | None) -> Captured:
    """Return the response for the page."""
    files = capture.files
    return {
        "trace": trace,
        "file": str(files.trace_path),
        "address": str(capture.address),
        "host": files.host,
        "pid": files.pid,
        "steps": files.steps.count,
        "first_step": files.steps.first,
        "last_step": files.steps.last,
        "records": files.records,
        "unfinished": files.unfinished,
        "notes": list(files.notes),
    }


def sentence(text: str) -> str:
    """Return text with an initial capital, unless it begins with an address."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text
