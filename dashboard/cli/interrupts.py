"""Handling of Ctrl+C."""

import signal


def interrupt_this_thread_alone() -> None:
    """Let Ctrl+C raise KeyboardInterrupt in the main thread and nowhere else; call it from the main thread.

    Polars takes over the signal when it is imported. From then on, Ctrl+C also ends its queries in all threads, and the
    next query of a program that goes on to report its results while any thread is still running another query.
    """
    import polars  # noqa: F401 - what it takes, it takes at its import

    handler = signal.getsignal(signal.SIGINT)
    if handler is not None:
        signal.signal(signal.SIGINT, handler)
