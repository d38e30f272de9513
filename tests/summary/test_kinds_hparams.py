from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.kinds import PayloadError, decode
from stepscope.summary.kinds.hparams import checked_hparams, hparam_infos
from stepscope.summary.proto.summary_pb2 import Summary

HPARAMS = {"lr": 0.1, "layers": 3, "bn": True, "opt": "sgd", "none": None, "scale": np.float32(0.5), "f": len}
METRICS = {"hparam/loss": 0.25}


def contents(folder: Path, run: str) -> dict[str, Any]:
    """The contents of the run's hparams series as JSON, by the last part of their tags."""
    series = open_logdir(folder).runs[run].of_kind("hparams")
    return {
        one.tag.removeprefix("_hparams_/"): json_format.MessageToDict(one.read(0), preserving_proto_field_name=True)
        for one in series
    }


def test_a_session_is_a_run_of_its_own(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(HPARAMS, METRICS, {"opt": ["sgd", "adam"], "layers": [1, 3]}, "trial", 7)
    assert contents(tmp_path, "trial") == {
        "experiment": {
            "experiment": {
                "hparam_infos": [
                    {"name": "lr", "type": "DATA_TYPE_FLOAT64"},
                    {"name": "layers", "type": "DATA_TYPE_FLOAT64", "domain_discrete": [1.0, 3.0]},
                    {"name": "bn", "type": "DATA_TYPE_BOOL"},
                    {"name": "opt", "type": "DATA_TYPE_STRING", "domain_discrete": ["sgd", "adam"]},
                    {"name": "scale", "type": "DATA_TYPE_FLOAT64"},
                    {"name": "f", "type": "DATA_TYPE_STRING"},
                ],
                "metric_infos": [{"name": {"tag": "hparam/loss"}}],
            }
        },
        "session_start_info": {
            "session_start_info": {
                "hparams": {"lr": 0.1, "layers": 3.0, "bn": True, "opt": "sgd", "scale": 0.5, "f": "len"}
            }
        },
        "session_end_info": {"session_end_info": {"status": "STATUS_SUCCESS"}},
    }
    loss = open_logdir(tmp_path).series("trial", "hparam/loss")
    assert loss is not None
    assert (loss.steps.tolist(), loss.values.tolist()) == ([7], [0.25])


def test_without_a_name_the_run_is_the_time(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 1}, {})
    (run,) = [folder.name for folder in tmp_path.iterdir() if folder.is_dir()]
    assert float(run) > 0


@pytest.mark.parametrize("name", [".", "absolute"])
def test_the_run_may_be_the_writers_own(tmp_path: Path, name: str) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 1}, {}, run_name=str(tmp_path) if name == "absolute" else name)
    assert sorted(contents(tmp_path, ".")) == ["experiment", "session_end_info", "session_start_info"]


def test_the_name_that_tensorboardx_gives_to_the_name(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 1}, {}, name="trial")
    assert (tmp_path / "trial").is_dir()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([], {}), TypeError, "map names to values, got list"),
        (({}, []), TypeError, "map tags to numbers, got list"),
        (({3: 1}, {}), TypeError, "must be a string, got int 3"),
        (({"a": [1]}, {}), TypeError, "'a' must be a bool, a number, a string or None, got list"),
        (({"a": np.zeros(2)}, {}), ValueError, r"'a' must have one element, got shape \(2,\)"),
        (({}, {"loss": "low"}), TypeError, "the metric 'loss' must be real numbers"),
        (({"a": 1}, {}, {"b": [1]}), ValueError, r"must be those of \['a'\], got \['b'\]"),
        (({"a": 1}, {}, {"a": ["x"]}), TypeError, r"hold values like 1.0, got \['x'\]"),
        (({"a": "x"}, {}, {"a": "xyz"}), TypeError, "must be a list, got str"),
        (({"a": 1}, {}, "trial"), TypeError, "must map names to lists of values, got str"),
        (({}, {}, None, "../out"), ValueError, r"a folder in the log directory .*, got '\.\./out'"),
        (({}, {}, None, "/etc"), ValueError, "got '/etc'"),
        (({}, {}, None, 3), TypeError, "run_name must be a string, got int"),
        (({}, {}, None, "a", np.nan), ValueError, "a step must be a whole number"),
    ],
)
def test_errors_come_before_anything_is_written(
    tmp_path: Path, arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=message):
        writer.add_hparams(*arguments)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_booleans_are_no_numbers() -> None:
    assert checked_hparams({"a": np.bool_(True), "b": 1}) == {"a": True, "b": 1.0}
    with pytest.raises(TypeError, match="values like True"):
        hparam_infos({"a": True}, {"a": [0, 1]})


@pytest.mark.parametrize(
    ("content", "message"), [(b"\xff", "a HParamsPluginData message"), (b"", "an experiment, a session's start")]
)
def test_what_is_no_hparams(content: bytes, message: str) -> None:
    value = Summary.Value()
    value.metadata.plugin_data.content = content
    with pytest.raises(PayloadError, match=message):
        decode("hparams", value)
