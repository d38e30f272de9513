from collections.abc import Iterable
from typing import Any

import pytest
from dash.development.base_component import Component

from stepscope.dashboard.curves.cards import curve_card
from stepscope.dashboard.panels.groups import (
    MOST_OPENED,
    Arrangement,
    Group,
    OfTag,
    Place,
    arrange,
    card_places,
    mounted_keys,
    parse_pages,
    still_fits,
    structure,
)
from stepscope.dashboard.panels.scalars.arrangement import combined_tags
from stepscope.dashboard.panels.tag_order import tag_order


def sections(tags: Iterable[str], **by: Any) -> list[Group]:
    ordered = sorted(tags, key=tag_order)
    return arrange([(OfTag(tag), tag) for tag in ordered], Arrangement(**by))


def many(prefix: str, n: int) -> list[str]:
    return [f"{prefix}/{number:02}" for number in range(n)]


def tree(groups: Iterable[Group]) -> list[Any]:
    """Label, number of cards, and any sections within."""
    return [(g.label, g.count, tree(g.groups)) if g.groups else (g.label, g.count) for g in groups]


def opened(groups: Iterable[Group]) -> list[str]:
    return [g.name for one in groups for g in one.all() if g.open]


LAYERS = [
    f"model.layers.{layer}.{part}"
    for layer in range(24)
    for part in ("self_attn.q_proj.weight", "self_attn.k_proj.weight", "mlp.up_proj.weight", "norm.weight")
]


def test_sections_stand_in_order_of_what_people_look_at_first() -> None:
    groups = sections(["lr", "val/loss", "val/accuracy", "optim/a", "optim/b", "train/loss", "train/accuracy"])
    assert tree(groups) == [("train", 2), ("val", 2), ("optim", 2), ("Other", 1)]
    assert groups[0].keys == ("train/loss", "train/accuracy")


def test_a_prefix_of_one_card_is_no_section() -> None:
    assert tree(sections(["a/x", "a/y", "b/x", "c.d.e"])) == [("a", 2), ("Other", 2)]
    assert tree(sections(["train/loss", "layer/1", "layer/2"])) == [("Other", 1), ("layer", 2)]
    assert tree(sections(["a/b/c", "loss"])) == [("All tags", 2)]


def test_a_section_that_holds_one_alone_is_joined_with_it() -> None:
    assert tree(sections(["a/b/c/x", "a/b/c/y", "z/x", "z/y"])) == [("a/b/c", 2), ("z", 2)]


def test_layers_are_sections_within_a_section_by_number_and_closed() -> None:
    groups = sections([*LAYERS, "train/loss", "train/lr", "optim/a", "optim/b"])
    layers = groups[1]
    assert [(g.label, g.count) for g in groups] == [("train", 2), ("model.layers", 96), ("optim", 2)]
    assert [(g.label, g.count) for g in layers.groups] == [(str(layer), 4) for layer in range(24)]
    # A section that fits on a page stays whole.
    assert not any(g.groups for g in layers.groups)
    assert opened(groups) == ["train", "optim"]


def test_where_there_is_nothing_else_the_first_layers_open() -> None:
    assert opened(sections(LAYERS)) == ["model.layers", *(f"model.layers.{layer}" for layer in range(6))]


def test_a_large_section_is_divided_and_keeps_its_own_cards_first() -> None:
    groups = sections(["train/loss", *many("train/a", 13), *many("train/b", 3)])
    assert tree(groups) == [("train", 17, [("a", 13), ("b", 3)])]
    assert groups[0].keys == ("train/loss",)
    assert list(groups[0].mounted()) == ["train/loss", *many("train/a", 12), *many("train/b", 3)]


def test_named_sections_come_first_as_they_are_and_take_their_namesakes_in() -> None:
    cards: list[tuple[Place, str]] = [
        ("Pinned", "z"),
        ("Pinned", "a"),
        (OfTag("Pinned/x"), "p"),
        (OfTag("Pinned/y"), "q"),
    ]
    assert [(g.name, g.keys) for g in arrange(cards, Arrangement())] == [("Pinned", ("z", "a", "p", "q"))]
    assert tree(sections(["Other/a", "Other/b", "x", "y/a", "y/b"])) == [("Other", 3), ("y", 2)]


