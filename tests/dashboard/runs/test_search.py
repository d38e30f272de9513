from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.runs.search import match, search
from stepscope.summary import SummaryWriter
from stepscope.summary.series import Series
from stepscope.summary.stored_series import StoredSeries
from tests.dashboard.media import client_of
from tests.dashboard.runs.tiny import snapshot


@pytest.mark.parametrize(
    ("wanted", "name", "places"),
    [
        ("loss", "train/loss", (6, 7, 8, 9)),
        ("tl", "train/loss", (0, 6)),
        ("T LOSS", "train/loss", (0, 6, 7, 8, 9)),
        ("", "x", ()),
        ("x", "loss", None),
        ("ssol", "loss", None),
    ],
)
def test_letters_are_found_in_order(wanted: str, name: str, places: tuple[int, ...] | None) -> None:
    found = match(wanted, name)
    assert (found and found[1]) == places


@given(st.text(max_size=12), st.text(max_size=12))
def test_places_are_those_of_the_letters(wanted: str, name: str) -> None:
    found = match(wanted, name)
    if found is not None and len(name.lower()) == len(name):
        assert "".join(name[place] for place in found[1]).lower() == "".join(wanted.lower().split())


def test_best_hits_come_first_and_are_few() -> None:
    shot = snapshot(
        {
            "lossless": ({"lr": 1}, {"train/loss": [1.0], "glossary": [1.0], "l/o/s/s": [1.0]}),
            "other": ({}, {"train/loss": [1.0], "x": [1.0]}),
        }
    )
    found = search(shot, "loss")
    assert [(hit.kind, hit.name, hit.data) for hit in found] == [
        ("run", "lossless", ""),
        ("tag", "train/loss", "scalars"),
        ("tag", "glossary", "scalars"),
        ("tag", "l/o/s/s", "scalars"),
    ]
    assert search(shot, "loss", 1) == found[:1]
    assert [hit.name for hit in search(shot, " ")] == ["lossless", "other", "train/loss", "glossary", "l/o/s/s", "x"]


def test_routes_answer_with_hits_and_with_what_runs_are_described_by(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "a/b")) as writer:
        writer.add_scalar("train/loss", 1.0, 0)
        writer.add_text("note", "x", 0)
    client = client_of(tmp_path)
    assert client.get("/api/search", params={"q": "trlo"}).json() == [
        {"kind": "tag", "name": "train/loss", "data": "scalars", "places": [0, 1, 6, 7]}
    ]
    assert client.get("/api/search", params={"q": "x" * 201}).status_code == 422
    assert client.get("/api/search", params={"limit": 0}).status_code == 422
    fields = client.get("/api/runs/fields").json()
    assert [example["text"] for example in fields.pop("examples")] == [
        "b", "train/loss.last <= 1", 'name ~ "b"', "step >= 0",
    ]  # fmt: skip
    assert fields == {
        "built_in": ["name", "group", "step"],
        "hparams": [],
        "metrics": [{"tag": "train/loss", "spec": "metric:train/loss.last"}],
        "statistics": ["last", "min", "max"],
        "depth": 2,
    }


def test_what_runs_are_described_by_is_told_without_a_series_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in "abc":
        with SummaryWriter(str(tmp_path / run)) as writer:
            writer.add_scalar("loss", 1.0, 4)
            writer.add_text("note", "x", 0)
    made: list[str] = []
    make = StoredSeries._make

    def counted(series: StoredSeries, tag: str) -> Series:
        made.append(tag)
        return make(series, tag)

    monkeypatch.setattr(StoredSeries, "_make", counted)
    client = client_of(tmp_path)
    fields = client.get("/api/runs/fields").json()
    assert (fields["metrics"], fields["examples"][-1]) == (
        [{"tag": "loss", "spec": "metric:loss.last"}],
        {"text": "step >= 4", "meaning": "the furthest step"},
    )
    hits = client.get("/api/search", params={"q": "note"}).json()
    assert [(hit["name"], hit["data"]) for hit in hits] == [("note/text_summary", "text")]
    assert made == []
