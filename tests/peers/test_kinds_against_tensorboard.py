"""Decodes what PyTorch and TensorFlow wrote, and compares with what TensorBoard serves of it."""

import html
import json
import re
import struct
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

from summary.kinds import decode, kind_of
from summary.proto.event_pb2 import Event

pytestmark = pytest.mark.peers

Points = dict[str, dict[str, list[tuple[float, int, Any]]]]
"""Run, tag, then (wall time, step, payload)."""


@pytest.fixture(scope="module", params=["torch", "tensorflow1", "tensorflow2"])
def case(request: pytest.FixtureRequest, peer: Callable[[str], Path]) -> tuple[dict[str, Points], dict[str, Any]]:
    """Our points by kind, and TensorBoard's dump."""
    name = request.param
    folder = peer(f"{name}/logdir" if name == "tensorflow1" else name)
    return _decoded(folder), json.loads(peer(f"{name}.tensorboard.json").read_bytes())


def _decoded(folder: Path) -> dict[str, Points]:
    points: dict[str, Points] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for path in sorted(folder.rglob("*tfevents*")):
        run = path.parent.relative_to(folder).as_posix()
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            for value in event.summary.value:
                kind = kind_of(value)
                if kind in ("scalars", "histograms", "images", "text"):
                    point = (event.wall_time, event.step, decode(kind, value))
                    points[kind][run][value.tag].append(point)
    return points


def _compare(ours: Points, theirs: dict[str, Any], matches: Callable[[Any, Any], None]) -> None:
    assert {run: set(tags) for run, tags in ours.items()} == {run: set(tags) for run, tags in theirs.items() if tags}
    for run, tags in ours.items():
        for tag, points in tags.items():
            assert len(points) == len(theirs[run][tag])
            for point, served in zip(points, theirs[run][tag], strict=True):
                matches(point, served)


def test_scalars(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def matches(point: tuple[float, int, float], served: list[Any]) -> None:
        assert point[:2] == tuple(served[:2])
        assert np.array_equal(point[2], float(served[2]), equal_nan=True)

    _compare(case[0]["scalars"], case[1]["scalars"], matches)


def test_histograms(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def matches(point: tuple[float, int, Any], served: list[Any]) -> None:
        assert point[:2] == tuple(served[:2])
        stored = np.array(served[2]).reshape(-1, 3)
        # TensorBoard rounds older histograms to float32; newer ones it serves as they are.
        ours = point[2].buckets
        rounded = ours.astype(np.float32).astype(np.float64)
        assert np.array_equal(ours, stored) or np.array_equal(rounded, stored)

    _compare(case[0]["histograms"], case[1]["histograms"], matches)


def test_images(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def matches(point: tuple[float, int, Any], served: dict[str, Any]) -> None:
        assert point[:2] == (served["wall_time"], served["step"])
        images = point[2]
        assert len(images.encoded) >= 1
        for png in images.encoded:
            assert png[:8] == b"\x89PNG\r\n\x1a\n"
            assert (images.width, images.height) == struct.unpack(">II", png[16:24])

    _compare(case[0]["images"], case[1]["images"], matches)


def test_text(case: tuple[dict[str, Points], dict[str, Any]]) -> None:
    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text)

    def matches(point: tuple[float, int, Any], served: dict[str, Any]) -> None:
        assert point[:2] == (served["wall_time"], served["step"])
        shown = html.unescape(re.sub(r"</?(table|tbody|tr|td|p|strong|h1)>", " ", served["text"]))
        assert words(" ".join(point[2].strings.reshape(-1).tolist())) == words(shown)

    _compare(case[0]["text"], case[1]["text"], matches)
