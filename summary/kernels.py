"""Loops compiled by Numba: the decorator, the cache of their machine code, and which are ready.

Numba compiles a loop when it is first called, which takes seconds, and caches the machine code next to the source or in
the user's cache. A server lets another process compile (`Group.compiled_elsewhere`) and continues without the kernels
in the meantime.
"""

import atexit
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, cast

from stepscope.summary.full_install import needs_full_install

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_log: Final = logging.getLogger(__name__)
_decorating: Final = threading.RLock()
_PATIENCE: Final = 2.0
"""Seconds after which the compiling process is notified that a caller is waiting."""


def can_compile() -> bool:
    """Return whether Numba is installed; if not, log the consequences once."""
    # The cache alone would let several threads in at first.
    with _decorating:
        return _has_numba()


@cache
def _has_numba() -> bool:
    if find_spec("numba") is not None:
        return True
    _log.warning(
        "Numba is not installed, so event files are read by plain Python, many times slower. Run: pip install stepscope"
    )
    return False


def kernel(**options: Any) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Compile a function when it is first called; the machine code is cached and runs without the GIL.

    A kernel may call only kernels of its own module, because Numba detects changes in one file at a time. Assign
    elements rather than slices: a slice assignment (``a[i, :] = b``) adds three seconds of compilation for a message
    about shapes.

    Args:
        options: further options of `numba.njit`, such as ``fastmath``.

    Raises:
        NotInstalledError: Numba, without which a module of kernels cannot be imported, is not installed.
    """

    def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        if find_spec("numba") is None:
            with needs_full_install("Reading and analyzing traces"):
                import numba  # noqa: F401
        return cast(Callable[Parameters, Result], _Kernel(function, options))

    return compiled


class _Kernel:
    """A function wrapped by Numba on its first call or attribute access, because importing Numba takes long."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._dispatcher(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dispatcher, name)

    @cached_property
    def _dispatcher(self) -> Any:
        with _decorating:
            own = self.py_func.__globals__
            # Numba accepts only its own functions; those a loop calls must be wrapped before it is compiled.
            for name, value in list(own.items()):
                if isinstance(value, _Kernel):
                    own[name] = value.made
            return self.made

    @cached_property
    def made(self) -> Any:
        """Numba's function."""
        import numba

        with _decorating:
            try:
                return numba.njit(cache=True, nogil=True, **self._options)(self.py_func)
            except RuntimeError:
                # Neither the source folder nor the user's cache is writable.
                with _cached_in(_temporary_folder()):
                    return numba.njit(cache=True, nogil=True, **self._options)(self.py_func)


def is_compiled(function: Callable[..., object]) -> bool:
    """Return whether a kernel can be called without being compiled first.

    The result may be wrong if the code was compiled for another processor.
    """
    dispatcher = cast(Any, function)
    if not hasattr(dispatcher, "signatures") or dispatcher.signatures:
        return True
    try:
        # Numba's own check of its cache for the current source. File times prove nothing: an installation or a checkout
        # may give an unchanged source a later time.
        return bool(dispatcher._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return False


class Group:
    """Kernels that are needed together, and whether they can be called without waiting for the compiler."""

    def __init__(self, name: str, modules: Sequence[str]) -> None:
        """Create a group of the kernels of some modules, which are imported on demand; nothing compiles it yet."""
        self.name = name
        self.modules = tuple(modules)
        self._done: threading.Event | None = None
        self._look: Callable[[], object] | None = None
        self._hurry: Callable[[], object] | None = None
        self._called = False
        self._spared = 0

    def spare(self, amount: int) -> None:
        """Do ``amount`` of work without the kernels, as loading them takes longer, unless they were called before."""
        self._spared = 0 if self._called else amount

    @property
    def spared(self) -> bool:
        """Whether a small amount of work may be done without the kernels."""
        return self._spared > 0

    def take(self, amount: int) -> bool:
        """Return whether to call the kernels for an amount of work rather than do it without them."""
        if amount < self._spared:
            self._spared -= amount
            return False
        if self.ready:
            self.note_call()
            return True
        return False

    def note_call(self) -> None:
        """Record that the kernels are loaded."""
        self._called, self._spared = True, 0

    @property
    def ready(self) -> bool:
        """Whether to call the kernels: Numba is installed, and no other process is still to compile them."""
        self._have_a_look()
        return can_compile() and (self._done is None or self._done.is_set())

    @property
    def compiled(self) -> bool:
        """Whether all kernels are compiled."""
        return all(map(is_compiled, self.kernels()))

    def kernels(self) -> list[Callable[..., object]]:
        """Return the kernels that the modules define."""
        return [
            value
            for name in self.modules
            for value in vars(import_module(name)).values()
            if hasattr(value, "py_func") and value.__module__ == name
        ]

    def compiled_elsewhere(self, done: threading.Event, look: Callable[[], object] | None = None) -> None:
        """Record that another process compiles the kernels; ``done`` is set when it has finished or failed.

        ``look`` checks whether they need to be compiled and sets ``done`` if not. Any thread that uses the group may
        call it, several times.
        """
        self._done, self._look = done, look

    def hurried_by(self, hurry: Callable[[], object]) -> None:
        """Set a function to call, from any thread, every few seconds while a caller waits for the other process."""
        self._hurry = hurry

    def _have_a_look(self) -> None:
        look = self._look
        if look is not None:
            look()
            self._look = None

    def wait(self, seconds: float) -> bool:
        """Wait until the group is ready, for ``seconds`` at most; return whether it is."""
        self._have_a_look()
        if not can_compile():
            return False
        if self._done is None:
            return True
        until = time.monotonic() + seconds
        while not self._done.wait(min(_PATIENCE, max(0.0, until - time.monotonic()))):
            if time.monotonic() >= until:
                return False
            if self._hurry is not None:
                self._hurry()
        return True


@contextmanager
def _cached_in(folder: str) -> Iterator[None]:
    import numba

    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def _temporary_folder() -> str:
    """Return a private folder for machine code, shared by all processes of the user if possible.

    Its contents are loaded as code, so a folder that others can write to is never used.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = Path(tempfile.gettempdir()) / f"stepscope-kernels-{user}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        found = shared.lstat()
        private = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077
    except OSError:
        private = False
    if private:
        folder = str(shared)
    else:
        folder = tempfile.mkdtemp(prefix="stepscope-kernels-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _log.warning(
        "Compiled loops are kept in %s, as neither the installation nor a cache in the home folder can be written to. "
        "Set NUMBA_CACHE_DIR to a folder that lasts, or run 'stepscope warm-up' when the image is built.",
        folder,
    )
    return folder
