import asyncio
import threading
from collections.abc import Callable, Iterable
from types import MappingProxyType

from stepscope.dashboard.server.live import Live
from stepscope.summary.snapshot import Snapshot


class Silent:
    """A follower that finds nothing on its own."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def heed(self, runs: Iterable[str]) -> None: ...


def make_live() -> Live:
    return Live("logs", lambda publish: Silent())


def snapshot(revision: int, *, loading: bool = False) -> Snapshot:
    return Snapshot(revision=revision, runs=MappingProxyType({}), loading=loading)


def test_reading_until_the_first_pass_ends() -> None:
    live = make_live()
    states = [live.reading]
    for news in (snapshot(1, loading=True), snapshot(2)):
        live.publish(news)
        states.append(live.reading)
    assert states == [True, True, False]
    assert live.snapshot().revision == 2


def test_a_start_waits_for_the_first_snapshot_and_not_for_ever() -> None:
    live = make_live()
    assert not live.wait_for_first(0.001)
    threading.Thread(target=lambda: live.publish(snapshot(1, loading=True))).start()
    assert live.wait_for_first(30)


def wait(live: Live, revision: int, then: Callable[[], None]) -> int:
    async def run() -> int:
        asyncio.get_running_loop().call_soon(lambda: threading.Thread(target=then).start())
        return await live.wait_beyond(revision, 30)

    return asyncio.run(run())


def test_waiting_ends_with_the_next_snapshot_from_another_thread() -> None:
    live = make_live()
    assert wait(live, 0, lambda: live.publish(snapshot(7))) == 7


def test_waiting_ends_at_once_when_there_is_news_already() -> None:
    live = make_live()
    live.publish(snapshot(3))
    assert asyncio.run(live.wait_beyond(2, 30)) == 3


def test_waiting_ends_when_the_dashboard_does() -> None:
    live = make_live()
    assert wait(live, 0, live.stop) == 0
    assert live.closed


def test_waiting_ends_after_the_timeout() -> None:
    assert asyncio.run(make_live().wait_beyond(0, 0.001)) == 0
