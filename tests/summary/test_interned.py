"""Texts with numbers."""

from stepscope.summary.interned import Interned


def test_the_tables_take_little_more_than_what_is_in_them() -> None:
    texts = [b"x" * (1 << 20), *(b"%d" % number for number in range(20_000))]
    table = Interned()
    assert [table.add(text) for text in texts] == list(range(len(texts)))
    assert [table[number] for number in (0, 1, 20_000)] == [texts[0], b"0", b"19999"]
    assert table.nbytes < 4 << 20
