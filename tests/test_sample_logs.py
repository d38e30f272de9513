"""The sample logs are what `sample_logs.make` writes today."""

import json

from sample_logs import make
from summary.logdir import open_logdir

REMEDY = "run `make sample-logs` and commit what it wrote"


def test_the_manifest_matches_the_script_and_the_files() -> None:
    manifest = json.loads((make.FOLDER / make.MANIFEST).read_text())
    assert manifest["made_by"] == make.digest(make.FOLDER / "make.py"), REMEDY
    files = sorted(path for path in (make.FOLDER / "digits").rglob("*") if path.is_file())
    assert manifest["files"] == {p.relative_to(make.FOLDER).as_posix(): make.digest(p) for p in files}, REMEDY


def test_every_run_has_every_kind_that_the_dashboard_shows() -> None:
    snapshot = open_logdir(make.FOLDER)
    assert sorted(snapshot.runs) == sorted(
        f"digits/lr_{rate}/seed_{seed}" for rate in make.LEARNING_RATES for seed in make.SEEDS
    )
    steps_of_epoch = -(-1347 // make.BATCH)
    for run in snapshot.runs.values():
        assert {series.kind for series in run.series.values()} == {
            "scalars",
            "histograms",
            "images",
            "text",
            "graph_tagged_run_metadata",
        }
        assert len(run.series["loss/train"]) == make.EPOCHS * steps_of_epoch
        assert len(run.series["loss/validation"]) == make.EPOCHS
        assert float(run.series["accuracy/validation"].values[-1]) > 0.9
        profiled = [series.tag for series in run.of_kind("graph_tagged_run_metadata")]
        assert profiled == [f"step_{step}" for step in make.PROFILED_STEPS]
    assert (snapshot.damage_count, snapshot.superseded) == (0, 0)


def test_the_samples_do_not_tell_where_they_were_made() -> None:
    for path in (make.FOLDER / "digits").rglob("*"):
        if path.is_file() and "tfevents" in path.name:
            assert path.name.split(".")[4] == "sample"
