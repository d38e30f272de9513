"""State of a thread or asyncio task: the default writer and step, whether to record, and the name scope."""

import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from stepscope.summary.arguments import checked_name, checked_number, checked_step
from stepscope.summary.v2.base import SummaryWriter

T = TypeVar("T")


@dataclass(frozen=True)
class _State(Generic[T]):
    value: T
    block: "_Block[T] | None"
    """The innermost block that the value was set in."""


class _Block(Generic[T]):
    def __init__(self, outside: _State[T]) -> None:
        self.outside: Final = outside
        self.is_over = False
        """Whether it ended elsewhere than where it began."""
        self._thread: Final = threading.get_ident()
        task = _running_task()
        self._task: Final = None if task is None else weakref.ref(task)

    def is_here(self) -> bool:
        """Return whether the running thread and task are those in which the block began."""
        task = self._task and self._task()
        return self._thread == threading.get_ident() and _running_task() is task


class Scoped(Generic[T]):
    """A value of each thread and asyncio task; what is set in a block lasts until its end.

    The end may come in another task, as when an asynchronous generator is closed that its caller abandoned. Tasks and
    threads that began in the block with a copy of its context keep the value.
    """

    def __init__(self, name: str, default: T) -> None:
        self._initial: Final = _State(default, None)
        self._state: Final[ContextVar[_State[T]]] = ContextVar(name)

    def get(self) -> T:
        """Return the value."""
        return self._current().value

    def set(self, value: T) -> None:
        """Set the value."""
        self._state.set(_State(value, self._current().block))

    @contextmanager
    def within(self, value: T) -> Iterator[None]:
        """Set the value in a ``with`` block."""
        block = _Block(self._current())
        self._state.set(_State(value, block))
        try:
            yield
        finally:
            self._end(block)

    def _current(self) -> _State[T]:
        known = state = self._state.get(self._initial)
        while state.block is not None and state.block.is_over and state.block.is_here():
            state = state.block.outside
        if state is not known:
            self._state.set(state)
        return state

    def _end(self, block: _Block[T]) -> None:
        state = self._state.get(self._initial)
        while state.block is not None and state.block is not block:
            state = state.block.outside
        if state.block is block:
            self._state.set(block.outside)
        block.is_over = state.block is not block or not block.is_here()


def _running_task() -> Any:
    # Without the module there are no tasks; importing it takes a while.
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


DEFAULT_WRITER: Final = Scoped[SummaryWriter | None]("default_writer", None)
DEFAULT_STEP: Final = Scoped[Any]("default_step", None)
_RECORDS: Final = Scoped[Any]("records", True)
_SCOPE: Final = Scoped("scope", "")
"""Ends with a slash, unless it is empty."""

_ILLEGAL_IN_SCOPES: Final = re.compile(r"[^-_/.A-Za-z0-9]")


@contextmanager
def record_if(condition: bool | Callable[[], Any] | Any) -> Iterator[None]:
    """Switch recording on or off in a ``with`` block; the innermost block applies.

    Args:
        condition: a boolean, an array or tensor of one boolean, or a function that returns one, which is called
            whenever something is about to be written.

    Raises:
        TypeError: the condition is none of these.
    """
    if not callable(condition):
        _is_true(condition)
    with _RECORDS.within(condition):
        yield


def should_record_summaries() -> bool:
    """Return whether there is a default writer and `record_if` does not switch recording off."""
    if DEFAULT_WRITER.get() is None:
        return False
    condition = _RECORDS.get()
    return condition is True or _is_true(condition() if callable(condition) else condition)


def get_step() -> Any:
    """Return the default step as it was set, or None."""
    return DEFAULT_STEP.get()


def set_step(step: Any) -> None:
    """Set the default step.

    Args:
        step: a whole number; an array, tensor or variable of one, which is read whenever something is written; or None
            for no default step.

    Raises:
        TypeError, ValueError: the step is none of these.
    """
    if step is not None:
        step_of(step)
    DEFAULT_STEP.set(step)


def step_of(step: Any) -> int:
    """Return ``step``, or else the default step, as an int64.

    Raises:
        TypeError: it is not a whole number.
        ValueError: there is no step, or it does not fit in 64 bits.
    """
    if step is None:
        step = DEFAULT_STEP.get()
    if step is None:
        raise ValueError("a step is needed: pass step=..., or set a default by as_default(step) or set_step(step)")
    if not hasattr(step, "__array__") and hasattr(step, "numpy"):
        step = step.numpy()
    return checked_step(step)


@contextmanager
def name_scope(name: str) -> Iterator[str]:
    """Prefix the names of summaries in a ``with`` block with ``<name>/``, after any enclosing scopes.

    A name that ends with a slash replaces the enclosing scopes, and an empty name removes them, as in TensorFlow.

    Args:
        name: one or more parts, separated by slashes.

    Returns:
        The whole scope, with a trailing slash.

    Raises:
        TypeError: the name is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a scope must be a string, got {type(name).__name__}")
    scope = name if not name or name.endswith("/") else f"{_SCOPE.get()}{name}/"
    with _SCOPE.within(scope):
        yield scope


@contextmanager
def summary_scope(
    name: str | None, default_name: str = "summary", values: Sequence[Any] | None = None
) -> Iterator[tuple[str, str]]:
    """Enter a scope and return its tag, for functions that write their own kind of summary.

    Args:
        name: the summary's name.
        default_name: the summary's name if ``name`` is None or empty.
        values: no effect.

    Returns:
        The tag, which is the name prefixed with the enclosing scopes; and the whole scope, which keeps only letters,
        digits and ``_.-/`` of the name.

    Raises:
        TypeError, ValueError: the name cannot be a tag.
    """
    tag = tag_of(name or default_name)
    with name_scope(_ILLEGAL_IN_SCOPES.sub("", name or default_name) or default_name) as scope:
        yield tag, scope


def tag_of(name: str) -> str:
    """Return the name, prefixed with the enclosing scopes.

    Raises:
        TypeError, ValueError: the name cannot be a tag.
    """
    tag = checked_name(name)
    scope = _SCOPE.get().rstrip("/")
    return f"{scope}/{tag}" if scope else tag


def _is_true(condition: Any) -> bool:
    try:
        return bool(checked_number(condition, "the condition"))
    except TypeError:
        got = type(condition).__name__
        raise TypeError(
            f"the condition of record_if must be a boolean, or a function that gives one, got {got}"
        ) from None
