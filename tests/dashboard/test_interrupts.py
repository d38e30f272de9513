"""What Ctrl+C ends, and what it leaves alone."""

import signal
import threading

import polars as pl
import pytest

from stepscope.dashboard.cli.interrupts import interrupt_this_thread_alone


def test_queries_go_on_in_other_threads_and_after_it() -> None:
    numbers = pl.LazyFrame({"number": range(1_000_000)})
    began, enough = threading.Event(), threading.Event()
    ended: list[str] = []

    def query() -> None:
        try:
            while not enough.is_set():
                began.set()
                numbers.sort("number", descending=True).collect()
        except KeyboardInterrupt:
            ended.append("a query of another thread")

    interrupt_this_thread_alone()
    threads = [threading.Thread(target=query) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        began.wait()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        try:
            numbers.sort("number", descending=True).collect()
        except KeyboardInterrupt:
            ended.append("the next query")
    finally:
        enough.set()
        for thread in threads:
            thread.join()
    assert not ended