def test_sections_open_until_the_page_is_full_whatever_the_user_closed() -> None:
    found = [*many("a", 30), *many("b", 10), *many("c", 5), *many("d", 2)]
    assert [(g.name, g.open, len(g.on_page)) for g in sections(found)] == [
        ("a", True, 12),
        ("b", True, 10),
        ("c", False, 5),
        ("d", True, 2),
    ]
    # Closing one does not make another open automatically.
    assert opened(sections(found, closed=["a", "b"])) == ["d"]


def test_the_user_opens_closes_and_turns_pages() -> None:
    found = [*many("a", 30), *many("b", 10)]
    first, second = sections(found, closed=("b",), pages={"a": 3})
    assert first.on_page == tuple(many("a", 30)[24:])
    assert not second.open
    assert sections(found, pages={"a": 99})[0].page == 3
    crowded = [*many("a", 12), *many("b", 12), *many("c", 3)]
    assert opened(sections(crowded, opened=("c",))) == ["a", "b", "c"]


def test_all_sections_open_and_close_but_for_those_of_the_user() -> None:
    found = [*LAYERS, *many("a", 30), *many("b", 30)]
    everything = [g.name for one in sections(found) for g in one.all()]
    assert opened(sections(found, fold="open")) == everything
    assert opened(sections(found, fold="open", closed=["a"])) == [name for name in everything if name != "a"]
    assert opened(sections(found, fold="closed")) == []
    assert opened(sections(found, fold="closed", opened=["b"])) == ["b"]
    endless = [tag for section in range(100) for tag in many(f"s{section}", 12)]
    assert sum(len(list(g.mounted())) for g in sections(endless, fold="open")) == MOST_OPENED


def test_the_user_orders_sections_and_cards() -> None:
    found = ["a/x", "a/y", "b/x", "b/y", "c/x", "c/y"]
    assert [g.name for g in sections(found, sections=["c", "gone"])] == ["c", "a", "b"]
    assert sections(found, cards=["a/y"])[0].keys == ("a/y", "a/x")
    layers = sections(LAYERS, sections=["model.layers.5"])[0].groups
    assert [g.label for g in layers][:3] == ["5", "0", "1"]


@pytest.mark.parametrize(
    ("key", "tags"),
    [
        ('[["a", "b"], ["c"]]', (("a", "b"), ("c",))),
        ('[[], ["\\ud83d\\ude00"]]', ((), ("\N{GRINNING FACE}",))),
        ('[["\\ud800"], []]', None),
        ("[[], []]", None),
        ('[["a"]]', None),
        ("[[1], []]", None),
        ("[[", None),
        ("loss", None),
    ],
)
def test_a_card_of_several_tags_is_read_from_the_address(key: str, tags: object) -> None:
    assert combined_tags(key) == tags


def test_pages_are_read_from_the_address() -> None:
    assert parse_pages(["a:2", "b:c:3", "bad", "x:-1", "y:²"]) == {"a": 2, "b:c": 3}


def test_every_card_has_its_sections_and_its_page() -> None:
    places = {key: (path, page) for key, path, page in card_places(sections([*LAYERS, *many("a", 13)]))}
    assert places["a/12"] == (("a",), 2)
    assert places["model.layers.3.norm.weight"] == (("model.layers", "model.layers.3"), 1)


def test_closing_a_section_keeps_its_cards_and_opening_it_again_mounts_nothing() -> None:
    def of(tags: Iterable[str], **by: Any) -> dict[str, Any]:
        return structure(sections(tags, **by)[0])

    both = of(LAYERS)
    assert mounted_keys(both) == sorted(LAYERS, key=tag_order)[:24]
    closed = of(LAYERS, closed=["model.layers"])
    one_closed = of(LAYERS, closed=["model.layers.1"])
    assert still_fits(both, both)
    assert still_fits(both, closed)
    assert still_fits(both, one_closed)
    assert not still_fits(closed, both)
    assert not still_fits(one_closed, both)
    assert not still_fits(both, of([*LAYERS, "model.layers.0.new"]))
    assert not still_fits(both, of(LAYERS, sections=["model.layers.5"]))


def test_the_buttons_of_cards_are_no_components_of_dash() -> None:
    """At each change, Dash looks at every component on the page; two thirds were buttons and their icons."""
    card = curve_card("scalars", "train/loss", "train/loss", wide=False)
    parts = [part for part in card._traverse() if isinstance(part, Component)]
    assert [(type(part).__name__, getattr(part, "className", None)) for part in parts] == [
        ("Header", None),
        ("H3", None),
        ("Span", "dim"),
        ("Span", "note"),
        ("Div", "actions"),
        ("Div", "curve"),
    ]
