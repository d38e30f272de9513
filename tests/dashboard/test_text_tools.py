"""Differences of texts, JSON trees, searching all texts, and texts as files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.panels.text.diff import MOST_LINES, Change, diff
from stepscope.dashboard.panels.text.json_tree import DEEPEST, MOST_NODES, json_tree
from stepscope.dashboard.panels.text.search import MOST_TEXTS, Place, TextPattern, search
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import open_logdir
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.safe_regex import PatternError
from stepscope.summary.series import Series
from tests.dashboard.media import client_of


def shown(old: str, new: str) -> list[str]:
    """A diff as lines: old number, new number, change, and the two sides with changes in brackets."""

    def side(segments: Any) -> str:
        return "".join(f"[{text}]" if changed else text for text, changed in segments)

    return [
        f"{row.old_number or '-'} {row.new_number or '-'} {row.change}: {side(row.old)} | {side(row.new)}"
        for row in diff(old, new).rows
    ]


def test_lines_and_words_that_changed() -> None:
    old = "lr: 0.1\nepochs: 10\nseed: 1\nname: a"
    new = "lr: 0.3\nepochs: 10\nname: a\nnote: long\n"
    assert shown(old, new) == [
        "1 1 changed: lr: 0.[1] | lr: 0.[3]",
        "2 2 same: epochs: 10 | epochs: 10",
        "3 - removed: seed: 1 | ",
        "4 3 same: name: a | name: a",
        "- 4 added:  | note: long",
        "- 5 added:  | ",
    ]
    found = diff(old, new)
    assert (found.added, found.removed, found.notice) == (3, 2, "")


def test_lines_without_common_words_have_no_emphasis() -> None:
    assert shown("one two three", "4 5 6 7 8 9") == ["1 1 changed: one two three | 4 5 6 7 8 9"]


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("", "", []),
        ("a", "a", ["same"]),
        ("", "a", ["added"]),
        ("a", "", ["removed"]),
        ("a\r\nb", "a\nb", ["same", "same"]),
        ("x\na\nb", "a\nb", ["removed", "same", "same"]),
        ("<b>&", "<b>&", ["same"]),
    ],
)
def test_edges(old: str, new: str, changes: list[Change]) -> None:
    assert [row.change for row in diff(old, new).rows] == changes


TEXTS = st.lists(st.sampled_from(["", "a", "b", "a b", "b a c", "<i>"]), max_size=12).map("\n".join)


@given(TEXTS, TEXTS)
def test_each_side_of_a_diff_is_its_text(old: str, new: str) -> None:
    rows = diff(old, new).rows
    sides = ((old, 1, 3), (new, 2, 4))
    for text, number, segments in sides:
        fields = [list(vars(row).values()) for row in rows]
        lines = ["".join(piece for piece, _ in row[segments]) for row in fields if row[number] is not None]
        assert lines == (text.split("\n") if text else [])
        assert [row[number] for row in fields if row[number] is not None] == list(range(1, len(lines) + 1))


def test_long_texts_are_compared_in_part_and_say_so() -> None:
    long = "\n".join(map(str, range(MOST_LINES + 1)))
    found = diff(long, long + "\nx")
    assert (len(found.rows), found.added) == (MOST_LINES, 0)
    assert found.notice.startswith("Only the first 5,000 of 5,001 lines are compared.")


def test_a_comparison_without_time_gives_what_is_common_at_both_ends() -> None:
    found = diff("same\na\nb\nend", "same\nc\nend", seconds=-1)
    assert [(row.change, row.old_number, row.new_number) for row in found.rows] == [
        ("same", 1, 1),
        ("changed", 2, 2),
        ("removed", 3, None),
        ("same", 4, 3),
    ]
    assert found.notice.startswith("Comparing took too long")


def test_many_equal_lines_do_not_hold_the_server_up() -> None:
    found = diff("a\n" * 2000 + "x\n" + "\n" * 2000, "b\n" + "\n" * 2000 + "a\n" * 2000)
    assert found.added >= 1


def test_json_is_a_tree() -> None:
    assert json_tree(' {"a": 1e3, "b": ["<x>", null, true], "c": {}, "a": -0.0} ') == (
        '<div class="json"><details open><summary><span class="json-shape">{} 4 keys</span></summary><div>'
        '<div><span class="json-key">a</span><span class="json-number">1e3</span></div>'
        '<details open><summary><span class="json-key">b</span><span class="json-shape">[] 3 items</span>'
        "</summary><div>"
        '<div><span class="json-key">0</span><span class="json-string">&quot;&lt;x&gt;&quot;</span></div>'
        '<div><span class="json-key">1</span><span class="json-word">null</span></div>'
        '<div><span class="json-key">2</span><span class="json-word">true</span></div></div></details>'
        '<div><span class="json-key">c</span><span class="json-shape">{} 0 keys</span></div>'
        '<div><span class="json-key">a</span><span class="json-number">-0.0</span></div></div></details></div>'
    )


@pytest.mark.parametrize("source", ["", "1", '"a"', "{a}", "[1", "{} {}", "[NaN]", "plain", "[" * 5000 + "]" * 5000])
def test_what_is_no_json_object_or_array_is_none(source: str) -> None:
    assert json_tree(source) is None


def test_large_and_deep_json_is_bounded() -> None:
    html = json_tree(json.dumps([[0] * 10 for _ in range(1000)]))
    assert html is not None
    assert html.count("json-number") < MOST_NODES
    assert f"{1 + 1000 + 10000 - MOST_NODES:,} more values are not shown." in html
    deep_end = json_tree(f"[{'0,' * MOST_NODES}{'[' * 600}{']' * 600}]")
    assert deep_end is not None
    assert "601 more values are not shown." in deep_end
    deep = json_tree("[" * 200 + "]" * 200)
    assert deep is not None
    assert deep.count("<details") == DEEPEST


KEYS = st.text("<>&\"'a\\\n", max_size=4)


@given(st.recursive(KEYS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)))
def test_no_json_brings_in_markup_of_its_own(value: Any) -> None:
    html = json_tree(json.dumps(value)) or ""
    for tag in re.findall(r"<[^>]*>", html):
        assert re.fullmatch(r'</?(div|details|summary|span)( class="json(-\w+)?")?( open)?>', tag), tag


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs a and b with three and two texts, one of them damaged, and a table."""
    logs = tmp_path_factory.mktemp("logs")
    for run, texts in (("a", ["one apple", "two\napples", "three Apples, an apple"]), ("b", ["a pear", "an apple"])):
        with SummaryWriter(str(logs / run)) as writer:
            for step, text in enumerate(texts):
                writer.add_text("note", text, 10 * step, walltime=100.0 + step)
            if run == "b":
                damaged = Summary.Value(tag="note/text_summary", simple_value=1.0)
                writer.add_summary(Summary(value=[damaged]), 20, walltime=103.0)
                writer.add_text("x/table", [["apple", "1"], ["pear", "2"]], 0, walltime=104.0)
    return logs


