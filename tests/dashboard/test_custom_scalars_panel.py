from pathlib import Path
from typing import Any

import pytest

from stepscope.dashboard.curves.spec import ChartSpec, LineSpec
from stepscope.dashboard.page.state import View, decode
from stepscope.dashboard.panels.custom_scalars.charts import card_keys, cards, closed_categories, spec_of
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.custom_scalars import custom_scalars
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import source_of
from stepscope.summary.proto.custom_scalars_pb2 import (
    Category,
    Chart,
    Layout,
    MarginChartContent,
    MultilineChartContent,
)
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.media import client_of


def lines(title: str, *patterns: str) -> Chart:
    return Chart(title=title, multiline=MultilineChartContent(tag=patterns))


def margins(title: str, *tags: str) -> Chart:
    value, lower, upper = tags
    return Chart(
        title=title,
        margin=MarginChartContent(series=[{"value": value, "lower": lower, "upper": upper}]),
    )


def logs(folder: Path, layouts: dict[str, Layout], **tags: list[str]) -> Snapshot:
    """Runs with one point for each tag, and layouts by run."""
    for run in dict.fromkeys([*layouts, *tags]):
        with SummaryWriter(str(folder / run)) as writer:
            for tag in tags.get(run, []):
                writer.add_scalar(tag, 1.0, 0)
            if run in layouts:
                writer.add_summary(Summary(value=[custom_scalars(layouts[run])]))
    return Logdir(source_of(folder)).update()


def spec(snapshot: Snapshot, title: str, view: str = "") -> ChartSpec:
    key = next(card_key for _, card_key in card_keys(snapshot, View()) if title in card_key)
    return spec_of(key, snapshot, decode(view))


def test_expressions_match_from_the_beginning_in_all_shown_runs(tmp_path: Path) -> None:
    layout = Layout(category=[Category(title="c", chart=[lines("t", "loss", "acc.*x", "Loss")])])
    found = logs(tmp_path, {"a": layout}, a=["loss/train", "my/loss", "acc_x"], b=["loss/other"])
    expected = ("loss/train", "loss/other", "acc_x")
    assert spec(found, "t") == ChartSpec(tuple(map(LineSpec, expected)), ("no tag of the visible runs matches 'Loss'",))
    assert spec(found, "t", "hide=a").lines == (LineSpec("loss/other"),)


def test_a_margin_chart_has_its_bounds(tmp_path: Path) -> None:
    layout = Layout(category=[Category(title="c", chart=[margins("t", "mean", "low", "high")])])
    found = logs(tmp_path, {"a": layout}, a=["mean", "low"])
    assert spec(found, "t") == ChartSpec((LineSpec("mean", "left", "low", "high"),), ("no visible run has 'high'",))


@pytest.mark.parametrize(
    ("chart", "problem"),
    [
        (lines("t", "("), "'(' is not a regular expression: "),
        (lines("t", "(a+)+$"), ""),
        (Chart(title="t"), "The layout defines no tags or margins for this chart"),
    ],
)
def test_what_cannot_be_shown_is_said(tmp_path: Path, chart: Chart, problem: str) -> None:
    found = logs(tmp_path, {"a": Layout(category=[Category(title="c", chart=[chart])])}, a=["a" * 40 + "b"])
    made = spec(found, "t")
    assert made.lines == ()
    assert made.problems[0].startswith(problem)


def test_a_chart_that_is_gone_is_said(tmp_path: Path) -> None:
    assert spec_of('["c", "t"]', logs(tmp_path, {}, a=["x"]), View()).problems == (
        "This chart was removed from the layout",
    )


def test_the_log_directorys_own_layout_replaces_charts_of_the_same_title(tmp_path: Path) -> None:
    found = logs(
        tmp_path,
        {
            "a": Layout(category=[Category(title="c", chart=[lines("t", "old"), lines("u", "other")])]),
            ".": Layout(category=[Category(title="c", closed=True, chart=[lines("t", "new")])]),
        },
        a=["old", "new", "other"],
    )
    assert card_keys(found, View()) == [("c", '["c", "t"]'), ("c", '["c", "u"]')]
    assert spec(found, '"t"').lines == (LineSpec("new"),)
    assert closed_categories(found, View()) == {"c"}
    assert card_keys(found, View(tag_filter="u")) == [("c", '["c", "u"]')]


def test_charts_without_a_title_are_all_there() -> None:
    untitled: Any = [Chart(), Chart()]
    assert [card.title for card in cards(Layout(category=[Category(chart=untitled)]))] == [
        "(untitled) 1",
        "(untitled) 2",
    ]


def test_saving_writes_no_layout_twice_and_not_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.dashboard.panels.custom_scalars.routes.MOST_LAYOUTS", 3)
    client = client_of(tmp_path)

    def save(title: str) -> tuple[int, int]:
        status = client.post("/api/custom_scalars/layout", json={"category": [{"title": title}]}).status_code
        return status, len(list(tmp_path.iterdir()))

    assert [save("a"), save("a"), save("b")] == [(200, 1), (200, 1), (200, 2)]
    for path in tmp_path.iterdir():
        path.unlink()
    assert [save("b"), save("b"), save("c")] == [(200, 1), (200, 1), (429, 1)]


def test_a_layout_that_another_person_saved_is_not_replaced_unseen(tmp_path: Path) -> None:
    client, route = client_of(tmp_path), "/api/custom_scalars/layout"
    opened = [client.get(route).json()["version"] for _ in ("ann", "bob")]
    ann, bob = ({"category": [{"title": name}]} for name in ("ann", "bob"))
    saved = client.post(route, params={"version": opened[0]}, json=ann).json()
    refused = client.post(route, params={"version": opened[1]}, json=bob).json()
    assert (saved["saved"], refused["saved"], len(list(tmp_path.iterdir()))) == (True, False, 1)
    assert client.post(route, params={"version": refused["version"]}, json=bob).json()["saved"]
    assert len(list(tmp_path.iterdir())) == 2


def test_charts_that_runs_declare_are_said_to_stay(tmp_path: Path) -> None:
    declared = Layout(category=[Category(title="c", chart=[lines("t", "x"), lines("u", "x")])])
    logs(tmp_path, {"a": declared})
    chart = {"title": "u", "multiline": {"tag": ["y"]}}
    answer = client_of(tmp_path).post(
        "/api/custom_scalars/layout", json={"category": [{"title": "c", "chart": [chart]}]}
    )
    assert answer.json()["stays"] == ["t"]


@pytest.mark.parametrize("body", [b"", b"[]", b'{"a":' * 100_000, b'{"category": "\xff"}', b'{"category": 1}'])
def test_what_is_no_layout_is_refused(tmp_path: Path, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client_of(tmp_path).post("/api/custom_scalars/layout", content=body, headers=headers)
    assert (answer.status_code, answer.json()["detail"][:25]) == (400, "Expected a Layout as JSON")


def test_layouts_have_a_size(tmp_path: Path) -> None:
    answer = client_of(tmp_path).post("/api/custom_scalars/layout", json={"category": [{"title": "a" * (1 << 20)}]})
    assert (answer.status_code, answer.json()["detail"]) == (413, "A layout is at most 1,048,576 bytes long.")
