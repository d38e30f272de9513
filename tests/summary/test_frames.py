"""A log directory's data as Polars tables."""

import math
import re
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.frames import SelectionError, to_arrays, to_pandas
from stepscope.summary.kinds.hparams import checked_hparams, session_start, start_info
from stepscope.summary.kinds.tensor_proto import numbers_tensor
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import frame
from stepscope.summary.series import Columns, Run, Series
from stepscope.summary.snapshot import Snapshot


def write(path: Path, *points: tuple[str, int, float, float]) -> None:
    """Writes scalars given as tag, step, wall time and value."""
    path.mkdir(parents=True, exist_ok=True)
    with (path / "events.out.tfevents.1").open("ab") as stream:
        for tag, step, wall_time, value in points:
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            stream.write(frame(Event(wall_time=wall_time, step=step, summary=summary).SerializeToString()))


def _same(columns: Columns) -> Columns:
    return columns


def snapshot_of(steps_of: dict[tuple[str, str], list[int]]) -> Snapshot:
    """Scalars by run and tag; the value of a point is its number within the tag."""
    runs: dict[str, dict[str, Series]] = {}
    for (run, tag), steps in steps_of.items():
        columns = Columns(np.array(steps, np.int64), np.zeros(len(steps)), np.arange(len(steps), dtype=np.float64))
        series = Series(run, tag, "scalars", "", "", b"", 1, 0, partial(_same, columns), lambda _: None)
        runs.setdefault(run, {})[tag] = series
    return Snapshot(1, {name: Run(name, 0.0, series) for name, series in runs.items()})


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write(tmp_path / "b", ("loss", 0, 10.0, 1.0), ("acc", 0, 10.5, 0.5), ("loss", 2, 11.0, math.nan))
    write(tmp_path / "a", ("loss", 0, 20.0, 2.0), ("loss", 1, 21.0, math.inf))
    return tmp_path


def test_every_point_is_a_row(logdir: Path) -> None:
    table = open_logdir(logdir).scalars()
    assert table.schema == {
        "run": pl.Categorical(),
        "tag": pl.Categorical(),
        "step": pl.Int64(),
        "wall_time": pl.Float64(),
        "value": pl.Float64(),
    }
    assert repr(table.rows()) == repr(
        [
            ("b", "loss", 0, 10.0, 1.0),
            ("b", "loss", 2, 11.0, math.nan),
            ("b", "acc", 0, 10.5, 0.5),
            ("a", "loss", 0, 20.0, 2.0),
            ("a", "loss", 1, 21.0, math.inf),
        ]
    )


def test_wall_times_may_be_left_out(logdir: Path) -> None:
    assert open_logdir(logdir).scalars(wall_time=False).columns == ["run", "tag", "step", "value"]


def test_the_pivot_form_has_a_column_per_tag_and_null_where_a_tag_has_no_point(logdir: Path) -> None:
    table = open_logdir(logdir).scalars(pivot=True)
    assert table.schema == {"run": pl.Categorical(), "step": pl.Int64(), "loss": pl.Float64(), "acc": pl.Float64()}
    assert repr(table.rows()) == repr(
        [("b", 0, 1.0, 0.5), ("b", 2, math.nan, None), ("a", 0, 2.0, None), ("a", 1, math.inf, None)]
    )


def test_points_of_one_step_are_rows_of_their_own_in_the_pivot_form(tmp_path: Path) -> None:
    write(tmp_path, ("x", 1, 1.0, 10.0), ("x", 1, 2.0, 11.0), ("x", 3, 3.0, 12.0))
    write(tmp_path, ("y", 1, 1.0, 20.0), ("y", 3, 3.0, 21.0), ("y", 3, 4.0, 22.0), ("z", 2, 1.0, 30.0))
    assert open_logdir(tmp_path).scalars(pivot=True).rows() == [
        (".", 1, 10.0, 20.0, None),
        (".", 1, 11.0, None, None),
        (".", 2, None, None, 30.0),
        (".", 3, 12.0, 21.0, None),
        (".", 3, None, 22.0, None),
    ]


