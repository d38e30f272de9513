import asyncio
import asyncio.base_events
import asyncio.events
import contextlib
import contextvars
import gc
import itertools
import sys
import threading
import time
import traceback
import types
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope import profiler
from stepscope.profiler.collectors.asyncio_tasks import LIFE_LANES, AsyncioTaskCollector
from stepscope.profiler.collectors.base import Collected, Record, RecordingClock
from stepscope.profiler.traces import load_trace
from stepscope.profiler.traces.losses import OVERLAP
from stepscope.summary.errors import UserError

HANDLE_RUN = vars(asyncio.events.Handle)["_run"]
CREATE_TASK = vars(asyncio.base_events.BaseEventLoop)["create_task"]
ONLY_EAGER = pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python has no eager tasks")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert vars(asyncio.events.Handle)["_run"] is HANDLE_RUN
    assert vars(asyncio.base_events.BaseEventLoop)["create_task"] is CREATE_TASK


def record(main: Callable[[], object], **options: Any) -> Collected:
    collector = AsyncioTaskCollector(**options)
    collector.start(RecordingClock(time))
    try:
        main()
    finally:
        collected = collector.stop()
    return collected


def runs(collected: Collected) -> list[Record]:
    """The periods in which tasks ran, by start."""
    found = [each for each in collected.records if not each.lane.thread_name.startswith("asyncio tasks")]
    return sorted(found, key=lambda each: each.start_ns)


def lives(collected: Collected) -> dict[str, Record]:
    found = [each for each in collected.records if each.lane.thread_name.startswith("asyncio tasks")]
    return {each.name: each for each in found}


def outcomes(collected: Collected) -> dict[str, dict[str, Any]]:
    """The arguments of task lives, without times and places."""
    left_out = ("run_us", "awaited_us", "file", "line", "coroutine")
    return {
        name: {key: value for key, value in each.args.items() if key not in left_out}
        for name, each in lives(collected).items()
    }


async def child(times: int = 1) -> str:
    for _ in range(times):
        await asyncio.sleep(0)
    return "done"


async def main() -> None:
    task = asyncio.create_task(child(2), name="first")
    assert await task == "done"


def test_runs_and_lives() -> None:
    collected = record(lambda: asyncio.run(main(), debug=False))
    first = lives(collected)["first: child"]
    (name,) = [name for name in lives(collected) if name.endswith(": main")]
    outer = lives(collected)[name]
    thread = threading.current_thread().name
    ran = [each for each in runs(collected) if each.name in ("first: child", name)]
    assert [each.name for each in ran] == [name, "first: child", "first: child", "first: child", name]
    assert {each.lane.thread_name for each in ran} == {f"asyncio {thread}"}
    assert {each.category for each in collected.records} == {"asyncio_task"}
    for before, after in itertools.pairwise(ran):
        assert before.start_ns + before.duration_ns <= after.start_ns
    line = child.__code__.co_firstlineno
    assert dict(ran[1].args) == {"coroutine": "child", "file": __file__, "line": line}
    ran_ns = sum(each.duration_ns for each in ran[1:4])
    assert dict(first.args) == {
        "coroutine": "child",
        "file": __file__,
        "line": line,
        "run_us": ran_ns / 1000,
        "awaited_us": (first.duration_ns - ran_ns) / 1000,
        "resumptions": 3,
    }
    assert outer.start_ns <= first.start_ns
    assert first.start_ns + first.duration_ns <= outer.start_ns + outer.duration_ns
    assert first.lane != outer.lane
    assert collected.notes == ()


async def fails() -> None:
    await asyncio.sleep(0)
    raise ValueError("broken")


async def waits() -> None:
    await asyncio.Event().wait()


def test_cancelled_and_failed_tasks_say_so() -> None:
    async def run() -> None:
        failing, waiting = asyncio.create_task(fails(), name="a"), asyncio.create_task(waits(), name="b")
        with pytest.raises(ValueError, match="broken"):
            await failing
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    found = outcomes(record(lambda: asyncio.run(run())))
    assert found["a: fails"] == {"resumptions": 2, "exception": "ValueError"}
    assert found["b: waits"] == {"resumptions": 2, "cancelled": True}


