"""All sessions on pairs of axes, checked by counting one by one."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.page.state import decode
from stepscope.dashboard.panels.hparams import routes
from stepscope.dashboard.panels.hparams.density import Axis, density
from stepscope.dashboard.panels.hparams.sessions import read_sessions, text_of
from stepscope.dashboard.panels.hparams.settings import TableRequest
from stepscope.dashboard.panels.hparams.table import build_table
from stepscope.dashboard.server.binary import unpack
from tests.dashboard.hparams_logs import write_sessions
from tests.dashboard.media import client_of
from tests.dashboard.runs.tiny import snapshot

AXES = (
    Axis("lr", cuts=(-1.0, 0.5, 2.0)),
    Axis("lr", cuts=(0.5,), positive=True),
    Axis("name", labels=("b", "", "true")),
    Axis("loss", cuts=(0.0, 1.0)),
    Axis("gone", cuts=(1.0,)),
)
given_hparams = st.fixed_dictionaries(
    {},
    optional={
        "lr": st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-3, 3)),
        "name": st.one_of(st.sampled_from(["a", "b", ""]), st.booleans()),
    },
)


def bin_of(axis: Axis, value: Any) -> int:
    if value is None or axis.key == "gone":
        return axis.bins
    if axis.labels is not None:
        return axis.labels.index(text_of(value)) if text_of(value) in axis.labels else axis.bins
    if not isinstance(value, float) or not math.isfinite(value) or (axis.positive and value <= 0):
        return axis.bins
    return sum(cut <= value for cut in axis.cuts)


@given(
    st.lists(st.tuples(given_hparams, st.floats(width=32)), min_size=1, max_size=6),
    st.sampled_from(["", "hparams.range=lr:0:", "hparams.values=name:b", "hparams.range=loss:0:2"]),
)
def test_counts_are_those_of_looking_at_each(runs: list[tuple[Mapping[str, Any], float]], query: str) -> None:
    of = snapshot({f"r{at}": ({"at": at, **own}, {"loss": [loss]}) for at, (own, loss) in enumerate(runs)})
    requested = TableRequest.of(decode(f"{query}&hparams.rows=sessions"))
    sessions = read_sessions(of)
    pairs = [(0, 2), (2, 3), (1, 1), (3, 4)]
    found = density(sessions, requested, AXES, pairs)
    rows = build_table(sessions, requested, len(runs)).rows
    assert found.sessions == len(rows)
    values = {axis.key: [row.metrics.get(axis.key, (row.hparams.get(axis.key),))[0] for row in rows] for axis in AXES}
    for (first, second), counts in zip(pairs, found.counts, strict=True):
        one, other = AXES[first], AXES[second]
        expected = np.zeros((one.bins + 1, other.bins + 1), np.uint32)
        for a, b in zip(values[one.key], values[other.key], strict=True):
            expected[bin_of(one, a), bin_of(other, b)] += 1
        assert counts.tolist() == expected.tolist()


def test_the_ends_are_those_of_what_has_a_place() -> None:
    of = snapshot({f"r{at}": ({"lr": lr}, {}) for at, lr in enumerate((-1.0, 0.5, 4.0, math.inf, math.nan))})
    found = density(read_sessions(of), TableRequest(), [Axis("lr")], [])
    assert found.ends == {"lr": (-1.0, 4.0)}
    above = density(read_sessions(of), TableRequest(), [Axis("lr", positive=True), Axis("gone")], [(0, 1)])
    assert above.ends == {"lr": (0.5, 4.0)}
    assert [counts.tolist() for counts in above.counts] == [[[0, 2], [0, 3]]]


def ask(path: Path, **body: Any) -> Any:
    client = client_of(write_sessions(path))
    return client.post("/api/hparams/density", json={"view": "", "axes": [], "pairs": [], **body})


def test_the_page_gets_counts_of_the_sessions_that_pass_and_that_the_search_finds(tmp_path: Path) -> None:
    axes = [{"key": "lr", "cuts": [0.02]}, {"key": "opt", "labels": ["adam", "sgd"]}]
    answer = ask(tmp_path, view="hparams.search=adam", axes=axes, pairs=[[0, 1]])
    header, (counts,) = unpack(answer.content)
    assert (header, counts.tolist()) == ({"sessions": 3, "ends": {"lr": [0.01, 0.05]}}, [2, 0, 0, 0, 0, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ({"axes": [{"key": "lr", "cuts": [2, 1]}]}, 422, "Expected the cuts of each axis in ascending order."),
        ({"axes": [{"key": "lr"}], "pairs": [[0, 1]]}, 422, "Expected pairs of indices of 1 axes."),
        ({"axes": [{"key": "lr"}], "pairs": [[-1, 0]]}, 422, "Expected pairs of indices of 1 axes."),
        ({"axes": [{"key": "lr", "cuts": [*range(513)]}]}, 422, "The request is not understood: "),
        ({"axes": [{"key": "lr", "cuts": [1, 2]}], "pairs": [[0, 0]]}, 413, "Expected at most 10 pairs of bins."),
    ],
    ids=str,
)
def test_what_cannot_be_counted_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any], status: int, why: str
) -> None:
    monkeypatch.setattr(routes, "MOST_COUNTS", 10)
    answer = ask(tmp_path, **json.loads(json.dumps(body)))
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(why)