def test_the_pivot_form_sorts_steps_that_go_back(tmp_path: Path) -> None:
    write(tmp_path, ("x", 5, 1.0, 50.0), ("x", 1, 2.0, 10.0), ("x", 5, 3.0, 51.0))
    assert open_logdir(tmp_path, keep_superseded=True).scalars(pivot=True).rows() == [
        (".", 1, 10.0),
        (".", 5, 50.0),
        (".", 5, 51.0),
    ]


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")),
        st.lists(st.integers(-3, 3), max_size=8),
    )
)
def test_the_pivot_form_holds_every_point_once_and_in_order(steps_of: dict[tuple[str, str], list[int]]) -> None:
    table = snapshot_of(steps_of).scalars(pivot=True)
    for (run, tag), steps in steps_of.items():
        rows = table.filter(pl.col("run").cast(pl.String) == run, pl.col(tag).is_not_null())
        # Values number the points of a tag, so sorting by step and value gives the order of writing within a step.
        assert rows.select("step", tag).rows() == sorted((step, float(n)) for n, step in enumerate(steps))
    assert table.drop_nulls("step").height == table.height
    most = Counter(
        {
            (run, step): max(Counter(steps)[step] for (of, _), steps in steps_of.items() if of == run)
            for (run, _), all_steps in steps_of.items()
            for step in all_steps
        }
    )
    assert Counter(table.select("run", "step").rows()) == most


def test_tags_named_like_a_column_keep_apart_from_it_in_the_pivot_form(tmp_path: Path) -> None:
    write(tmp_path, ("step", 0, 1.0, 7.0), ("step (tag)", 0, 1.0, 8.0), ("run", 0, 1.0, 9.0))
    assert open_logdir(tmp_path).scalars(pivot=True).to_dicts() == [
        {"run": ".", "step": 0, "step (tag)": 7.0, "step (tag) (tag)": 8.0, "run (tag)": 9.0}
    ]


def test_without_points_the_columns_are_there(tmp_path: Path) -> None:
    snapshot = open_logdir(tmp_path)
    assert snapshot.scalars().columns == ["run", "tag", "step", "wall_time", "value"]
    assert snapshot.scalars(pivot=True).columns == ["run", "step"]
    for table in (
        snapshot.histograms(),
        snapshot.tensors(),
        snapshot.images(),
        snapshot.audio(),
        snapshot.texts(),
        snapshot.hparams(),
        snapshot.summaries(),
        snapshot.runs_frame(),
        snapshot.health_frame(),
    ):
        assert table.height == 0
        assert table.width >= 5


@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        ({"runs": "^B$"}, [("b", "loss"), ("b", "loss"), ("b", "acc")]),
        ({"runs": ["a"]}, [("a", "loss"), ("a", "loss")]),
        ({"runs": {"a", "b"}, "tags": "AC+"}, [("b", "acc")]),
        ({"tags": ("acc",)}, [("b", "acc")]),
        ({"tags": "nothing like it"}, []),
        ({"runs": []}, []),
    ],
)
def test_runs_and_tags_are_chosen_by_expression_or_by_name(
    logdir: Path, selection: dict[str, Any], kept: list[tuple[str, str]]
) -> None:
    assert open_logdir(logdir).scalars(**selection).select("run", "tag").rows() == kept