def test_an_exception_that_nobody_asks_for_is_complained_about_as_ever() -> None:
    complaints: list[str] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context["message"]))
        asyncio.create_task(fails())  # noqa: RUF006 - nobody keeps it
        await child(5)
        gc.collect()

    collected = record(lambda: asyncio.run(run()))
    assert complaints == ["Task exception was never retrieved"]
    assert [each["exception"] for name, each in outcomes(collected).items() if "fails" in name] == ["ValueError"]


def test_tasks_are_not_kept_alive() -> None:
    collector = AsyncioTaskCollector()

    async def run() -> list[Any]:
        tasks = [asyncio.create_task(child()) for _ in range(3)]
        gone = [weakref.ref(task) for task in tasks]
        await asyncio.gather(*tasks)
        return gone

    collector.start(RecordingClock(time))
    gone = asyncio.run(run())
    gc.collect()
    alive = [reference() for reference in gone]
    collector.stop()
    assert alive == [None] * 3


def test_a_task_that_is_destroyed_while_it_waits() -> None:
    complaints: list[str] = []

    async def forgotten() -> None:
        await asyncio.get_running_loop().create_future()

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context["message"]))
        asyncio.create_task(forgotten(), name="x")  # noqa: RUF006 - nobody keeps it
        await child()
        gc.collect()

    found = outcomes(record(lambda: asyncio.run(run())))
    assert complaints == ["Task was destroyed but it is pending!"]
    (name,) = [name for name in found if "forgotten" in name]
    assert found[name] == {"resumptions": 1, "destroyed": True}


def test_tasks_that_go_on_at_the_stop_are_marked() -> None:
    collector = AsyncioTaskCollector()

    async def run() -> Collected:
        asyncio.current_task().set_name("outer")  # type: ignore[union-attr]
        waiting = asyncio.create_task(waits(), name="inner")
        asyncio.create_task(child(), name="not begun")  # noqa: RUF006 - the next line is all that runs
        await asyncio.sleep(0)
        fresh = asyncio.create_task(child(), name="fresh")
        collected = collector.stop()
        waiting.cancel()
        await fresh
        return collected

    collector.start(RecordingClock(time))
    collected = asyncio.run(run())
    name = "outer: test_tasks_that_go_on_at_the_stop_are_marked.run"
    assert outcomes(collected) == {
        name: {"resumptions": 2, "unfinished": True},
        "inner: waits": {"resumptions": 1, "unfinished": True},
        "not begun: child": {"resumptions": 1, "unfinished": True},
        "fresh: child": {"resumptions": 0, "unfinished": True},
    }
    ran = runs(collected)
    assert [(each.name, "unfinished" in each.args) for each in ran] == [
        (name, False),
        ("inner: waits", False),
        ("not begun: child", False),
        (name, True),
    ]
    outer = lives(collected)[name]
    assert outer.args["run_us"] == sum(each.duration_ns for each in ran if each.name == name) / 1000
    assert outer.start_ns + outer.duration_ns == ran[-1].start_ns + ran[-1].duration_ns


def test_tasks_that_were_there_at_the_start_are_shown_from_then_on_and_counted() -> None:
    collector = AsyncioTaskCollector()

    async def run() -> Collected:
        early = asyncio.create_task(child(5), name="early")
        waiting = asyncio.create_task(waits(), name="waiting")
        await child(2)
        collector.start(RecordingClock(time))
        await early
        collected = collector.stop()
        waiting.cancel()
        return collected

    collected = asyncio.run(run())
    found = outcomes(collected)
    (main_task,) = [name for name in found if name.endswith("run")]
    assert found == {
        "early: child": {"resumptions": 4, "began_before_recording": True},
        "waiting: waits": {"resumptions": 0, "began_before_recording": True, "unfinished": True},
        main_task: {"resumptions": 1, "began_before_recording": True, "unfinished": True},
    }
    assert len({each.start_ns for each in lives(collected).values()}) == 1
    assert collected.notes == (
        "3 asyncio tasks started before the recording; only activity during the recording is shown",
    )