@pytest.fixture(scope="module")
def client(logdir: Path) -> TestClient:
    return client_of(logdir)


def texts_of(logdir: Path) -> list[Series]:
    runs = open_logdir(logdir).runs
    return [series for run in runs.values() for series in run.of_kind("text")]


def test_search_gives_places_newest_first(logdir: Path) -> None:
    found = search(texts_of(logdir), TextPattern("apple"), None)
    assert [(hit.run, hit.tag, hit.step, hit.count, hit.before, hit.found, hit.after) for hit in found.hits] == [
        ("a", "note/text_summary", 20, 2, "three ", "Apple", "s, an apple"),
        ("a", "note/text_summary", 10, 1, "two ", "apple", "s"),
        ("a", "note/text_summary", 0, 1, "one ", "apple", ""),
        ("b", "note/text_summary", 10, 1, "an ", "apple", ""),
        ("b", "x/table/text_summary", 0, 1, "", "apple", " 1 pear 2"),
    ]
    assert (found.searched, found.total, found.unreadable, found.place) == (7, 7, 1, None)


def test_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        for step in range(MOST_TEXTS + 5):
            writer.add_text("note", "hit" if step in (2, MOST_TEXTS) else "-", step)
    chosen = texts_of(tmp_path)
    first = search(chosen, TextPattern("hit"), None, seconds=60)
    assert ([hit.step for hit in first.hits], first.searched, first.total) == ([MOST_TEXTS], MOST_TEXTS, MOST_TEXTS + 5)
    assert first.place == Place("note/text_summary", "a", 5)
    second = search(chosen, TextPattern("hit"), first.place, seconds=60)
    assert ([hit.step for hit in second.hits], second.searched, second.place) == ([2], MOST_TEXTS + 5, None)


def test_search_without_time_searches_nothing_and_says_where_to_go_on(logdir: Path) -> None:
    found = search(texts_of(logdir), TextPattern("apple"), None, seconds=-1)
    assert (found.hits, found.searched, found.place) == ((), 0, Place("note/text_summary", "a", 3))


