"""What ``stepscope debug`` reports about recordings and dumps."""

import json
from pathlib import Path

import pytest

from stepscope.dashboard.cli.main import main
from stepscope.summary import SummaryWriter
from stepscope.summary.proto import debug_event_pb2 as tfdbg
from tests.dashboard.debugger.recorded import going_bad, write
from tests.summary.debugger.dumps import write_dump


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write(tmp_path / "bad", going_bad())
    write(tmp_path / "good", going_bad(bad_from=100))
    return tmp_path


VERDICT = (
    "Step 80: log (float32) is the first with 8 NaN of 32 elements, at model.py:5 in forward. "
    "It produced them: its inputs were finite (layer from -1 to 82)."
)


def test_it_says_what_went_bad_first_and_where(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", str(logdir), "--top", "2"]) == 0
    assert capsys.readouterr().out == (
        "bad: 60 values of 5 tensors, stepscope.debug, a test\n"
        f"  {VERDICT}\n"
        "  step 80  not_finite: log has 8 NaN of 32 elements; all should be finite  (model.py:5)\n"
        "  step 80  not_finite: head has 4 NaN of 16 elements; all should be finite  (model.py:6)\n"
        "  and 1 more alert\n"
        "\n"
        "good: 60 values of 5 tensors, stepscope.debug, a test\n"
        "  Everything is finite: none of the 60 values that were recorded has a NaN or an infinite element.\n"
    )


def test_a_condition_that_holds_ends_with_its_code(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", str(logdir), "--fail-if", "bad", "--fail-if", "not_finite"]) == 1
    assert capsys.readouterr().err == (
        f"bad: bad: {VERDICT}\n"
        "bad: not_finite: 3 alerts, the first at step 80: log has 8 NaN of 32 elements; all should be finite\n"
    )
    assert main(["debug", "--logdir", str(logdir), "--run", "good", "--fail-if", "any"]) == 0
    assert main(["debug", str(logdir), "--fail-if", "exploding"]) == 0


def test_json_has_all_of_it(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debug", str(logdir), "--run", "bad", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["sentence"] == VERDICT
    place = {
        "tensor": "log",
        "phase": "forward",
        "module": "net",
        "operation": "aten.log",
        "file": "model.py",
        "line": 5,
    }
    assert found["first_bad"] == {"step": 80, "observation": 41, "part": "producer", **place}
    assert [(alert["tensor"], alert["step"]) for alert in found["alerts"]] == [
        ("log", 80),
        ("head", 80),
        ("layer.weight", 80),
    ]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (tfdbg.FULL_HEALTH, "Log:0 (float32) is the first with 1 NaN and 1 -Inf of 3 elements, at train.py:4 in loss"),
        (tfdbg.CURT_HEALTH, "Log:0 is the first with elements that are not finite, at train.py:4 in loss"),
        (tfdbg.SHAPE, "is marked as not finite; their elements were not counted."),
    ],
)
def test_dumps_of_tensorflow_are_judged_as_far_as_they_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: tfdbg.TensorDebugMode, said: str
) -> None:
    write_dump(tmp_path / "dump", mode)
    assert main(["debug", str(tmp_path)]) == 0
    assert said in capsys.readouterr().out


def test_what_a_person_got_wrong_is_said(logdir: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["debug"]) == 2
    assert "expected: stepscope debug LOGDIR" in capsys.readouterr().err
    assert main(["debug", str(logdir), "--run", "other"]) == 2
    assert "--run 'other' has no recording; expected one of bad, good" in capsys.readouterr().err
    assert main(["debug", str(logdir), "--fail-if", "odd"]) == 2
    assert "--fail-if is 'odd'; expected one of bad, any, not_finite" in capsys.readouterr().err
    with SummaryWriter(str(tmp_path / "scalars" / "run")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert main(["debug", str(tmp_path / "scalars")]) == 2
    assert "has no recording of tensors; expected runs that stepscope.debug.watch wrote" in capsys.readouterr().err