def test_each_thread_has_a_lane() -> None:
    def run() -> None:
        threads = [threading.Thread(target=lambda: asyncio.run(child()), name=name) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    collected = record(run)
    ours = [each for each in runs(collected) if each.args["coroutine"] == "child"]
    assert sorted(each.lane.thread_name for each in ours) == ["asyncio one"] * 2 + ["asyncio two"] * 2
    assert len({each.lane.thread_id for each in ours}) == 2


def test_callbacks_that_are_other_methods_of_a_task_are_no_runs() -> None:
    async def run() -> None:
        task = asyncio.create_task(waits(), name="x")
        asyncio.get_running_loop().call_soon(task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    assert outcomes(record(lambda: asyncio.run(run())))["x: waits"] == {"resumptions": 2, "cancelled": True}


def test_tasks_of_asyncio_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    python_task = asyncio.tasks._PyTask  # type: ignore[attr-defined]
    monkeypatch.setattr(asyncio.tasks, "Task", python_task)
    collected = record(lambda: asyncio.run(main()))
    assert outcomes(collected)["first: child"] == {"resumptions": 3}


def test_a_task_factory_of_the_program_is_used() -> None:
    made: list[object] = []

    class OwnTask(asyncio.Task[Any]):
        pass

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        made.append(coro)
        return OwnTask(coro, loop=loop, **options)

    async def run() -> None:
        asyncio.get_running_loop().set_task_factory(factory)
        coro = child()
        task = asyncio.create_task(coro, name="x")
        assert isinstance(task, OwnTask)
        assert task.get_coro() is coro
        assert made == [coro]
        await task

    assert outcomes(record(lambda: asyncio.run(run())))["x: child"] == {"resumptions": 2}


def test_a_factory_that_makes_no_tasks_is_left_alone() -> None:
    class Future(asyncio.Future[Any]):
        def set_name(self, name: object) -> None:
            pass

    def make(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        coro.close()
        future = Future(loop=loop)
        future.set_result("nothing")
        return future

    async def run() -> None:
        asyncio.get_running_loop().set_task_factory(make)
        assert await asyncio.create_task(child()) == "nothing"

    assert [name for name in lives(record(lambda: asyncio.run(run()))) if "child" in name] == []


@ONLY_EAGER
def test_eager_tasks() -> None:
    async def at_once() -> int:
        return 1

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        quick = loop.create_task(at_once(), name="quick")
        assert quick.done()
        slow = asyncio.create_task(child(2), name="slow")
        assert not slow.done()
        await slow

    prefix = "test_eager_tasks.at_once"
    collected = record(lambda: asyncio.run(run()))
    found = outcomes(collected)
    assert found[f"quick: {prefix}"] == {"resumptions": 1}
    assert found["slow: child"] == {"resumptions": 3}
    ran = [each for each in runs(collected) if each.name == f"quick: {prefix}"]
    (outer, *_) = [each for each in runs(collected) if each.name.endswith("run")]
    assert [outer.start_ns <= each.start_ns for each in ran] == [True]
    assert ran[0].start_ns + ran[0].duration_ns <= outer.start_ns + outer.duration_ns


def test_debug_mode_shows_who_made_a_task_as_ever() -> None:
    def origin(record_it: bool) -> list[str]:
        found: list[str] = []

        async def run() -> None:
            task = asyncio.create_task(child())
            found.extend(frame.name for frame in task._source_traceback)  # type: ignore[attr-defined]
            await task

        if record_it:
            record(lambda: asyncio.run(run(), debug=True))
        else:
            asyncio.run(run(), debug=True)
        return found[found.index("run", found.index("run_until_complete")) :]

    assert origin(True) == origin(False) == ["run", "create_task"]


def test_what_others_wrap_meanwhile_stays_and_ours_does_nothing_more() -> None:
    collector = AsyncioTaskCollector()
    collector.start(RecordingClock(time))
    ours = asyncio.events.Handle._run
    called: list[object] = []

    def theirs(handle: Any) -> Any:
        called.append(handle)
        return ours(handle)

    asyncio.events.Handle._run = theirs  # type: ignore[method-assign, assignment]
    try:
        asyncio.run(main())
        collected = collector.stop()
        assert vars(asyncio.events.Handle)["_run"] is theirs
        count = len(called)
        asyncio.run(main())
        assert len(called) > count
    finally:
        asyncio.events.Handle._run = HANDLE_RUN  # type: ignore[method-assign]
    assert outcomes(collected)["first: child"] == {"resumptions": 3}


def test_no_more_is_kept_than_allowed_and_the_rest_is_counted() -> None:
    async def run() -> None:
        for number in range(3):
            await asyncio.create_task(child(2), name=f"x{number}")

    def by_name(collected: Collected) -> tuple[int, int]:
        return len(runs(collected)), len(lives(collected))

    everything = record(lambda: asyncio.run(run()))
    kept_runs, kept_lives = by_name(everything)
    limited = record(lambda: asyncio.run(run()), max_slices=6)
    assert sum(by_name(limited)) == 6
    (note,) = limited.notes
    assert "lifetimes of asyncio tasks were not recorded, because at most 6 are kept" in note
    # A life that is kept counts all of its runs, including those that are not kept.
    assert outcomes(limited)["x0: child"] == {"resumptions": 3}
    assert sum(by_name(record(lambda: asyncio.run(run()), max_slices=0))) == 0
    assert kept_runs + kept_lives > 6
    with pytest.raises(ValueError, match="max_slices=-1"):
        AsyncioTaskCollector(max_slices=-1)


def test_lives_never_overlap_in_a_lane() -> None:
    async def run() -> None:
        for _ in range(3):
            await asyncio.gather(*(child(number % 4) for number in range(10)))

    collected = record(lambda: asyncio.run(run()))
    found = [each for each in collected.records if each.lane.thread_name.startswith("asyncio tasks")]
    assert len(found) >= 31
    assert 10 < len({each.lane for each in found}) < 20
    for lane in {each.lane for each in found}:
        spans = sorted((each.start_ns, each.start_ns + each.duration_ns) for each in found if each.lane == lane)
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))


def test_more_lives_than_lanes_are_counted() -> None:
    async def run() -> None:
        await asyncio.gather(*(child() for _ in range(LIFE_LANES + 10)))

    collected = record(lambda: asyncio.run(run()))
    (note,) = collected.notes
    assert note == (
        f"the lifetimes of 11 asyncio tasks are not shown, because more than {LIFE_LANES} tasks existed at once; the "
        "times at which they ran are shown"
    )


def test_an_event_loop_that_is_not_of_asyncio_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loop(asyncio.AbstractEventLoop):
        pass

    monkeypatch.setattr(asyncio, "_get_running_loop", Loop)
    with pytest.raises(UserError, match=r"the tasks of a .*Loop cannot be recorded\. Expected one of asyncio's own"):
        AsyncioTaskCollector().start(RecordingClock(time))


# Guarantees of asyncio, with and without a recording.

Story = Callable[[], Coroutine[Any, Any, Any]]


async def story_task_group() -> Any:
    events: list[str] = []

    async def failing() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def other() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(failing())
            group.create_task(other())
    except* KeyError as errors:
        events.append(repr(errors.exceptions))
    return events


async def story_gather() -> Any:
    return [repr(each) for each in await asyncio.gather(child(), fails(), child(3), return_exceptions=True)]


async def story_wait_for() -> Any:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(waits(), 0.001)
    return await asyncio.wait_for(child(), 10)


async def story_cancel_message_and_uncancel() -> Any:
    async def stubborn() -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            task: Any = asyncio.current_task()
            return error.args, task.cancelling(), task.uncancel()

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    task.cancel("because")
    return await task


async def story_coroutine_and_stack() -> Any:
    coro = waits()
    task = asyncio.create_task(coro, name="x")
    await asyncio.sleep(0)
    stack = [frame.f_code.co_name for frame in task.get_stack()]
    text = repr(task)
    task.cancel()
    same = task.get_coro() is coro
    return stack, same, isinstance(task.get_coro(), types.CoroutineType), text[: text.index(" running")]


async def story_traceback() -> Any:
    async def inner() -> None:
        await fails()

    try:
        await asyncio.create_task(inner())
    except ValueError as error:
        return [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


async def story_context() -> Any:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    async def change() -> int:
        variable.set(variable.get() + 1)
        await asyncio.sleep(0)
        return variable.get()

    context = contextvars.copy_context()
    own = await asyncio.create_task(change(), context=context)
    return own, await asyncio.create_task(change()), variable.get(), context[variable]


async def story_done_callbacks() -> Any:
    events: list[str] = []
    task = asyncio.create_task(child(), name="x")
    task.add_done_callback(lambda task: events.append(task.get_name()))
    await task
    await asyncio.sleep(0)
    return events, task.result(), task.exception()


async def story_shield_and_as_completed() -> Any:
    inner = asyncio.ensure_future(child(3))
    outer = asyncio.shield(inner)
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    return await inner, sorted([await each for each in asyncio.as_completed([child(), child(2)])])


async def story_an_awaitable_that_is_no_coroutine() -> Any:
    class Odd(Awaitable[int]):
        def __await__(self) -> Generator[Any, Any, int]:
            yield from asyncio.sleep(0).__await__()
            return 3

    try:
        asyncio.create_task(Odd())  # type: ignore[arg-type]  # noqa: RUF006 - it is refused
    except TypeError as error:
        refused = str(error).split(",")[0]
    return await asyncio.ensure_future(Odd()), refused


async def story_an_error_in_a_callback() -> Any:
    loop, heard = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda loop, context: heard.append(type(context["exception"]).__name__))
    loop.call_soon(lambda: [][0])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return heard


STORIES = [value for name, value in sorted(globals().items()) if name.startswith("story_")]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_everything_is_as_without_a_recording(story: Story, debug: bool) -> None:
    plain = asyncio.run(story(), debug=debug)
    found: list[Any] = []
    collected = record(lambda: found.append(asyncio.run(story(), debug=debug)))
    assert found == [plain]
    assert plain is not None
    assert any(name.endswith(story.__name__) for name in lives(collected))
    assert not [name for name, each in outcomes(collected).items() if "unfinished" in each and "waits" not in name]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_passes(error: type[BaseException]) -> None:
    async def stops() -> None:
        raise error

    def run() -> None:
        with pytest.raises(error):
            asyncio.run(stops())

    (found,) = [each for name, each in outcomes(record(run)).items() if name.endswith("stops")]
    assert found == {"resumptions": 1, "exception": error.__name__}


def test_a_collector_serves_one_recording_after_another() -> None:
    collector = AsyncioTaskCollector()
    for _ in range(3):
        collector.start(RecordingClock(time))
        asyncio.run(main())
        assert outcomes(collector.stop())["first: child"] == {"resumptions": 3}
    assert collector.stop() == Collected()


def test_whole_recording(tmp_path: Path) -> None:
    async def run() -> None:
        with profiler.Profile(tmp_path, collectors=["asyncio"]) as profile:
            await asyncio.gather(*(asyncio.create_task(child(number), name=f"x{number}") for number in range(4)))
        assert profile.recording is not None
        trace = load_trace(str(profile.recording.trace_path))
        lanes = [lane.name for lane in trace.lanes if lane.name.startswith("asyncio")]
        thread = threading.current_thread().name
        assert lanes[:1] == [f"asyncio {thread}"]
        assert set(lanes[1:]) == {"asyncio tasks", *(f"asyncio tasks {number}" for number in range(2, 6))}
        names = {trace.names[name] for name in trace.name_id}
        assert {f"x{number}: child" for number in range(4)} <= names
        assert OVERLAP not in trace.losses.counts

    asyncio.run(run())
