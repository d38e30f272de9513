"""How elements of values are spread, from whatever was kept of the values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.dashboard.debugger.spread import evenly
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.debug import histogram_tag, value_tag
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from tests.dashboard.debugger.recorded import going_bad, write
from tests.dashboard.routes import client_with_companions
from tests.summary.debugger.dumps import write_dump


@pytest.mark.parametrize(
    ("buckets", "edges", "counts"),
    [
        ([[0, 1, 4], [1, 3, 4]], [0, 0.75, 1.5, 2.25, 3], [3, 2, 1.5, 1.5]),
        ([[-1e300, 0, 0], [0, 2, 4], [2, 1e300, 0]], [0, 0.5, 1, 1.5, 2], [1, 1, 1, 1]),
        ([[0, 1, 2], [3, 4, 2]], [0, 1, 2, 3, 4], [2, 0, 0, 2]),
        ([[-1.6e308, 1.6e308, 8]], [-1.6e308, -0.8e308, 0, 0.8e308, 1.6e308], [2, 2, 2, 2]),
        ([[5, 5, 7]], [5, 5], [7]),
        ([[0, 1, 0]], [], []),
    ],
)
def test_buckets_are_counted_in_even_bins(buckets: Any, edges: list[float], counts: list[float]) -> None:
    found = evenly(np.array(buckets, np.float64), 4)
    np.testing.assert_allclose(found[0], edges)
    np.testing.assert_allclose(found[1], counts)


def test_histograms_and_values_that_were_recorded_are_those_of_the_step_or_before_it(tmp_path: Path) -> None:
    write(tmp_path / "bad", going_bad())
    with SummaryWriter(str(tmp_path / "bad")) as writer:
        for step in (0, 40):
            values = np.array([step, step + 1, step + 2, np.nan, np.inf])
            writer.add_histogram(histogram_tag("forward", "log"), values, step)
            writer.add_tensor(value_tag("forward", "head"), values, step)
    write_dump(tmp_path / "full", tfdbg.FULL_TENSOR)
    write_dump(tmp_path / "health", tfdbg.FULL_HEALTH)
    client = client_with_companions(tmp_path)

    def ask(source: str, tensor: int, **step: int) -> Any:
        answer = client.get("/api/debugger/spread", params={"id": source, "tensor": tensor, **step})
        assert answer.status_code == 200, answer.text
        return answer.json()

    for tensor in (1, 2):
        found = [ask("bad|recording", tensor, **step) for step in ({"step": 39}, {"step": 110}, {"step": -5}, {})]
        assert [each["step"] for each in found] == [0, 40, 0, 40]
        assert [(each["nan"], each["infinite"], each["missing"]) for each in found] == [(1, 1, "")] * 4
        assert [round(sum(each["counts"]), 6) for each in found] == [3] * 4
        assert (len(found[1]["edges"]), len(found[1]["counts"])) == (41, 40)
    assert found[1]["edges"][0] == 40
    found = ask("bad|recording", 0)
    assert (found["counts"], 'tensors="histogram"' in found["missing"]) == ([], True)
    last = ask("full|tfdbg", 1)
    assert (last["step"], sum(last["counts"]), last["nan"], last["infinite"]) == (1, 1, 1, 1)
    assert sum(ask("full|tfdbg", 1, step=0)["counts"]) == 3
    assert 'tensor_debug_mode="FULL_TENSOR"' in ask("health|tfdbg", 1)["missing"]
    assert client.get("/api/debugger/spread", params={"id": "full|tfdbg", "tensor": 9}).status_code == 404
