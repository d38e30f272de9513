"""The answers of the Debugger's routes for a recording in a log directory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

from stepscope import debug
from stepscope.dashboard.server.binary import unpack
from stepscope.summary import SummaryWriter
from stepscope.summary.debugger.model import Frame, SourceFile
from stepscope.summary.debugger.tfdbg_writer import TfdbgWriter
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from tests.dashboard.debugger.recorded import going_bad, many, write
from tests.dashboard.routes import client_with_companions
from tests.summary.debugger.dumps import MODES, debug_of, write_calls, write_dump, write_eager

BAD = "bad|recording"
NAN = np.array(np.nan, np.float32)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    logs = tmp_path_factory.mktemp("logs")
    write(logs / "bad", going_bad())
    write(logs / "good", going_bad(bad_from=100))
    write(logs / "many", many(30, 40))
    with SummaryWriter(str(logs / "scalars")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    return client_with_companions(logs)


def ask(client: TestClient, route: str, **parameters: Any) -> Any:
    answer = client.get(f"/api/debugger/{route}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def packed(client: TestClient, route: str, **parameters: Any) -> tuple[dict[str, Any], Any]:
    answer = client.get(f"/api/debugger/{route}", params=parameters)
    assert answer.status_code == 200, answer.text
    return unpack(answer.content)


def test_runs_with_a_recording_are_listed(client: TestClient) -> None:
    found = ask(client, "recordings")["recordings"]
    assert [(each["id"], each["run"], each["kind"]) for each in found] == [
        (f"{run}|recording", run, "recording") for run in ("bad", "good", "many")
    ]


def test_a_recording_in_short(client: TestClient) -> None:
    found = ask(client, "overview", id=BAD)
    assert {
        name: found[name] for name in ("problem", "source", "tensors", "observations", "bad", "steps", "files")
    } == {
        "problem": "",
        "source": "stepscope.debug, a test",
        "tensors": 5,
        "observations": 60,
        "bad": 12,
        "steps": 12,
        "files": 1,
    }
    assert (found["first_step"], found["last_step"]) == (0, 110)
    assert found["phases"] == ["forward", "backward", "parameter"]
    assert found["operations"][0] == {"name": "aten.linear", "tensors": 2}
    assert found["modules"] == ["net", "net.head", "net.layer"]
    assert found["figure"] == "l2"
    assert "underflow" not in found["figures"]


def test_one_that_is_gone_says_so(client: TestClient) -> None:
    assert "no recording 'gone'" in ask(client, "overview", id="gone")["problem"]
    answer = client.get("/api/debugger/alerts", params={"id": "gone"})
    assert (answer.status_code, "no recording 'gone'" in answer.json()["detail"]) == (404, True)


def test_the_verdict_names_step_operation_and_line(client: TestClient) -> None:
    found = ask(client, "alerts", id=BAD)
    verdict = found["verdict"]
    assert verdict["sentence"].startswith("Step 80: log (float32) is the first with 8 NaN of 32 elements")
    assert (verdict["good"], verdict["observation"], verdict["step"]) == (False, 41, 80)
    assert verdict["tensor"]["op"] == "aten.log"
    assert (verdict["line"]["path"], verdict["line"]["line"]) == ("model.py", 5)
    assert verdict["line"]["code"] == "x = torch.log(x)"
    bad = [alert for alert in found["alerts"] if alert["rule"] == "not_finite"]
    assert [(alert["tensor"]["name"], alert["step"], alert["observation"]) for alert in bad[:3]] == [
        ("log", 80, 41),
        ("head", 80, 42),
        ("layer.weight", 80, 43),
    ]
    assert {"rule": "not_finite", "title": "Not finite", "alerts": 3} in found["rules"]


def test_a_recording_without_trouble_says_so(client: TestClient) -> None:
    verdict = ask(client, "alerts", id="good|recording")["verdict"]
    assert verdict["good"]
    assert verdict["sentence"].startswith("Everything is finite: none of the 60 values")


def test_the_map_has_a_line_for_each_tensor(client: TestClient) -> None:
    header, arrays = packed(client, "map", id=BAD, first=60, last=90)
    assert [(row["name"], row["phase"]) for row in header["names"]][:2] == [("layer", "forward"), ("log", "forward")]
    assert (header["lines"], header["columns"], header["total"], header["all_steps"]) == (5, 4, 5, 12)
    assert arrays[header["steps"]].tolist() == [60, 70, 80, 90, 100]
    worst = arrays[header["worst"]].reshape(5, 4)
    np.testing.assert_allclose(worst[1], [128, 256, 512, 1024])
    assert arrays[header["bad"]].reshape(5, 4).tolist() == [[0] * 4, *[[0, 0, 3, 3]] * 3, [0] * 4]
    assert header["first_bad"] == {"row": 1, "tensor": 1, "observation": 41, "step": 80}
    assert (header["least"], header["high"]) == (1, 5 * 2.0**11)


def test_the_map_is_searched_sorted_and_made_small(client: TestClient) -> None:
    header, _ = packed(client, "map", id=BAD, q="weight", phase="backward")
    assert [row["number"] for row in header["names"]] == [3]
    header, _ = packed(client, "map", id=BAD, order="name")
    assert [row["name"] for row in header["names"]] == ["head", "layer", "layer.weight", "layer.weight", "log"]
    header, _ = packed(client, "map", id=BAD, order="module")
    assert [row["number"] for row in header["names"]] == [0, 3, 4, 1, 2]
    header, _ = packed(client, "map", id=BAD, order="worst")
    assert [row["number"] for row in header["names"]] == [1, 2, 3, 4, 0]
    header, arrays = packed(client, "map", id="many|recording", lines=3, columns=2, row_begin=6)
    assert (header["lines"], header["columns"], header["begin"], header["end"]) == (3, 2, 6, 30)
    assert arrays[header["rows"]].tolist() == [6, 14, 22]
    assert [row["name"] for row in header["names"]] == ["layer.6", "layer.14", "layer.22"]
    assert arrays[header["edges"]].tolist() == [0, 20, 40]
    header, _ = packed(client, "map", id="many|recording", begin=3, end=5)
    assert (header["step_begin"], header["step_end"], header["columns"]) == (3, 5, 2)
    np.testing.assert_allclose(arrays[header["worst"]], [14.9, 16.9, 22.9, 24.9, 30.9, 32.9], rtol=1e-6)
    header, _ = packed(client, "map", id=BAD, q="nothing has this")
    assert (header["total"], header["lines"], header["first_bad"]) == (0, 0, None)


def test_a_row_has_a_curve(client: TestClient) -> None:
    header, arrays = packed(client, "curve", id=BAD, tensor=1)
    assert arrays[header["steps"]].tolist() == list(range(0, 120, 10))
    np.testing.assert_allclose(arrays[header["mean"]], 2.0 ** np.arange(1, 13))
    assert arrays[header["bad"]].tolist() == [0] * 8 + [3] * 4
    assert (header["exact"], header["first_bad"], header["latest"], header["not_finite"]) == (True, 41, 56, 4)


def test_executions_come_in_pages(client: TestClient) -> None:
    found = ask(client, "observations", id=BAD, bad=True, offset=2, limit=2)
    assert found["total"] == 12
    assert [(row["number"], row["name"], row["phase"], row["health"]) for row in found["rows"]] == [
        (43, "layer.weight", "backward", "nan"),
        (46, "log", "forward", "nan"),
    ]
    found = ask(client, "observations", id=BAD, module="net.layer", op="aten.linear", limit=1)
    assert (found["total"], found["rows"][0]["shape"], found["rows"][0]["l2"]) == (12, "[4, 8]", 1)
    assert ask(client, "place", id=BAD, bad=True, number=46) == {"place": 3, "total": 12}


def test_an_observation_leads_to_what_it_was_given_and_its_line(client: TestClient) -> None:
    found = ask(client, "observation", id=BAD, number=42)
    assert (found["tensor"]["name"], found["step"], found["health"], found["bad_input"]) == ("head", 80, "nan", 41)
    assert [(each["tensor"]["name"], each["observation"], each["health"]) for each in found["inputs"]] == [
        ("log", 41, "nan")
    ]
    first = ask(client, "observation", id=BAD, number=found["bad_input"])
    assert (first["bad_input"], first["inputs"][0]["health"]) == (None, "good")
    assert first["verdict"] == "This operation produced the non-finite values: all its inputs are finite."
    assert [(each["tensor"]["number"], each["observation"]) for each in first["consumers"]] == [(2, 42), (3, 43)]
    assert (first["previous"], first["following"]) == (36, 46)
    assert first["excerpt"]["lines"][first["excerpt"]["line"] - first["excerpt"]["first"]] == "    x = torch.log(x)"
    assert [(line["path"].rpartition("/")[2], line["line"], line["library"]) for line in first["stack"]] == [
        ("train.py", 9, False),
        ("model.py", 5, False),
        ("functional.py", 33, True),
    ]
    assert not first["has_value"]


def test_lines_of_code_are_marked(client: TestClient) -> None:
    assert ask(client, "sources", id=BAD)["files"] == [
        {"index": 0, "path": "model.py", "host": "", "lines": 6, "marked": 3, "bad": 4, "library": False}
    ]
    found = ask(client, "source", id=BAD, index=0)
    assert found["lines"][4] == "    x = torch.log(x)"
    assert found["marks"][1] == {
        "line": 5,
        "tensors": 1,
        "observed": 12,
        "bad": 4,
        "first_bad": 41,
        "first_tensor": 1,
        "names": ["log"],
    }


def test_two_recordings_are_compared(client: TestClient) -> None:
    found = ask(client, "compare", id=BAD, other="good|recording")
    assert found["sentence"] == "Step 80: log is the first that differs: NaN 8 against 0, by 100.00%."
    assert [row["tensor"]["name"] for row in found["differences"]] == ["log", "head", "layer.weight"]
    assert ask(client, "compare", id=BAD, other=BAD)["sentence"].startswith("No difference above 0.001 in 60 pairs")
    assert ask(client, "compare", id=BAD, other="many|recording")["sentence"].startswith("Nothing can be compared")


@pytest.mark.parametrize(
    ("route", "parameters", "status", "words"),
    [
        ("map", {"figure": "beauty"}, 422, "no figure 'beauty'"),
        ("map", {"lines": 100_000}, 422, "Parameter 'lines'"),
        ("curve", {"tensor": 99}, 404, "5 tensors"),
        ("observations", {"limit": 10_000_000}, 422, "Parameter 'limit'"),
        ("place", {"number": 999}, 404, "60 observations"),
        ("observation", {"number": 60}, 404, "expected a number from 0 to 59, got 60"),
        ("value", {"number": 1}, 404, "was not recorded"),
        ("value", {"number": 1, "at": "x"}, 422, "Parameter 'at'"),
        ("value.npy", {"number": 1}, 404, "was not recorded"),
        ("source", {"index": 7}, 404, "has 1 file; expected a number from 0 to 0, got 7"),
        ("compare", {"other": "gone"}, 404, "no recording 'gone'"),
    ],
)
def test_what_cannot_be_answered_is_said(
    client: TestClient, route: str, parameters: dict[str, Any], status: int, words: str
) -> None:
    answer = client.get(f"/api/debugger/{route}", params={"id": BAD, **parameters})
    assert answer.status_code == status
    assert words in answer.json()["detail"]


@pytest.mark.parametrize("mode", MODES)
def test_dumps_of_tensorflow_are_shown_in_the_same_form(tmp_path: Path, mode: tfdbg.TensorDebugMode) -> None:
    write_dump(tmp_path / "dump", mode)
    client = client_with_companions(tmp_path)
    (listed,) = ask(client, "recordings")["recordings"]
    assert (listed["id"], listed["kind"], listed["label"]) == ("dump|tfdbg", "tfdbg", "dump (TensorFlow)")
    overview = ask(client, "overview", id="dump|tfdbg")
    rows = ask(client, "observations", id="dump|tfdbg")["rows"]
    assert (overview["observations"], overview["problem"]) == (len(rows), "")
    tells = mode in (tfdbg.CURT_HEALTH, tfdbg.CONCISE_HEALTH, tfdbg.FULL_HEALTH, tfdbg.FULL_TENSOR)
    verdict = ask(client, "alerts", id="dump|tfdbg")["verdict"]
    assert (verdict["good"], verdict["line"] and verdict["line"]["line"]) == ((False, 4) if tells else (True, None))
    header, arrays = packed(client, "map", id="dump|tfdbg")
    assert (header["lines"], bool(arrays[header["bad"]].any())) == (overview["tensors"], tells)
    if tells:
        details = ask(client, "observation", id="dump|tfdbg", number=verdict["observation"])
        assert details["tensor"]["op"] == "Log"
        assert details["has_value"] == (mode == tfdbg.FULL_TENSOR)
        assert details["health"] == ("not_finite" if mode == tfdbg.CURT_HEALTH else "nan")
        assert details["excerpt"]["lines"][details["excerpt"]["line"] - details["excerpt"]["first"]].strip() == (
            "return tf.reduce_sum(tf.math.log(x))"
        )


def test_a_search_that_is_not_a_valid_regular_expression_is_answered_with_a_sentence(client: TestClient) -> None:
    found = ask(client, "observations", id=BAD, q="log(")
    sentence = "Not a regular expression: missing ) at position 4."
    assert found == {"search_problem": sentence, "total": 0, "offset": 0, "rows": []}
    assert ask(client, "map", id=BAD, q="log(") == {"search_problem": sentence}
    assert ask(client, "place", id=BAD, q="log(", number=1) == {"place": 0, "total": 0}
    assert ask(client, "observations", id=BAD, q="log")["search_problem"] == ""


def test_what_was_recorded_is_filtered_by_device(client: TestClient) -> None:
    assert ask(client, "overview", id=BAD)["devices"] == ["cpu", "cuda:0"]
    found = ask(client, "observations", id=BAD, device="cuda:0", first=80, last=80)
    assert [(row["name"], row["device"]) for row in found["rows"]] == [("layer", "cuda:0"), ("log", "cuda:0")]
    assert ask(client, "observation", id=BAD, number=42)["device"] == "cpu"
    assert ask(client, "observation", id=BAD, number=44)["device"] == ""


def test_executions_of_python_are_filtered_by_device_and_walked_up(tmp_path: Path) -> None:
    write_eager(tmp_path / "dump")
    client = client_with_companions(tmp_path)
    prefix = "/job:localhost/replica:0/task:0/device:"
    assert ask(client, "overview", id="dump|tfdbg")["devices"] == [f"{prefix}CPU:0", f"{prefix}GPU:1"]
    found = ask(client, "observations", id="dump|tfdbg", device=f"{prefix}GPU:1")
    assert [(row["number"], row["op"], row["device"]) for row in found["rows"]] == [
        (number, op, f"{prefix}GPU:1") for number, op in ((4, "Log"), (5, "Relu"), (6, "AddV2"))
    ]
    assert ask(client, "place", id="dump|tfdbg", device=f"{prefix}CPU:0", number=8) == {"place": 5, "total": 8}
    assert ask(client, "observations", id="dump|tfdbg", device="TPU:0")["total"] == 0
    # The sum took the output of the layer before it, not the last value that the same line made.
    last = ask(client, "observation", id="dump|tfdbg", number=10)
    assert [(each["tensor"]["op"], each["observation"], each["health"]) for each in last["inputs"]] == [
        ("Neg", 7, "good"),
        ("Relu", 9, "nan"),
    ]
    walked = [last["bad_input"]]
    while (above := ask(client, "observation", id="dump|tfdbg", number=walked[-1]))["bad_input"] is not None:
        walked.append(above["bad_input"])
    assert walked == [9, 8]
    assert above["verdict"] == "This operation produced the non-finite values: all its inputs are finite."
    assert ask(client, "observation", id="dump|tfdbg", number=3)["verdict"] == "All elements are finite."
    assert [each["observation"] for each in ask(client, "observation", id="dump|tfdbg", number=3)["consumers"]] == [
        4,
        6,
    ]


def walked(client: TestClient, recording: str, number: int) -> list[tuple[str, str]]:
    """Return the names that the key for walking up passes, each with its verdict."""
    found: list[tuple[str, str]] = []
    at: int | None = number
    while at is not None:
        details = ask(client, "observation", id=recording, number=at)
        found.append((details["tensor"]["name"], details["verdict"]))
        at = details["bad_input"]
    return found


def test_walking_up_goes_into_the_graph_of_a_function_and_out_to_what_it_was_called_with(tmp_path: Path) -> None:
    write_calls(tmp_path / "dump")
    client = client_with_companions(tmp_path)
    call = "__inference_train_7 at train.py:5"
    assert walked(client, "dump|tfdbg", 7) == [
        (call, "while_body_1/Log:0 was the first non-finite value inside it."),
        ("while_body_1/Log:0", "Some or all of its inputs were not watched."),
    ]
    assert walked(client, "dump|tfdbg", 15) == [
        (call, "train/Mul:0 was the first non-finite value inside it."),
        ("train/Mul:0", "Its inputs were already non-finite: Log at train.py:5."),
        ("Log at train.py:5", "Some or all of its inputs were not watched."),
    ]


class Halves(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / 2


class Logarithm(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(x - 1)


def test_walking_up_goes_into_a_module_and_out_to_what_it_was_given(tmp_path: Path) -> None:
    model = torch.nn.Sequential(Halves(), torch.nn.Sequential(torch.nn.Tanh(), Logarithm()), torch.nn.Tanh())
    with debug.watch(model, tmp_path / "run", every=1, rules=()) as watcher:
        model(torch.ones(2, requires_grad=True))
        watcher.step()
        model(torch.full((2,), float("nan"), requires_grad=True))
        watcher.step()
    client = client_with_companions(tmp_path)
    rows = ask(client, "observations", id="run|recording")["rows"]
    numbers = {(row["step"], row["name"]): row["number"] for row in rows}
    assert walked(client, "run|recording", numbers[0, "Sequential"]) == [
        ("Sequential", "1.1 was the first non-finite value inside it."),
        ("1.1", "This operation produced the non-finite values: all its inputs are finite."),
    ]
    assert [name for name, _ in walked(client, "run|recording", numbers[1, "Sequential"])] == [
        "Sequential",
        "0",
        "Sequential:input",
    ]


def test_code_is_shown_in_its_order_and_a_sentence_quotes_what_it_has_room_for(
    tmp_path: Path,
) -> None:
    code = f"x = 1 # \u202eevil {'A' * 5000}"
    shown = f"x = 1 # \\u202eevil {'A' * 5000}"
    with TfdbgWriter(tmp_path / "dump") as writer:
        writer.add_source(SourceFile("evil.py", (code,)))
        writer.add_source(SourceFile("/lib/site-packages/torch/nn.py", ("1",)))
        stack = [Frame("evil.py", 1, "f")]
        writer.add_execution(
            "Log", tfdbg.FULL_HEALTH, [debug_of(tfdbg.FULL_HEALTH, NAN, 1)], output_ids=[1], stack=stack
        )
    client = client_with_companions(tmp_path)
    sentence = ask(client, "alerts", id="dump|tfdbg")["verdict"]["sentence"]
    assert f"at evil.py:1 in f: {shown[:200]}.... Its inputs" in sentence
    details = ask(client, "observation", id="dump|tfdbg", number=0)
    assert details["excerpt"]["lines"] == [shown[:405]]
    assert details["stack"][0]["code"] == shown[:400]
    assert ask(client, "source", id="dump|tfdbg", index=0)["lines"] == [shown[:2005]]
    files = ask(client, "sources", id="dump|tfdbg")["files"]
    assert [(file["path"], file["library"]) for file in files] == [
        ("evil.py", False),
        ("/lib/site-packages/torch/nn.py", True),
    ]
