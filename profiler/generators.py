"""Generators whose resumptions are scopes: the time that a generator works, without what its consumer does between."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

Y = TypeVar("Y")
S = TypeVar("S")
R = TypeVar("R")

Scope = Callable[[], AbstractContextManager[object]]
"""Makes a scope, to be entered once."""


def resumed_in(scope: Scope, generator: Generator[Y, S, R]) -> Generator[Y, S, R]:
    """Pass everything between a generator and its consumer, each resumption in a scope."""
    resume: Callable[[], Y] = partial(next, generator)
    while True:
        try:
            with scope():
                item = resume()
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        try:
            sent = yield item
        except GeneratorExit:
            with scope():
                generator.close()
            raise
        except BaseException as error:
            resume = partial(generator.throw, error)
        else:
            resume = partial(generator.send, sent)


async def resumed_async_in(scope: Scope, generator: AsyncGenerator[Y, S]) -> AsyncGenerator[Y, S]:
    """Pass everything between an asynchronous generator and its consumer, each resumption in a scope."""
    resume: Callable[[], Any] = generator.__anext__
    while True:
        try:
            with scope():
                item = await resume()
        except StopAsyncIteration:
            return
        try:
            sent = yield item
        except GeneratorExit:
            with scope():
                await generator.aclose()
            raise
        except BaseException as error:
            resume = partial(generator.athrow, error)
        else:
            resume = partial(generator.asend, sent)
