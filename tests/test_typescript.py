from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.generate_page import DASHBOARD, generated
from tools.typescript import interfaces


@dataclass(frozen=True)
class Inner:
    """What is inside."""

    name: str | None


class Outer(TypedDict):
    """All that JSON and packed columns have.

    The rest of the docstring is Python's own.
    """

    kind: Literal["op", "group"]
    count: int
    share: float
    inner: Inner
    rows: list[Inner]
    pair: tuple[int, str]
    names: tuple[str, ...]
    mixed: list[int | str]
    by_name: dict[str, Inner]
    column: NDArray[np.float32]
    more: NotRequired[bool]


def test_messages_become_interfaces() -> None:
    assert (
        interfaces([Outer])
        == """/** All that JSON and packed columns have. */
export interface Outer {
  kind: "op" | "group";
  count: number;
  share: number;
  inner: Inner;
  rows: Inner[];
  pair: [number, string];
  names: string[];
  mixed: (number | string)[];
  by_name: Record<string, Inner>;
  column: Float32Array;
  more?: boolean;
}

/** What is inside. */
export interface Inner {
  name: string | null;
}
"""
    )


def test_what_json_does_not_have_is_refused() -> None:
    class Wrong(TypedDict):
        what: set[str]

    with pytest.raises(TypeError, match="has no counterpart in TypeScript"):
        interfaces([Wrong])


def test_what_is_no_message_is_refused() -> None:
    some: Any = int
    with pytest.raises(TypeError, match="neither a TypedDict nor a dataclass"):
        interfaces([some])


def test_messages_of_rooms_without_a_panel_are_the_pages_own() -> None:
    text = generated()[DASHBOARD / "web/page/messages.generated.ts"]
    head, *_ = text.split("\n")
    assert head.startswith("// Made from stepscope.dashboard.page.messages and stepscope.dashboard.traces.messages by ")
    assert [f"export interface {name} {{" in text for name in ("Declared", "CaptureRules", "StepsNews")] == [
        True,
        True,
        False,
    ]
