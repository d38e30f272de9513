"""The sample logs are what `sample_logs.make` writes today."""

import json
import math

import numpy as np
import pytest

from sample_logs import make, nan_training, torch_training
from sample_logs.logs import turned
from stepscope.dashboard.debugger.comparison import compare
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.debug import first_bad
from stepscope.profiler.traces import load_trace
from stepscope.summary.debugger.recordings import read_recording
from stepscope.summary.logdir import Logdir, open_logdir
from stepscope.summary.projector import CONFIG_PATTERN, projector_runs, read_metadata, read_tensor
from stepscope.summary.series import Run
from stepscope.summary.snapshot import Snapshot

REMEDY = "run `make sample-logs` and commit what it wrote"
MOST_BYTES = 5_500_000
IN_EVERY_RUN = {"scalars", "text", "hparams", "custom_scalars"}
WITH_MEDIA = IN_EVERY_RUN | {"histograms", "images", "pr_curves", "graph_tagged_run_metadata"}


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return open_logdir(make.FOLDER)


def test_the_manifest_matches_the_script_and_the_files() -> None:
    manifest = json.loads((make.FOLDER / make.MANIFEST).read_text())
    assert manifest["made_by"] == make.digest(*make.sources()), REMEDY
    files = sorted(path for path in (make.FOLDER / "digits").rglob("*") if path.is_file())
    assert manifest["files"] == {p.relative_to(make.FOLDER).as_posix(): make.digest(p) for p in files}, REMEDY
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


def test_the_runs_are_those_that_are_planned_and_whole(snapshot: Snapshot) -> None:
    assert sorted(snapshot.runs) == sorted([*make.plans(), torch_training.RUN, nan_training.RUN, nan_training.MENDED])
    assert len(snapshot.runs) == 23
    assert (snapshot.damage_count, snapshot.superseded) == (0, 0)


def test_every_run_has_every_kind_that_is_planned_for_it(snapshot: Snapshot) -> None:
    for name, plan in make.plans().items():
        kinds = {series.kind for series in snapshot.runs[name].series.values()}
        if plan.points_and_sound:
            assert kinds == WITH_MEDIA | {"mesh", "audio"}, name
        else:
            assert kinds == (WITH_MEDIA if plan.media else IN_EVERY_RUN), name


