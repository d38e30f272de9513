from dataclasses import replace
from types import MappingProxyType
from typing import Any

from stepscope.dashboard.tensorboard.tag_indexes import TagIndexes
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.runs.tiny import named, snapshot

LOSS = b'{"loss":{"displayName":"loss","description":""}}'


def body(indexes: TagIndexes, shot: Snapshot) -> bytes:
    pieces: Any = indexes.answer(shot)._pieces
    return b"".join(pieces)


def test_runs_without_the_kind_are_left_out() -> None:
    shot = snapshot({"a": ({}, {"loss": [1.0]}), "b": ({}, {}), 'c"': ({"lr": 1.0}, {"loss": [1.0]})})
    assert body(TagIndexes("scalars"), shot) == b'{"a":' + LOSS + b',"c\\"":' + LOSS + b"}"
    assert body(TagIndexes("images"), shot) == b"{}"
    assert body(TagIndexes("scalars"), named()) == b"{}"


def test_only_runs_that_changed_are_looked_at_again() -> None:
    indexes = TagIndexes("scalars")
    looked_at: list[str] = []

    class Counting(dict[str, Series]):
        def values(self):  # type: ignore[no-untyped-def]
            looked_at.append(next(iter(self)))
            return super().values()

    shot = snapshot({"a": ({}, {"loss": [1.0]}), "b": ({}, {"acc": [1.0]})})
    runs = {name: replace(run, series=Counting(run.series)) for name, run in shot.runs.items()}
    first = body(indexes, Snapshot(1, MappingProxyType(runs)))
    assert looked_at == ["loss", "acc"]
    assert body(indexes, Snapshot(2, MappingProxyType(runs))) == first
    assert looked_at == ["loss", "acc"]
    grown = replace(runs["b"], series=Counting({"new": runs["b"].series["acc"]}))
    body(indexes, Snapshot(3, MappingProxyType(runs | {"b": grown})))
    assert looked_at == ["loss", "acc", "new"]
