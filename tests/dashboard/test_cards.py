from dashboard.panels.groups import Group, arrange, parse_pages, prefix, shown_tag, still_fits, structure


def tags(*found: str) -> list[tuple[str, str]]:
    return [(prefix(tag), tag) for tag in found]


def many(prefix: str, n: int) -> list[str]:
    return [f"{prefix}/{number:02}" for number in range(n)]


def test_tags_are_grouped_by_prefix_in_order_of_appearance() -> None:
    assert arrange(tags("b/x", "loss", "a/y", "b/z/deep"), (), (), {}) == [
        Group("b", ("b/x", "b/z/deep"), True, 1),
        Group("(no prefix)", ("loss",), True, 1),
        Group("a", ("a/y",), True, 1),
    ]


def test_groups_open_until_the_page_is_full() -> None:
    found = [*many("a", 30), *many("b", 10), *many("c", 5), *many("d", 2)]
    assert [(g.name, g.open, len(g.on_page)) for g in arrange(tags(*found), (), (), {})] == [
        ("a", True, 12),
        ("b", True, 10),
        ("c", False, 5),
        ("d", True, 2),
    ]


def test_the_user_opens_closes_and_turns_pages() -> None:
    found = [*many("a", 30), *many("b", 10)]
    first, second = arrange(tags(*found), (), ("b",), {"a": 3})
    assert first.on_page == tuple(many("a", 30)[24:])
    assert not second.open
    assert arrange(tags(*found), (), (), {"a": 99})[0].page == 3
    crowded = [*many("a", 12), *many("b", 12), *many("c", 3)]
    assert [g.open for g in arrange(tags(*crowded), ("c",), (), {})] == [True, True, True]


def test_pages_are_read_from_the_address() -> None:
    assert parse_pages(["a:2", "b:c:3", "bad", "x:-1", "y:²"]) == {"a": 2, "b:c": 3}


def test_closing_a_group_keeps_its_cards_and_opening_it_again_mounts_nothing() -> None:
    found = [*many("a", 3), *many("b", 3)]
    both = structure(arrange(tags(*found), (), (), {}))
    closed = structure(arrange(tags(*found), (), ("a",), {}))
    assert still_fits(both, closed)
    assert still_fits(both, both)
    assert not still_fits(closed, both)
    assert not still_fits(both, structure(arrange(tags(*found, "b/new"), (), (), {})))


def test_texts_are_shown_without_the_end_that_writers_give_them() -> None:
    assert [shown_tag(tag) for tag in ("notes/text_summary", "a/notes/text_summary", "/text_summary", "notes")] == [
        "notes",
        "a/notes",
        "/text_summary",
        "notes",
    ]
    assert [prefix(tag) for tag in ("notes/text_summary", "a/notes/text_summary")] == ["(no prefix)", "a"]