@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        (
            {"runs": "("},
            SelectionError,
            "runs must be a regular expression or a collection of names, got '(': missing )",
        ),
        ({"runs": ["c"]}, ValueError, "there is no run 'c'; expected names among 'b', 'a'"),
        ({"tags": ["loss", "Loss"]}, ValueError, "there is no tag 'Loss'; expected names among"),
        ({"runs": 3}, TypeError, "runs must be a regular expression or a collection of names, got int 3"),
        ({"tags": [b"loss"]}, TypeError, "tags must be strings, got bytes b'loss'"),
    ],
)
def test_what_chooses_nothing_that_exists_is_an_error(
    logdir: Path, selection: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        open_logdir(logdir).scalars(**selection)


def test_an_expression_that_takes_exponential_time_ends(tmp_path: Path) -> None:
    write(tmp_path, ("a" * 60 + "!", 0, 1.0, 1.0))
    with pytest.raises(SelectionError, match="takes too long"):
        open_logdir(tmp_path).scalars(tags=r"^(a|a)*$")


def test_tables_of_several_log_directories_are_joined(tmp_path: Path) -> None:
    write(tmp_path / "one" / "x", ("loss", 0, 1.0, 1.0))
    write(tmp_path / "two" / "y", ("acc", 0, 1.0, 2.0))
    joined = pl.concat([open_logdir(tmp_path / name).scalars() for name in ("one", "two")])
    assert joined.select("run", "tag", "value").rows() == [("x", "loss", 1.0), ("y", "acc", 2.0)]


def test_a_table_for_pandas_says_what_is_missing(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    message = r"^to_pandas needs pandas\. Run: pip install pandas$"
    with pytest.raises(ModuleNotFoundError, match=message):
        to_pandas(open_logdir(logdir).scalars())


def test_a_table_becomes_one_of_pandas(logdir: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    scalars = to_pandas(open_logdir(logdir).scalars(tags=["acc"]))
    assert scalars.to_dict("records") == [{"run": "b", "tag": "acc", "step": 0, "wall_time": 10.5, "value": 0.5}]
    assert scalars.dtypes.astype(str).to_dict() == {
        "run": "category", "tag": "category", "step": "int64", "wall_time": "float64", "value": "float64"
    }  # fmt: skip
    session(tmp_path / "s" / "a", {"layers": 3, "bn": True, "lr": 0.5, "opt": "sgd"})
    session(tmp_path / "s" / "b", {})
    columns = ["layers", "bn", "lr", "opt"]
    sessions = to_pandas(open_logdir(tmp_path / "s").hparams())[columns]
    assert sessions.dtypes.astype(str).to_dict() == {
        "layers": "Int64", "bn": "boolean", "lr": "float64", "opt": "object"
    }  # fmt: skip
    assert sessions.loc[0].to_list() == [3, True, 0.5, "sgd"]
    assert sessions.loc[1].isna().all()
    with SummaryWriter(tmp_path / "t") as writer:
        writer.add_tensor("t", np.arange(3))
    tensors = to_pandas(open_logdir(tmp_path / "t").tensors())
    assert tensors["shape"][0] == [3]
    assert tensors["content"][0] == np.arange(3).tobytes()
    assert isinstance(tensors, pandas.DataFrame)


def test_scalars_are_those_that_tensorboard_reads_of_torch(tmp_path: Path) -> None:
    with TorchWriter(str(tmp_path)) as writer:
        for step in range(50):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_scalar("lr", 0.1**step, step * 3)
    accumulator = EventAccumulator(str(tmp_path), {"scalars": 0, "tensors": 0}).Reload()
    expected = [(".", tag, e.step, e.wall_time, e.value) for tag in ("loss", "lr") for e in accumulator.Scalars(tag)]
    assert open_logdir(tmp_path).scalars().rows() == expected


def test_histograms_have_their_buckets_and_what_is_in_none(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("w", np.array([1.0, 2.0, 2.0, np.nan, np.inf]), 7, bins=[1.0, 1.5, 2.0], walltime=5.0)
    assert open_logdir(tmp_path).histograms().to_dicts() == [
        {
            "run": ".",
            "tag": "w",
            "step": 7,
            "wall_time": 5.0,
            "left": [1.0, 1.5],
            "right": [1.5, 2.0],
            "count": [1.0, 2.0],
            "nan": 1,
            "positive_infinite": 1,
            "negative_infinite": 0,
            "below": 0,
            "above": 0,
            "error": None,
        }
    ]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_tensors_come_back_as_they_were_written(tmp_path: Path, dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", array, 1)
        writer.add_tensor("t", np.zeros((0, 4), dtype), 2)
    table = open_logdir(tmp_path).tensors()
    first, second = to_arrays(table)
    assert table.select("kind", "dtype", "shape").rows() == [("tensor", dtype, [2, 3]), ("tensor", dtype, [0, 4])]
    assert first is not None
    assert second is not None
    assert first.dtype == array.dtype
    np.testing.assert_array_equal(first, array)
    assert second.shape == (0, 4)


def test_tensors_of_no_kind_and_of_unknown_kinds_are_given(tmp_path: Path) -> None:
    # They were once listed, but left out.
    named = Summary.Value(tag="b", tensor=numbers_tensor(np.array(3, np.int64)))
    named.metadata.plugin_data.plugin_name = "another"
    values = [Summary.Value(tag="a", tensor=numbers_tensor(np.array([1.0, 2.0]))), named]
    event = Event(wall_time=5.0, step=7, summary=Summary(value=values))
    (tmp_path / "tfevents").write_bytes(frame(event.SerializeToString()))
    table = open_logdir(tmp_path).tensors()
    assert table.select("tag", "step", "kind", "dtype", "shape", "error").rows() == [
        ("a", 7, "", "float64", [2], None),
        ("b", 7, "another", "int64", [], None),
    ]
    assert [array.tolist() for array in to_arrays(table) if array is not None] == [[1.0, 2.0], 3]


def test_pr_curves_and_meshes_are_tensors(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", np.array([0, 1]), np.array([0.2, 0.9]), 0, num_thresholds=3)
        writer.add_mesh("m", np.zeros((1, 4, 3), np.float32), global_step=0)
    snapshot = open_logdir(tmp_path)
    table = snapshot.tensors()
    assert table.select("tag", "kind", "shape").rows() == [("pr", "pr_curves", [6, 3]), ("m_VERTEX", "mesh", [1, 4, 3])]
    curve = snapshot.series(".", "pr")
    assert curve is not None
    np.testing.assert_array_equal(to_arrays(table)[0], curve.read(0).table)


def test_arrays_are_made_of_tables_of_tensors_only() -> None:
    with pytest.raises(ValueError, match=r"a column 'dtype', got \['value'\]"):
        to_arrays(pl.DataFrame({"value": [1.0]}))


def test_each_picture_is_a_row(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_images("i", np.zeros((2, 3, 4, 5)), 1)
    table = open_logdir(tmp_path).images()
    assert table.select("step", "sample", "width", "height", "error").rows() == [(1, 0, 5, 4, None), (1, 1, 5, 4, None)]
    assert [encoded[:4] for encoded in table["encoded"]] == [b"\x89PNG"] * 2


def test_each_clip_is_a_row(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("a", np.zeros(10, np.float32), 1, sample_rate=100)
    row = open_logdir(tmp_path).audio().row(0, named=True)
    assert (row["sample"], row["content_type"], row["label"], row["encoded"][:4]) == (0, "audio/wav", "", b"RIFF")


def test_texts_are_lists_with_a_shape(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("t", "# one", 0)
    assert open_logdir(tmp_path).texts().select("shape", "text").rows() == [([], ["# one"])]


def test_the_last_points_of_each_series(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(4):
            writer.add_text("t", str(step), step)
        writer.add_text("u", "only", 9)
    snapshot = open_logdir(tmp_path)
    assert snapshot.texts(last=2)["step"].to_list() == [2, 3, 9]
    for wrong, error in ((0, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match=f"last must be .*{wrong}"):
            snapshot.texts(last=wrong)  # type: ignore[arg-type]


def test_payloads_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        for step in range(4):
            writer.add_tensor("t", np.zeros(100), step)
    snapshot = open_logdir(tmp_path)
    with pytest.raises(SelectionError, match="the payloads of tensor need more than 2,000 bytes; choose fewer"):
        snapshot.tensors(max_bytes=2000)
    assert snapshot.tensors(max_bytes=2000, last=2).height == 2


def test_a_payload_that_is_damaged_after_it_was_indexed_is_null_and_says_why(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_text("t", "first", 0)
        writer.add_text("t", "second", 1)
    snapshot = open_logdir(tmp_path)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    file.write_bytes(content.replace(b"first", b"fIrst"))
    table = snapshot.texts()
    assert table.select("step", "text").rows() == [(0, None), (1, ["second"])]
    assert re.fullmatch(r"the record at offset \d+ of .* has changed since it was first read", table["error"][0])
    assert table["error"][1] is None


def test_hyperparameters_of_torch_are_a_row_per_session(tmp_path: Path) -> None:
    for name, hparams, accuracy in (
        ("a", {"lr": 0.1, "bn": True, "opt": "sgd"}, 0.5),
        ("b", {"lr": 0.2, "bn": False, "opt": "adam", "wd": 1e-3}, 0.75),
    ):
        with TorchWriter(str(tmp_path / name)) as writer:
            writer.add_hparams(hparams, {"hparam/acc": accuracy}, run_name="hp")
    table = open_logdir(tmp_path).hparams()
    assert table.schema["lr"] == pl.Float64()
    # PyTorch writes booleans as numbers.
    assert table.schema["bn"] == pl.Int64()
    assert table.schema["opt"] == pl.String()
    assert table.select("run", "group", "status").rows() == [(f"{name}/hp", f"{name}/hp", "success") for name in "ab"]
    assert table.drop("run", "group", "status", "start_time", "end_time").to_dicts() == [
        {"lr": 0.1, "bn": 1.0, "opt": "sgd", "wd": None, "hparam/acc": 0.5},
        {"lr": 0.2, "bn": 0.0, "opt": "adam", "wd": 1e-3, "hparam/acc": 0.75},
    ]


def session(folder: Path, hparams: dict[str, Any], group: str = "", start_time: float = 0.0) -> None:
    message = start_info(checked_hparams(hparams))
    message.group_name = group
    message.start_time_secs = start_time
    folder.mkdir(parents=True, exist_ok=True)
    event = Event(wall_time=1.0, summary=Summary(value=[session_start(message)]))
    with (folder / "events.out.tfevents.0").open("ab") as stream:
        stream.write(frame(event.SerializeToString()))


def test_without_declared_metrics_every_scalar_of_a_session_and_below_is_one(tmp_path: Path) -> None:
    session(tmp_path / "s", {"lr": 1}, group="g", start_time=50.0)
    write(tmp_path / "s", ("lr", 0, 2.0, 0.5), ("lr", 1, 3.0, 0.25))
    write(tmp_path / "s" / "validation", ("acc", 0, 2.0, 0.9))
    write(tmp_path / "other", ("acc", 0, 2.0, 0.1))
    assert open_logdir(tmp_path).hparams().to_dicts() == [
        {
            "run": "s",
            "group": "g",
            "status": "running",
            "start_time": 50.0,
            "end_time": None,
            "lr": 1.0,
            "lr (metric)": 0.25,
            "validation/acc": pytest.approx(0.9),
        }
    ]


def test_metrics_of_one_name_have_a_column_each(tmp_path: Path) -> None:
    session(tmp_path / "s", {"lr": 1})
    write(tmp_path / "s", ("train/loss", 0, 2.0, 0.5))
    write(tmp_path / "s" / "train", ("loss", 0, 2.0, 0.25))
    table = open_logdir(tmp_path).hparams()
    assert table.select(table.columns[-2:]).to_dicts() == [{"train/loss": 0.5, "train/loss (metric)": 0.25}]


def test_metrics_of_sessions_inside_each_other_are_found_in_one_walk_through_the_runs(tmp_path: Path) -> None:
    walks: list[int] = []

    class Walked(dict[str, Run]):
        def values(self) -> Any:
            walks.append(len(self))
            return super().values()

    for depth in range(1, 6):
        session(tmp_path.joinpath(*"abcde"[:depth]), {"lr": depth})
    write(tmp_path / "a" / "b" / "c" / "d" / "e", ("loss", 0, 2.0, 0.5))
    table = replace(open_logdir(tmp_path), runs=Walked(open_logdir(tmp_path).runs)).hparams()
    assert table.drop("group", "status", "start_time", "end_time").rows() == [
        ("a", 1, 0.5, None, None, None, None),
        ("a/b", 2, None, 0.5, None, None, None),
        ("a/b/c", 3, None, None, 0.5, None, None),
        ("a/b/c/d", 4, None, None, None, 0.5, None),
        ("a/b/c/d/e", 5, None, None, None, None, 0.5),
    ]
    assert table.columns[-5:] == ["b/c/d/e/loss", "c/d/e/loss", "d/e/loss", "e/loss", "loss"]
    # For the sessions, for what experiments declare, and for the metrics.
    assert walks == [5] * 3


def test_hyperparameters_have_their_types(tmp_path: Path) -> None:
    session(tmp_path, {"lr": 0.1, "bn": True, "opt": "sgd"})
    assert open_logdir(tmp_path).hparams().select("lr", "bn", "opt").rows() == [(0.1, True, "sgd")]


def test_integers_among_hyperparameters_come_back(tmp_path: Path) -> None:
    many = {"layers": 3, "seed": 2**53, "lr": 1, "momentum": math.nan, "steps": -4}
    session(tmp_path / "a", many)
    session(tmp_path / "b", {"lr": 0.5})
    table = open_logdir(tmp_path).hparams().select(list(many))
    assert dict(table.schema) == {
        "layers": pl.Int64(),
        "seed": pl.Float64(),
        "lr": pl.Float64(),
        "momentum": pl.Float64(),
        "steps": pl.Int64(),
    }
    assert table.select("layers", "lr", "steps").rows() == [(3, 1.0, -4), (None, 0.5, None)]


def test_hyperparameters_whose_types_differ_are_strings(tmp_path: Path) -> None:
    for name, value in (("a", 32), ("b", 0.5), ("c", "auto"), ("d", True), ("e", math.nan)):
        session(tmp_path / name, {"x": value})
    table = open_logdir(tmp_path).hparams()
    assert dict(table.select("run", "x").rows()) == {"a": "32", "b": "0.5", "c": "auto", "d": "true", "e": "NaN"}


def test_a_session_that_was_written_again_has_its_latest_hyperparameters(tmp_path: Path) -> None:
    session(tmp_path, {"lr": 1})
    session(tmp_path, {"lr": 2})
    assert open_logdir(tmp_path).hparams()["lr"].to_list() == [2.0]


def test_summaries_have_a_row_per_series(tmp_path: Path) -> None:
    write(tmp_path, *(("loss", step, 100.0 + step, 0.0) for step in (0, 1, 2, 1)))
    assert open_logdir(tmp_path).summaries().to_dicts() == [
        {
            "run": ".",
            "tag": "loss",
            "kind": "scalars",
            "points": 2,
            "first_step": 0,
            "last_step": 1,
            "first_wall_time": 100.0,
            "last_wall_time": 101.0,
            "superseded": 2,
            "writers": 1,
            "display_name": "",
            "description": "",
        }
    ]


def test_runs_have_a_row_each_with_what_they_hold_and_lost(tmp_path: Path) -> None:
    write(tmp_path / "r", ("loss", 0, 100.0, 0.0), ("acc", 9, 160.0, 0.0), ("loss", 5, math.nan, 0.0))
    file = tmp_path / "r" / "events.out.tfevents.1"
    content = bytearray(file.read_bytes())
    content[20] ^= 1
    file.write_bytes(content)
    assert open_logdir(tmp_path).runs_frame().to_dicts() == [
        {
            "run": "r",
            "tags": 2,
            "points": 2,
            "last_step": 9,
            "start": 160.0,
            "duration": 0.0,
            "files": 1,
            "size": len(content),
            "superseded": 0,
            "writers": 1,
            "damages": 1,
        }
    ]


def test_the_health_of_files_names_offset_and_reason(tmp_path: Path) -> None:
    write(tmp_path, ("loss", 1, 100.0, 0.0), ("loss", 2, 101.0, 0.0))
    file = tmp_path / "events.out.tfevents.1"
    content = bytearray(file.read_bytes())
    size = len(content) // 2
    content[20] ^= 1
    file.write_bytes(content + b"\x05")
    assert open_logdir(tmp_path).health_frame().to_dicts() == [
        {
            "path": "events.out.tfevents.1",
            "run": ".",
            "records": 1,
            "bytes_read": len(content),
            "size": len(content) + 1,
            "waiting": True,
            "superseded": 0,
            "writers": 1,
            "damage_count": 1,
            "skipped_bytes": size,
            "damages": [{"offset": 0, "length": size, "reason": "the CRC of a record's data does not match"}],
            "growing": True,
            "error": None,
        }
    ]
