"""Hostile traces: the answers of the Timeline's routes are bounded, and tell what is left out."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.panels.timeline.details import MAX_ARGUMENT_CHARACTERS, shown_arguments
from stepscope.dashboard.panels.timeline.lanes import MOST_COUNTERS, MOST_DEPTHS, MOST_LANES, shown_lanes
from stepscope.dashboard.panels.timeline.payloads import MAX_NAMES, MAX_SLICES
from stepscope.profiler.traces import read_trace
from tests.dashboard.test_timeline_api import ID, client_of, companion, decoded, snapshot_of


def slice_(name: str, ts: int = 0, dur: int = 1, tid: int = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, **more}


def client_with(folder: Path, *events: dict[str, Any]) -> TestClient:
    path = folder / "a.trace.json"
    path.write_text(json.dumps(events))
    return client_of(snapshot_of(companion("r", path)))


def get(client: TestClient, route: str, **query: Any) -> Any:
    answer = client.get(f"/api/timeline/{route}", params={"id": ID, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_of_very_many_lanes_some_are_listed_and_a_filter_finds_the_others(tmp_path: Path) -> None:
    lanes = MOST_LANES + 100
    # The last threads are the busiest; the device's thread has next to nothing.
    threads = [slice_("a", 0, 1 + tid, tid=tid) for tid in range(lanes)]
    client = client_with(tmp_path, *threads, slice_("k", 0, 1, tid=lanes, cat="kernel"))
    answer = get(client, "trace")
    shown = [lane["lane"] for lane in answer["lanes"]]
    assert (answer["lanes_total"], shown) == (lanes + 1, [*range(101, lanes), lanes])
    assert len(answer["lane_labels"]) == MOST_LANES
    assert sorted(lane for group in answer["groups"] for lane in group["lanes"]) == shown
    assert answer["notes"] == [
        "showing 2,000 of 2,101 lanes: device lanes, then the busiest; filter lanes by name to see others"
    ]
    window = client.get("/api/timeline/window", params={"id": ID, "start": 0, "end": 10_000_000, "width": 100})
    assert decoded(window.content)["n"] == MOST_LANES
    found = get(client, "lanes", q=r"thread 4[0-9]\b")
    assert [lane["tid"] for lane in found["lanes"]] == list(range(40, 50))
    assert found["lane_labels"][0] == "thread 40"
    assert [lane["lane"] for lane in get(client, "lanes", q="thread 7 ", lane=3)["lanes"]] == [3, 7]
    wrong = client.get("/api/timeline/lanes", params={"id": ID, "q": "("})
    assert (wrong.status_code, "Invalid lane filter" in wrong.json()["detail"]) == (422, True)
    assert client.get("/api/timeline/lanes", params={"id": ID, "lane": lanes + 1}).status_code == 404


def test_an_ordinary_trace_lists_all_its_lanes_whatever_the_filter(tmp_path: Path) -> None:
    client = client_with(tmp_path, slice_("a", tid=5), slice_("b", tid=6))
    assert [lane["tid"] for lane in get(client, "lanes", q="nothing")["lanes"]] == [5, 6]


def test_the_busiest_lanes_are_chosen() -> None:
    events = [slice_("a", 0, dur, tid=tid) for tid, dur in ((1, 5), (2, 9), (3, 7), (4, 1))]
    trace = read_trace(json.dumps(events).encode(), name="tiny")
    assert shown_lanes(trace, most=2) == [1, 2]
    assert shown_lanes(trace, "thread (1|4)", most=2) == [0, 3]
    assert shown_lanes(trace, "thread 1", with_lane=2, most=2) == [0, 2]


def test_rows_of_a_lane_are_drawn_up_to_a_limit(tmp_path: Path) -> None:
    rows = MOST_DEPTHS + 5
    client = client_with(tmp_path, *[slice_("a", ts, 10_000) for ts in range(rows)])
    answer = get(client, "trace")
    assert (answer["lanes"][0]["depths"], answer["slices"]) == (MOST_DEPTHS, rows)
    assert answer["notes"] == [
        "process 1, thread 1 has 1,005 rows of slices that overlap: the first 1,000 are drawn; "
        "search and tables have all"
    ]
    window = client.get("/api/timeline/window", params={"id": ID, "start": 0, "end": 10_000_000, "width": 2})
    found = decoded(window.content)
    assert (found["n"], found["rows_left_out"]) == (MOST_DEPTHS, 5)
    # Undrawn slices are still found, shown and counted.
    assert get(client, "search", q="a")["count"] == rows
    assert get(client, "slice", index=rows - 1)["depth"] == rows - 1
    assert get(client, "area", start=0, end=20_000_000)["slices"] == rows


def test_a_window_is_as_large_as_the_screen_at_most(tmp_path: Path) -> None:
    # Fifteen lanes of a thousand rows have more rows than slices are sent.
    lanes = MAX_SLICES // MOST_DEPTHS + 1
    events = [slice_("a", ts, 10_000, tid=tid) for tid in range(lanes) for ts in range(MOST_DEPTHS)]
    client = client_with(tmp_path, *events)
    for width in (1, 2_000):
        answer = client.get("/api/timeline/window", params={"id": ID, "start": 0, "end": 10**7, "width": width})
        found = decoded(answer.content)
        assert (found["n"], found["rows_left_out"]) == (MAX_SLICES, lanes * MOST_DEPTHS - MAX_SLICES)


def test_names_that_a_search_tells_and_counters_have_a_limit(tmp_path: Path) -> None:
    slices = [slice_(f"n{number}", number) for number in range(MAX_NAMES + 5)]
    counters = [
        {"ph": "C", "name": f"c{number}", "pid": 1, "ts": 1, "args": {"v": 1}} for number in range(MOST_COUNTERS + 5)
    ]
    client = client_with(tmp_path, *slices, *counters)
    found = get(client, "search", q="n")
    assert (found["count"], len(found["names"])) == (MAX_NAMES + 5, MAX_NAMES)
    answer = get(client, "trace")
    assert len(answer["counters"]) == len(answer["counter_labels"]) == MOST_COUNTERS
    assert answer["notes"] == ["of 2,005 counters the first 2,000 are shown"]
    assert len(get(client, "area", start=0, end=10**9)["counters"]) == MOST_COUNTERS
    assert len(get(client, "counters", start=0, end=10**9, width=10)) == MOST_COUNTERS


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"a": "text", "b": [1, {"c": None}]}, {"a": "text", "b": [1, {"c": None}]}),
        ({"a": "x" * 100}, {"a": "x" * 39 + "… (100 characters)"}),
        ({"a": list(range(100))}, {"a": [0, 1, 2, 3, 4, "… (100 in all)"]}),
        ({str(i): i for i in range(9)}, {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "…": "9 in all"}),
    ],
)
def test_arguments_are_shown_up_to_a_limit(arguments: dict[str, Any], shown: dict[str, Any]) -> None:
    assert shown_arguments(arguments, most=40) == shown


def test_a_slice_with_a_megabyte_of_arguments_is_answered_in_short(tmp_path: Path) -> None:
    client = client_with(tmp_path, slice_("a", args={"text": "b" * 900_000, "deep": json.loads("[" * 99 + "]" * 99)}))
    arguments = get(client, "slice", index=0)["arguments"]
    assert arguments["text"].endswith("… (900,000 characters)")
    assert len(json.dumps(arguments)) < MAX_ARGUMENT_CHARACTERS + 1_000
