"""What Ctrl+C ends."""

import signal


def interrupt_this_thread_alone() -> None:
    """Let Ctrl+C raise KeyboardInterrupt in the main thread and nowhere else; to be called there.

    Polars takes the signal when it is imported. From then on it also ends its queries of all threads, and the next one
    of a program that goes on to tell what it knows, as long as any thread is still at work on another.
    """
    import polars  # noqa: F401 - what it takes, it takes at its import

    handler = signal.getsignal(signal.SIGINT)
    if handler is not None:
        signal.signal(signal.SIGINT, handler)
