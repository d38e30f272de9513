"""Light requests answer while heavy ones run; work nobody waits for ends; excess is refused in a sentence."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Event, RLock
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, HTTPException, Response
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.types import Message

from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.opened_cache import OpenedCache
from stepscope.dashboard.server.work import BUSY, Pieces, Pool, PooledRoute, RequestAtHand, held, in_pool, run, wait_for
from stepscope.summary.cancellation import Cancelled, check_cancelled
from tests.dashboard.media import NoFollower

PATIENCE_S = 30.0
"""A test that waits for longer fails; none waits for as long when all is well."""


class Visit:
    """One request to an application, from a client that can leave; its answer comes through the task."""

    def __init__(self, app: Any, path: str) -> None:
        self._left = asyncio.Event()
        self._told = False
        self.sent: list[Message] = []
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1), "server": ("localhost", 80),
        }  # fmt: skip
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    def leave(self) -> None:
        self._left.set()

    async def answer(self) -> tuple[int, bytes]:
        await asyncio.wait_for(self.task, PATIENCE_S)
        return self.sent[0]["status"], b"".join(message.get("body", b"") for message in self.sent[1:])

    async def _receive(self) -> Message:
        if not self._told:
            self._told = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)


def application(pools: dict[str, tuple[Pool, Callable[[], Any]]]) -> Any:
    """Answers each path in its pool, with its function."""
    app = FastAPI()
    for path, (pool, function) in pools.items():
        route = type("Route", (PooledRoute,), {"pool": pool})
        router = APIRouter(route_class=route)
        router.get(path)(function)
        app.include_router(router)
    return RequestAtHand(app)


def small(name: str = "test", *, threads: int = 1, most_waiting: int = 9, seconds: float = PATIENCE_S) -> Pool:
    return Pool(name, threads=threads, most_waiting=most_waiting, seconds=seconds)


def finished(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), PATIENCE_S))


async def until(event: Event) -> None:
    assert await asyncio.to_thread(event.wait, PATIENCE_S)


def wanted_until(ended: Event, begun: Event) -> Callable[[], dict[str, str]]:
    """Work that goes on until it is canceled, and then sets ``ended``."""

    def work() -> dict[str, str]:
        begun.set()
        try:
            while not ended.is_set():
                check_cancelled()
        except Cancelled:
            ended.set()
            raise
        return {"said": "done"}

    return work


def test_a_light_request_answers_while_heavy_ones_hold_all_their_threads_and_their_clients_have_left() -> None:
    begun, free = Event(), Event()

    def stubborn() -> str:
        begun.set()
        assert free.wait(PATIENCE_S)
        return "late"

    async def scene() -> None:
        app = application(
            {"/heavy": (small(threads=2, most_waiting=64), stubborn), "/light": (small(), lambda: {"said": "here"})}
        )
        abandoned = [Visit(app, "/heavy") for _ in range(45)]
        await until(begun)
        assert await Visit(app, "/light").answer() == (200, b'{"said":"here"}')
        for visit in abandoned:
            visit.leave()
        assert [await visit.answer() for visit in abandoned] == [(499, b'{"detail":"The client disconnected."}')] * 45
        # Requests that had not begun never do.
        free.set()
        assert await Visit(app, "/heavy").answer() == (200, b'"late"')

    finished(scene)


def test_a_client_that_leaves_ends_its_work() -> None:
    begun, ended = Event(), Event()

    async def scene() -> None:
        app = application({"/": (small(), wanted_until(ended, begun))})
        visit = Visit(app, "/")
        await until(begun)
        visit.leave()
        assert (await visit.answer())[0] == 499
        await until(ended)

    finished(scene)


def test_a_request_that_takes_too_long_is_ended_with_a_sentence() -> None:
    begun, ended = Event(), Event()

    async def scene() -> None:
        app = application({"/": (small(seconds=0.05), wanted_until(ended, begun))})
        said = b"This took longer than 0.05 seconds and was stopped. Request less, or try again later."
        assert await Visit(app, "/").answer() == (503, b'{"detail":"' + said + b'"}')
        await until(ended)

    finished(scene)


def test_work_that_cannot_be_interrupted_does_not_keep_its_client_waiting() -> None:
    free = Event()

    async def scene() -> None:
        app = application({"/": (small(seconds=0.05), lambda: free.wait(PATIENCE_S))})
        assert (await Visit(app, "/").answer())[0] == 503
        free.set()

    finished(scene)


def test_more_requests_than_may_wait_are_refused_with_a_sentence() -> None:
    begun, free = Event(), Event()

    def work() -> str:
        begun.set()
        assert free.wait(PATIENCE_S)
        return "done"

    async def scene() -> None:
        app = application({"/": (small(most_waiting=1), work)})
        running = Visit(app, "/")
        await until(begun)
        waiting, refused = Visit(app, "/"), Visit(app, "/")
        assert await refused.answer() == (503, b'{"detail":"' + BUSY.encode() + b'"}')
        assert (b"retry-after", b"5") in refused.sent[0]["headers"]
        # A waiting client that leaves makes room.
        waiting.leave()
        await waiting.answer()
        another = Visit(app, "/")
        free.set()
        assert [await running.answer(), await another.answer()] == [(200, b'"done"')] * 2

    finished(scene)


def test_a_callback_of_the_page_is_ended_when_its_client_leaves_too() -> None:
    begun, ended = Event(), Event()
    callback = in_pool(small(), wanted_until(ended, begun))

    async def scene() -> None:
        app = FastAPI()

        @app.get("/")
        async def root() -> Any:
            return await callback()

        visit = Visit(RequestAtHand(app), "/")
        await until(begun)
        visit.leave()
        await visit.answer()
        await until(ended)

    finished(scene)


def test_whoever_waits_for_another_lends_the_place() -> None:
    pool = small(threads=1)
    awaited: Future[str] = Future()

    def waiting() -> str:
        wait_for(awaited)
        return awaited.result()

    async def scene() -> None:
        first = asyncio.ensure_future(run(pool, waiting))
        # In the only thread, the first waits for the result of the second.
        await run(pool, awaited.set_result, "given")
        assert await first == "given"

    finished(scene)


def test_whoever_waits_for_a_lock_can_leave() -> None:
    lock, taken, free = RLock(), Event(), Event()

    def holding() -> None:
        with held(lock):
            taken.set()
            assert free.wait(PATIENCE_S)

    def waiting() -> str:
        with held(lock):
            return "mine"

    async def scene() -> None:
        app = application({"/": (small(seconds=0.05), waiting)})
        holder = asyncio.ensure_future(run(small(), holding))
        await until(taken)
        assert (await Visit(app, "/").answer())[0] == 503
        free.set()
        await holder
        assert await run(small(), waiting) == "mine"

    finished(scene)


@dataclass(frozen=True)
class Thing:
    id: str = "thing"
    version: int = 0
    bytes: int = 1


def test_what_its_opener_left_half_open_is_opened_by_who_waits_for_it() -> None:
    begun, ended, opened = Event(), Event(), Thing()
    openings: list[str] = []

    def opener(thing: Thing) -> Thing:
        openings.append(thing.id)
        if len(openings) == 1:
            wanted_until(ended, begun)()
        return opened

    cache = OpenedCache(opener, KeyError)

    async def scene() -> None:
        app = application({"/": (small(threads=1), lambda: str(cache.get(opened)))})
        first, second = Visit(app, "/"), Visit(app, "/")
        await until(begun)
        first.leave()
        assert (await first.answer())[0] == 499
        assert (await second.answer())[0] == 200
        assert openings == ["thing", "thing"]

    finished(scene)


def numbers(made: list[int], most: int, fail_at: int | None = None) -> Iterator[bytes]:
    for number in range(most):
        if number == fail_at:
            raise HTTPException(422, f"There is no number {number}.")
        made.append(number)
        yield b"%d," % number + b" " * (1 << 17)


def test_an_answer_in_pieces_is_made_as_far_as_its_client_takes_it() -> None:
    made: list[int] = []

    async def scene() -> None:
        app = application({"/": (small(), lambda: Pieces(numbers(made, 1_000)))})
        visit = Visit(app, "/")
        visit.leave()
        await asyncio.wait_for(asyncio.gather(visit.task, return_exceptions=True), PATIENCE_S)
        assert len(made) < 1_000

    finished(scene)


def test_what_is_found_out_with_the_first_piece_is_refused_and_later_failures_cut_the_answer() -> None:
    async def scene() -> None:
        app = application({
            "/first": (small(), lambda: Pieces(numbers([], 3, fail_at=0))),
            "/later": (small(), lambda: Pieces(numbers([], 3, fail_at=2))),
            "/whole": (small(), lambda: Pieces(["a", b"", "ä"])),
        })  # fmt: skip
        assert await Visit(app, "/first").answer() == (422, b'{"detail":"There is no number 0."}')
        assert await Visit(app, "/whole").answer() == (200, "aä".encode())
        later = Visit(app, "/later")
        with pytest.raises(Exception, match=r"There is no number 2|response"):
            await later.answer()
        assert later.sent[-1]["more_body"] is True

    finished(scene)


def endpoints(routes: list[Any]) -> Iterator[APIRoute]:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        yield from endpoints(getattr(getattr(route, "original_router", route), "routes", []))


def test_no_route_runs_outside_of_the_pools(tmp_path: Path) -> None:
    app = build_app(Live(str(tmp_path), lambda publish: NoFollower()))
    paths = {route.path for route in endpoints(app.routes)}
    assert {"/data/environment", "/data/plugin/timeseries/timeSeries"} <= paths
    outside = [route.path for route in endpoints(app.routes) if not inspect.iscoroutinefunction(route.endpoint)]
    # Dash's own routes return data in memory as is.
    assert [path for path in outside if not path.startswith(("/_dash-", "/_reload", "/_favicon"))] == []


def test_what_a_route_gives_becomes_json_in_its_thread() -> None:
    app = FastAPI()
    router = APIRouter(route_class=type("Route", (PooledRoute,), {"pool": small()}))

    @router.get("/plain")
    def plain(most: int = 2) -> dict[str, list[int]]:
        return {"numbers": list(range(most))}

    @router.get("/response")
    def response() -> Response:
        return Response(b"as it is", media_type="text/plain")

    app.include_router(router)
    client = TestClient(app)
    assert client.get("/plain?most=3").json() == {"numbers": [0, 1, 2]}
    assert client.get("/plain?most=x").status_code == 422
    assert client.get("/response").content == b"as it is"
