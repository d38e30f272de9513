"""What the cards of the images panel are made of."""

from io import BytesIO
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import numpy as np
import pytest

from stepscope.dashboard.export.media_files import MediaFile, zip_stream
from stepscope.dashboard.page.state import decode
from stepscope.dashboard.panels.cards import Draw
from stepscope.dashboard.panels.groups import OfTag, Place
from stepscope.dashboard.panels.images.messages import CardData
from stepscope.dashboard.panels.images.panel import depends, draw, keys
from stepscope.dashboard.server.arrays import TypedArray, typed
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import open_logdir
from stepscope.summary.snapshot import Snapshot


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """Runs a and b with tags x and y/z at steps 0 and 5; b has one more step of x."""
    for number, run in enumerate("ab"):
        with SummaryWriter(str(tmp_path / run)) as writer:
            for step in (0, 5):
                for tag in ("x", "y/z"):
                    writer.add_image(tag, np.zeros((1, 2, 2), np.uint8), step, walltime=100.0 + number)
            if run == "b":
                writer.add_image("x", np.zeros((1, 2, 2), np.uint8), 9, walltime=109.0)
    return open_logdir(tmp_path)


def on(snapshot: Snapshot, query: str) -> Draw:
    return Draw(snapshot, decode(query), "light", {})


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", [(OfTag("x"), "tag:x"), (OfTag("y/z"), "tag:y/z")]),
        ("images.group=step", [(OfTag("x"), "tag:x"), (OfTag("y/z"), "tag:y/z")]),
        ("images.group=run", [("Runs", "run:a"), ("Runs", "run:b")]),
        ("images.group=run&tag_filter=nothing", []),
    ],
)
def test_a_card_is_a_tag_or_a_run(snapshot: Snapshot, query: str, wanted: list[tuple[Place, str]]) -> None:
    assert keys(snapshot, decode(query)) == wanted


def shown(drawn: CardData) -> list[tuple[str, str, TypedArray]]:
    return [(entry["run"], entry["tag"], drawn["steps"][entry["steps"]]) for entry in drawn["series"]]


def test_a_card_sends_equal_steps_once(snapshot: Snapshot) -> None:
    two, three = typed(np.array([0, 5])), typed(np.array([0, 5, 9]))
    by_tag = draw("tag:y/z", on(snapshot, ""))
    assert shown(by_tag) == [("a", "y/z", two), ("b", "y/z", two)]
    assert by_tag["steps"] == [two]
    assert shown(draw("tag:x", on(snapshot, ""))) == [("a", "x", two), ("b", "x", three)]
    assert shown(draw("run:b", on(snapshot, "images.group=run"))) == [("b", "x", three), ("b", "y/z", two)]
    assert shown(draw("run:b", on(snapshot, "images.group=run&tag_filter=y"))) == [("b", "y/z", two)]


def test_a_card_is_drawn_again_where_its_group_or_runs_change(snapshot: Snapshot) -> None:
    prints = [depends("tag:x", on(snapshot, query)) for query in ("", "images.group=step", "hide=a", "images.width=64")]
    assert prints[0] == prints[3]
    assert prints[0] != prints[1]
    assert prints[0] != prints[2]


def test_a_zip_stream_is_bounded_and_names_are_apart() -> None:
    path = PurePosixPath("a/1.png")
    files = [MediaFile(path, b"one"), MediaFile(path, b"two"), MediaFile(PurePosixPath("big.png"), bytes(9))]
    pieces = list(zip_stream(iter(files), most_bytes=10))
    with ZipFile(BytesIO(b"".join(pieces))) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {
        "a/1.png": b"one",
        "a/1_again1.png": b"two",
        "left_out.txt": b"big.png\tbeyond 10 bytes in one ZIP file\n",
    }
    assert len(pieces) > 2
