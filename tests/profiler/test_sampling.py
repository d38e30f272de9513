import threading
import time

import pytest

from stepscope.profiler.collectors.base import CounterSeries
from stepscope.profiler.collectors.sampling import Counters, Key, Sampler, next_due_ns

KEY = Key("/device:CPU:0", "memory (bytes)", "RSS")
RATE = Key("/device:CPU:0", "storage (bytes/s)", "read")
MS = 1_000_000


@pytest.mark.parametrize(
    ("now", "cost", "due"),
    [
        (0, 0, 20 * MS),
        (19 * MS, 0, 20 * MS),
        # A missed sample does not shift those that follow.
        (47 * MS, 0, 60 * MS),
        (20 * MS, 0, 40 * MS),
        # 2 ms are a twentieth of 40 ms.
        (20 * MS, 2 * MS, 60 * MS),
        (20 * MS, 1 * MS, 40 * MS),
    ],
)
def test_samples_are_due_at_multiples_of_the_interval(now: int, cost: int, due: int) -> None:
    assert next_due_ns(5, 20 * MS, now + 5, cost) == due + 5


def test_a_sampler_samples_at_both_ends_and_between_and_ends_its_thread() -> None:
    taken: list[tuple[str, int]] = []
    three = threading.Event()

    def sample(now: int) -> None:
        taken.append((threading.current_thread().name, now))
        if len(taken) == 3:
            three.set()

    sampler = Sampler("my sampler", 0.001, {"it": sample}, time.perf_counter_ns)
    sampler.start()
    assert [name for name, _ in taken][:1] == ["MainThread"]
    assert three.wait(60)
    assert sampler.stop() == ()
    names = [name for name, _ in taken]
    assert names == ["MainThread", *["my sampler"] * (len(names) - 2), "MainThread"]
    assert [now for _, now in taken] == sorted(now for _, now in taken)
    assert "my sampler" not in {thread.name for thread in threading.enumerate()}


def test_a_sampler_for_slow_functions_runs_them_only_in_its_thread() -> None:
    names = []
    sampled = threading.Event()

    def sample(_: int) -> None:
        names.append(threading.current_thread().name)
        sampled.set()

    sampler = Sampler("my sampler", 0.001, {"it": sample}, time.perf_counter_ns, at_ends=False)
    sampler.start()
    assert sampled.wait(60)
    sampler.stop()
    assert set(names) == {"my sampler"}


def test_a_function_that_fails_becomes_a_note_and_costs_the_others_nothing() -> None:
    taken: list[int] = []

    def broken(_: int) -> None:
        raise PermissionError("not yours")

    sampler = Sampler("my sampler", 3600, {"broken": broken, "sound": taken.append}, time.perf_counter_ns)
    sampler.start()
    assert sampler.stop() == ("broken: 2 samples failed; the first: PermissionError: not yours",)
    assert len(taken) == 2


@pytest.mark.parametrize("interval", [0, -1, float("nan"), float("inf")])
def test_an_interval_is_checked(interval: float) -> None:
    with pytest.raises(ValueError, match="interval must be seconds between two samples"):
        Sampler("my sampler", interval, {}, time.perf_counter_ns)


def test_values_and_rates() -> None:
    counters = Counters(0.02)
    for at, value in ((10, 5.0), (30, 7.0)):
        counters.add(KEY, at * MS, value)
    for at, total in ((10, 1000), (30, 1200), (50, 1200)):
        counters.add_total(RATE, at * MS, total)
    # A rate is placed where its period begins, and lasts until the last total.
    assert counters.series(1_000_000_000) == [
        CounterSeries(*KEY, [1_010_000_000, 1_030_000_000], [5.0, 7.0]),
        CounterSeries(*RATE, [1_010_000_000, 1_030_000_000, 1_050_000_000], [10_000.0, 0.0, 0.0]),
    ]
    assert counters.notes() == ()


def test_the_rate_of_a_very_short_time_is_no_value_of_its_own() -> None:
    # A clock tick of 10 ms in the last microsecond of a recording once counted as ten thousand processors.
    counters = Counters(0.02)
    for at, total in ((0, 0.0), (19 * MS, 0.0), (20 * MS, 1.0)):
        counters.add_total(RATE, at, total)
    ((*_, times, values),) = counters.series(0)
    assert (times, values) == ([0, 20 * MS], [50.0, 50.0])


def test_a_rate_has_its_most_and_is_never_negative() -> None:
    counters = Counters(0.02)
    for at, total in ((0, 0.0), (20 * MS, 100.0), (40 * MS, 50.0)):
        counters.add_total(RATE, at, total, most=100)
    assert counters.series(0)[0].values == [100.0, 0.0, 0.0]


def test_a_single_total_is_no_rate() -> None:
    counters = Counters(0.02)
    counters.add_total(RATE, 5, 1.0)
    assert counters.series(0) == []


def test_points_beyond_the_limit_are_counted() -> None:
    counters = Counters(0.02, max_points=2)
    for at in range(5):
        counters.add(KEY, at, 1.0)
    assert counters.series(0) == [CounterSeries(*KEY, [0, 1], [1.0, 1.0])]
    assert counters.notes() == ("3 points of counters were dropped beyond the limit of 2",)