def test_expressions_that_take_for_ever_are_given_up(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_text("note", "a" * 60 + "!", 0)
    with pytest.raises(PatternError, match="too long"):
        search(texts_of(tmp_path), TextPattern(r"(a|aa)+$"), None)
    answer = client_of(tmp_path).get("/api/text/search", params={"pattern": r"(a|aa)+$", "regex": True})
    assert answer.json()["error"].startswith("This expression cannot be searched for: it takes too long")
    broken = client_of(tmp_path).get("/api/text/search", params={"pattern": "(", "regex": True}).json()
    assert (broken["error"].startswith("This expression cannot be searched for"), broken["hits"], broken["total"]) == (
        True,
        [],
        1,
    )


def test_search_route_names_the_cards(client: TestClient) -> None:
    answer = client.get("/api/text/search", params={"pattern": "a.ple", "regex": True, "query": "tag_filter=table"})
    assert answer.json() == {
        "searched": 1,
        "total": 1,
        "unreadable": 0,
        "hits": [
            {
                "tag": "x/table/text_summary",
                "run": "b",
                "index": 0,
                "step": 0,
                "count": 1,
                "before": "",
                "found": "apple",
                "after": " 1 pear 2",
                "key": '["x/table/text_summary", "b"]',
                "sections": ["Other"],
                "page": 1,
            }
        ],
        "place": None,
        "error": "",
    }
    literal = client.get("/api/text/search", params={"pattern": "a.ple"}).json()
    assert (literal["hits"], literal["total"]) == ([], 7)


@pytest.mark.parametrize("changed", [{"pattern": ""}, {"place": "x"}, {"place": "[1]"}, {"place": "null"}])
def test_searches_that_cannot_be_are_refused(client: TestClient, changed: dict[str, Any]) -> None:
    assert client.get("/api/text/search", params={"pattern": "a", **changed}).status_code == 422


def test_entries_name_what_is_to_be_highlighted(client: TestClient) -> None:
    where = {"run": "a", "tag": "note/text_summary", "start": 2, "stop": 3, "pattern": "apple"}
    assert client.get("/api/text/entries", params=where).json()[0]["words"] == ["Apple", "apple"]


@pytest.mark.parametrize(("step", "index"), [(-5, 0), (0, 0), (4, 0), (5, 1), (14, 1), (99, 2)])
def test_any_step_leads_to_the_nearest_text(client: TestClient, step: int, index: int) -> None:
    answer = client.get("/api/text/at", params={"run": "a", "tag": "note/text_summary", "step": step}).json()
    assert answer == {"index": index, "step": 10 * index, "total": 3}


def test_a_step_beyond_64_bits_is_refused(client: TestClient) -> None:
    where = {"run": "a", "tag": "note/text_summary", "step": "9" * 400}
    assert client.get("/api/text/at", params=where).status_code == 422


def test_diff_route(client: TestClient) -> None:
    where = {"tag": "note/text_summary", "old_run": "b", "old_index": 1, "new_run": "a", "new_index": 0}
    assert client.get("/api/text/diff", params=where).json() == {
        "rows": [["changed", 1, 1, [["an", True], [" apple", False]], [["one", True], [" apple", False]]]],
        "added": 1,
        "removed": 1,
        "notice": "",
        "error": "",
        "old": {"step": 10, "total": 3},
        "new": {"step": 0, "total": 3},
    }
    assert client.get("/api/text/diff", params={**where, "old_index": 9}).status_code == 404
    damaged = client.get("/api/text/diff", params={**where, "old_index": 2}).json()
    assert (damaged["rows"], "expected text as a tensor" in damaged["error"]) == ([], True)


def test_files_hold_all_shown_texts(client: TestClient) -> None:
    one = client.get("/api/text/file", params={"run": "b", "tag": "note/text_summary"})
    assert one.headers["content-disposition"] == 'attachment; filename="b_note_text_summary.txt"'
    damaged = "[cannot be read: expected text as a tensor, got simple_value]"
    assert re.sub(r"cannot be read: .*?expected", "cannot be read: expected", one.text) == (
        "===== note/text_summary | b | step 0\na pear\n\n"
        "===== note/text_summary | b | step 10\nan apple\n\n"
        f"===== note/text_summary | b | step 20\n{damaged}\n\n"
    )
    lines = client.get("/api/text/file", params={"query": "tag_filter=table", "format": "jsonl"}).text.splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "run": "b",
            "tag": "x/table/text_summary",
            "step": 0,
            "wall_time": 104.0,
            "text": [["apple", "1"], ["pear", "2"]],
        }
    ]
    raw = client.get("/api/text/raw", params={"run": "a", "tag": "note/text_summary", "index": 1, "download": True})
    assert raw.headers["content-disposition"] == 'attachment; filename="a_note_text_summary_step10.txt"'
    assert raw.text == "two\napples"
