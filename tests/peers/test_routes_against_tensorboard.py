"""The read routes of images, histograms, distributions, text and scalars, whole, beside TensorBoard's own answers."""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.dashboard.media import client_of

pytestmark = pytest.mark.peers

Peer = Callable[[str], Path]
LOGDIRS = {"torch": "torch", "tensorflow2": "tensorflow2", "tensorflow1": "tensorflow1/logdir"}
KINDS = ["scalars", "images", "histograms", "distributions", "text"]


@cache
def answers(dump: Path) -> Any:
    return json.loads(dump.read_text())


@pytest.fixture(params=LOGDIRS)
def pair(request: pytest.FixtureRequest, peer: Peer) -> tuple[TestClient, Any]:
    """A server over a log directory, and what TensorBoard says about it."""
    dump = answers(peer(f"{request.param}.tensorboard.json"))
    return client_of(peer(LOGDIRS[request.param])), dump


def difference(path: str, ours: Any, theirs: Any) -> str:
    """The first place where two answers differ; empty where they are equal. Floats may differ by float32 rounding."""
    if isinstance(theirs, float | int) and isinstance(ours, float | int):
        return "" if math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-7) else f"{path}: {ours} for {theirs}"
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next((found for i, (a, b) in pairs if (found := difference(f"{path}[{i}]", a, b))), "")
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        # The query that fetches a picture is each server's own.
        keys = [key for key in theirs if key != "query"]
        return next((found for key in keys if (found := difference(f"{path}.{key}", ours[key], theirs[key]))), "")
    return "" if ours == theirs else f"{path}: {ours!r} for {theirs!r}"


def named(tags: Any) -> Any:
    """Tags as TensorBoard's page shows them: the tag where there is no display name."""
    if isinstance(tags, list):
        return sorted(tags)
    return {tag: {**about, "displayName": about["displayName"] or tag} for tag, about in tags.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_tags(pair: tuple[TestClient, Any], kind: str) -> None:
    client, dump = pair
    ours = client.get(f"/data/plugin/{kind}/tags").json()
    theirs = {run: tags for run, tags in dump[f"{kind}/tags"].items() if tags}
    assert {run: named(tags) for run, tags in ours.items()} == {run: named(tags) for run, tags in theirs.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_point_of_every_tag(pair: tuple[TestClient, Any], kind: str) -> None:
    client, dump = pair
    for run, tags in dump.get(kind, {}).items():
        for tag, theirs in tags.items():
            ours = client.get(f"/data/plugin/{kind}/{kind}", params={"run": run, "tag": tag}).json()
            assert difference(f"{run} {tag}", ours, theirs) == ""


def test_every_picture_is_the_one_in_the_file(pair: tuple[TestClient, Any], request: pytest.FixtureRequest) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    client, dump = pair
    logdir = request.getfixturevalue("peer")(LOGDIRS[request.node.callspec.params["pair"]])
    for run, tags in dump["images"].items():
        accumulator = loader.EventAccumulator(str(logdir / run), {"images": 0, "tensors": 0})
        accumulator.Reload()
        for tag in tags:
            if tag in accumulator.Tags()["images"]:
                theirs = [event.encoded_image_string for event in accumulator.Images(tag)]
            else:
                theirs = [event.tensor_proto.string_val[2] for event in accumulator.Tensors(tag)]
            rows = client.get("/data/plugin/images/images", params={"run": run, "tag": tag}).json()
            ours = [client.get(f"/data/plugin/images/individualImage?{row['query']}").content for row in rows]
            assert ours == theirs
