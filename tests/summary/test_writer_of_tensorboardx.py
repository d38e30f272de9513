"""What `SummaryWriter` takes from tensorboardX beyond PyTorch's class."""

import asyncio
import json
import threading
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX

from stepscope.summary import SummaryWriter, open_logdir


def points(folder: Path) -> list[tuple[str, int, float]]:
    series = open_logdir(folder).runs["."].series.values()
    return [(s.tag, int(step), float(time)) for s in series for step, time in zip(s.steps, s.wall_times, strict=True)]


def test_metadata_for_the_calls_in_a_block(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with writer.use_metadata(global_step=10, walltime=100.5) as same:
            assert same is writer
            writer.add_scalar("scalar", 1.0)
            writer.add_scalar("own", 1.0, 3, 50.0)
            writer.add_text("text", "x")
            writer.add_histogram("histogram", [1.0, 2.0])
            writer.add_scalar_batch("batch", [1.0, 2.0], [3, 4])
            writer.add_embedding([[1.0, 2.0]], tag="embedding")
            writer.add_hparams({"lr": 1.0}, {"metric": 0.5}, run_name="trial")
        writer.add_text("after", "x", walltime=7.0)
    assert sorted(points(tmp_path)) == [
        ("after/text_summary", 0, 7.0),
        ("batch", 3, 100.5),
        ("batch", 4, 100.5),
        ("histogram", 10, 100.5),
        ("own", 3, 50.0),
        ("scalar", 10, 100.5),
        ("text/text_summary", 10, 100.5),
    ]
    assert ("metric", 10, 100.5) in points(tmp_path / "trial")
    assert {time for _, _, time in points(tmp_path / "trial")} == {100.5}
    assert [path.name for path in (tmp_path / "00010").iterdir()] == ["embedding"]


def test_metadata_are_for_the_calls_of_one_thread(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, writer.use_metadata(global_step=10, walltime=100.5):
        other = threading.Thread(target=writer.add_scalar, args=("other", 1.0, None, 7.0))
        other.start()
        other.join()
        writer.add_scalar("own", 1.0)
    assert points(tmp_path) == [("other", 0, 7.0), ("own", 10, 100.5)]


def test_metadata_are_for_the_calls_of_one_task(tmp_path: Path) -> None:
    async def add(writer: SummaryWriter, step: int, both_are_inside: asyncio.Barrier) -> None:
        with writer.use_metadata(global_step=step, walltime=100.5):
            await both_are_inside.wait()
            writer.add_text(f"task {step}", "x")

    async def add_from_two_tasks(writer: SummaryWriter) -> None:
        both_are_inside = asyncio.Barrier(2)
        await asyncio.gather(*(add(writer, step, both_are_inside) for step in (1, 2)))

    with SummaryWriter(tmp_path) as writer:
        asyncio.run(add_from_two_tasks(writer))
    assert sorted(points(tmp_path)) == [("task 1/text_summary", 1, 100.5), ("task 2/text_summary", 2, 100.5)]


def test_metadata_end_with_their_block_though_it_is_left_in_another_context(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        block = writer.use_metadata(global_step=10, walltime=100.5)
        block.__enter__()
        writer.add_scalar("inside", 1.0)
        copy_context().run(block.__exit__, None, None, None)
        writer.add_scalar("after", 1.0, walltime=7.0)
        with writer.use_metadata(global_step=20, walltime=101.5):
            writer.add_scalar("in the next", 1.0)
    assert points(tmp_path) == [("inside", 10, 100.5), ("after", 0, 7.0), ("in the next", 20, 101.5)]


def test_metadata_that_makes_no_sense(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(ValueError, match="needs a global_step or a walltime, got neither"), writer.use_metadata():
            pass
        with pytest.raises(ValueError, match="a step must be a whole number"), writer.use_metadata(global_step=np.nan):
            pass
        with writer.use_metadata(global_step=1):
            with (
                pytest.raises(ValueError, match="use_metadata blocks cannot be nested"),
                writer.use_metadata(global_step=2),
            ):
                pass
            writer.add_scalar("t", 1.0, walltime=5.0)
    assert points(tmp_path) == [("t", 1, 5.0)]


def test_scalars_are_exported_as_tensorboardx_exports_them(tmp_path: Path) -> None:
    exported: dict[str, Any] = {}
    for name, writer_class in {"ours": SummaryWriter, "theirs": tensorboardX.SummaryWriter}.items():
        folder = tmp_path / name
        with writer_class(str(folder)) as writer:
            writer.add_scalars("loss/all", {"train": 1.0, "test": 0.5}, 5, 10.0)
            writer.add_scalars("loss/all", {"train": 0.75}, 6, 11.0)
            writer.export_scalars_to_json(str(tmp_path / f"{name}.json"))
        content = json.loads((tmp_path / f"{name}.json").read_text())
        exported[name] = {key.removeprefix(str(folder)): value for key, value in content.items()}
    assert exported["theirs"] == {
        "/loss/all/train": [[10.0, 5, 1.0], [11.0, 6, 0.75]],
        "/loss/all/test": [[10.0, 5, 0.5]],
    }
    assert exported["ours"] == {
        "/loss_all_train/loss/all": [[10.0, 5, 1.0], [11.0, 6, 0.75]],
        "/loss_all_test/loss/all": [[10.0, 5, 0.5]],
    }


def test_all_scalars_of_all_files_are_exported(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path / "run")
    writer.add_scalar("loss", 1.0, 1, 10.0)
    writer.close()
    writer.add_scalar("loss", float("nan"), 2, 11.0)
    writer.add_text("note", "x", 2)
    writer.export_scalars_to_json(tmp_path / "scalars.json")
    ((key, rows),) = json.loads((tmp_path / "scalars.json").read_text()).items()
    assert key == f"{tmp_path / 'run'}/loss"
    assert rows[0] == [10.0, 1, 1.0]
    assert rows[1][:2] == [11.0, 2]
    assert np.isnan(rows[1][2])
    writer.close()


def test_nothing_is_sent_to_comet(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing is sent to Comet"):
        SummaryWriter(tmp_path / "run", comet_config={"project_name": "p"})
    assert not (tmp_path / "run").exists()
    SummaryWriter(tmp_path / "run", comet_config=None).close()
