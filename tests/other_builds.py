"""Polars and NumPy as they may behave in other builds or on other processors: they take the last of equal values first.

Both state that they keep no order unless asked to. The order that results depends on the instructions that a processor
has and on the number of its cores.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pytest


@contextmanager
def last_of_equals_first() -> Iterator[None]:
    """Within the block, reverse the order of whatever keeps no order."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (pl.DataFrame, pl.LazyFrame):
            patch.setattr(kind, "sort", _sort(kind.sort))
            patch.setattr(kind, "top_k", _chosen(kind.sort, largest=True))
            patch.setattr(kind, "bottom_k", _chosen(kind.sort, largest=False))
            patch.setattr(kind, "group_by", _group_by(kind.group_by))
            patch.setattr(kind, "unique", _unique(kind.unique))
        patch.setattr(np, "argsort", _argsort(np.argsort))
        yield


def _sort(sort: Callable[..., Any]) -> Callable[..., Any]:
    def made(frame: Any, by: Any, *more: Any, maintain_order: bool = False, **how: Any) -> Any:
        return sort(frame if maintain_order else frame.reverse(), by, *more, maintain_order=True, **how)

    return made


def _chosen(sort: Callable[..., Any], *, largest: bool) -> Callable[..., Any]:
    def made(frame: Any, k: int, *, by: Any, reverse: bool | Sequence[bool] = False) -> Any:
        descending = largest != reverse if isinstance(reverse, bool) else [largest != each for each in reverse]
        return sort(frame.reverse(), by, descending=descending, nulls_last=True, maintain_order=True).head(k)

    return made


class _Groups:
    """Groups in reverse order; the rows of each group keep their order."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def __iter__(self) -> Iterator[Any]:
        yield from reversed(list(self._groups))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *what, **named: getattr(self._groups, name)(*what, **named).reverse()


def _group_by(group_by: Callable[..., Any]) -> Callable[..., Any]:
    def made(frame: Any, *by: Any, maintain_order: bool = False, **named: Any) -> Any:
        groups = group_by(frame, *by, maintain_order=True, **named)
        return groups if maintain_order else _Groups(groups)

    return made


def _unique(unique: Callable[..., Any]) -> Callable[..., Any]:
    def made(frame: Any, subset: Any = None, *, keep: str = "any", maintain_order: bool = False) -> Any:
        found = unique(frame, subset, keep="last" if keep == "any" else keep, maintain_order=True)
        return found if maintain_order else found.reverse()

    return made


def _argsort(argsort: Callable[..., Any]) -> Callable[..., Any]:
    def made(values: Any, axis: int = -1, kind: str | None = None, **how: Any) -> Any:
        if kind is not None or how:
            return argsort(values, axis, kind, **how)
        values = np.asarray(values)
        return values.shape[axis] - 1 - argsort(np.flip(values, axis), axis, "stable")

    return made