def test_every_series_has_the_planned_points(snapshot: Snapshot) -> None:
    for name, plan in make.plans().items():
        steps = plan.epochs * -(-1347 // plan.chosen.batch)
        run = snapshot.runs[name]
        assert run.series["loss/train"].steps.tolist() == list(range(0, steps, plan.every)), name
        for tag in ("loss/validation", "accuracy/validation", "digits/accuracy mean", "digits/accuracy min"):
            assert len(run.series[tag]) == plan.epochs, (name, tag)
        if plan.media:
            profiled = [series.tag for series in run.of_kind("graph_tagged_run_metadata")]
            assert profiled == [f"step_{step}" for step in make.PROFILED_STEPS]
            assert len(run.series["pr/all digits"]) == len(run.series["mistakes/text_summary"]) == 11
        if plan.points_and_sound:
            assert len(run.series["digits/activation_VERTEX"]) == len(make.MESH_EPOCHS)
            assert len(run.series["sound/training loss"]) == len(make.SOUND_EPOCHS)


def test_one_run_has_embeddings_of_images_and_of_hidden_units(snapshot: Snapshot) -> None:
    listing = Logdir(make.FOLDER, companion_patterns=(CONFIG_PATTERN,)).update()
    ((name, found),) = projector_runs(listing).items()
    assert (name, make.plans()[name].embeddings) == ("digits/lr_0.1/seed_0", True)
    assert [(info.tensor_name, tuple(info.tensor_shape)) for info in found.config.embeddings] == [
        ("digits/images:00000", (1797, 64)),
        *((f"digits/hidden:{22 * (epoch + 1):05}", (450, 48)) for epoch in make.MESH_EPOCHS),
    ]
    for info in found.config.embeddings:
        assert np.isfinite(read_tensor(found, info)).all()
        assert read_metadata(found, info).count(b"\n") == info.tensor_shape[0] + 1


def test_the_networks_learn_except_the_one_that_diverges(snapshot: Snapshot) -> None:
    diverged = snapshot.runs[f"digits/sweep/{make.DIVERGED:02}"]
    for name, plan in make.plans().items():
        run = snapshot.runs[name]
        losses = run.series["loss/train"].values
        if run is diverged:
            first = int(np.flatnonzero(np.isnan(losses))[0])
            assert first > 5
            assert np.isfinite(losses[:first]).all()
            assert np.isnan(losses[first:]).all()
            assert math.isnan(run.series["loss/validation"].values[-1])
        else:
            assert np.isfinite(losses).all(), name
            assert last_accuracy(run) > (0.9 if plan.media else 0.4), name


def test_every_run_is_a_session_with_its_hyperparameters_and_its_end(snapshot: Snapshot) -> None:
    table = snapshot.hparams().sort("run")
    columns = ["run", "status", "learning_rate", "momentum", "hidden", "batch", "optimizer", "seed"]
    assert table.select(columns).cast({"run": str, "status": str}).rows() == [
        (
            name,
            "failure" if name == f"digits/sweep/{make.DIVERGED:02}" else "success",
            *(plan.chosen.learning_rate, plan.chosen.momentum, plan.chosen.hidden, plan.chosen.batch),
            *(plan.chosen.optimizer, plan.chosen.seed),
        )
        for name, plan in sorted(make.plans().items())
    ]
    assert (table["end_time"] >= table["start_time"]).all()
    assert {"accuracy/validation", "loss/validation"} <= set(table.columns)
    assert table["group"].to_list() == [plan.trial for _, plan in sorted(make.plans().items())]


def test_the_profiles_know_scopes_operators_and_waits() -> None:
    (of_numpy,) = (make.FOLDER / "digits" / "lr_0.1" / "seed_0").rglob("*.trace.json.gz")
    trace = load_trace(str(of_numpy))
    assert [step.number for step in trace.steps] == list(make.PROFILED_STEPS)
    assert {"forward", "backward", "update", "log", "load batch"} <= set(trace.names)
    (of_torch,) = (make.FOLDER / torch_training.RUN).rglob("*.trace.json.gz")
    trace = load_trace(str(of_torch))
    assert [step.number for step in trace.steps] == list(torch_training.PROFILED_STEPS)
    assert {"forward", "aten::conv2d", "aten::max_pool2d", "Optimizer.step#Adam.step"} <= set(trace.names)
    assert {"cpu_op", "data_loading"} <= set(trace.categories)
    assert {"allocated", "RSS"} <= {counter.series for counter in trace.counters}


def test_a_recording_names_the_operation_that_overflowed(snapshot: Snapshot) -> None:
    data = read_recording(snapshot.runs[nan_training.RUN])
    verdict = first_bad(data)
    assert verdict is not None
    assert data.tensors[verdict.tensor].name == "shares/aten.exp"
    assert verdict.part == "producer"
    assert verdict.frame is not None
    assert verdict.frame.code.strip() == "powers = torch.exp(scores)"
    assert {source.path for source in data.sources} <= {"sample_logs/make.py", "sample_logs/nan_training.py"}


def test_the_mended_training_is_the_same_until_rounding_tells_them_apart(snapshot: Snapshot) -> None:
    mended, broken = (read_recording(snapshot.runs[run]) for run in (nan_training.MENDED, nan_training.RUN))
    assert first_bad(mended) is None
    found = compare(OpenedDebug(mended), OpenedDebug(broken), 1e-3)
    assert found.compared > 0
    assert not found.only_first
    assert found.differences[0].step > 0


def test_points_are_turned_to_those_before() -> None:
    before = np.array([[3, 0, 0], [0, 2, 0], [0, 0, 1], [-3, -2, -1]], np.float32)
    after = before[:, [1, 0, 2]] * np.array([1, -1, 1], np.float32)
    np.testing.assert_allclose(turned(after, before), before, atol=1e-5)


def test_the_samples_do_not_tell_where_they_were_made() -> None:
    for path in (make.FOLDER / "digits").rglob("*"):
        if path.is_file() and "tfevents" in path.name:
            assert path.name.split(".")[4] == "sample"


def last_accuracy(run: Run) -> float:
    return float(run.series["accuracy/validation"].values[-1])
