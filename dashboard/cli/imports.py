"""How the command imports what takes long."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Import faster, without garbage collections, which also need not look through what was imported later on."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
