"""`StepscopeLogger` compared with Lightning's ``TensorBoardLogger`` in one training run."""

import os
import pickle
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning", reason="Lightning is not installed: see make test-integrations")

import lightning.pytorch as pl
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities.rank_zero import rank_zero_only

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.integrations.lightning import StepscopeLogger

REPOSITORY = Path(__file__).resolve().parents[2]


class Line(pl.LightningModule):  # type: ignore[misc]
    """Fits a line."""

    def __init__(self, learning_rate: float = 0.125, layers: tuple[int, ...] = (1, 2)) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.example_input_array = torch.ones(2, 1)
        self.line = torch.nn.Linear(1, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.line(inputs)
        return output

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        inputs, targets = batch
        loss = torch.nn.functional.mse_loss(self(inputs), targets)
        self.log("loss/train", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        inputs, targets = batch
        self.log("loss/val", torch.nn.functional.mse_loss(self(inputs), targets))

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=self.hparams["learning_rate"])


def fit(folder: Path, *loggers: Any) -> pl.Trainer:
    inputs = torch.linspace(-1, 1, 12)[:, None]
    batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, 2 * inputs), batch_size=2)
    trainer = pl.Trainer(
        logger=list(loggers),
        max_epochs=2,
        log_every_n_steps=2,
        accelerator="cpu",
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Line(), batches, batches)
    return trainer


def layout(folder: Path) -> list[str]:
    """All files and folders; event files appear without the varying parts of their names."""
    return sorted(
        os.path.join(path.parent.relative_to(folder), "events" if "tfevents" in path.name else path.name)
        for path in folder.rglob("*")
    )


def messages(folder: Path) -> dict[str, Any]:
    """The hyperparameter messages, by tag."""
    found = {}
    for run in open_logdir(folder).runs.values():
        for tag, series in run.series.items():
            if series.kind == "hparams":
                found[tag] = series.read(0)
    return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of Lightning's logger and of ours, from the same training run."""
    folder = tmp_path_factory.mktemp("lightning")
    theirs, ours = folder / "theirs", folder / "ours"
    settings: dict[str, Any] = {"prefix": "line", "sub_dir": "events"}
    fit(folder / "root", TensorBoardLogger(theirs, **settings), StepscopeLogger(ours, **settings))
    return theirs, ours


def test_scalars_are_the_same(folders: tuple[Path, Path], scalars: Callable[[Path], Any]) -> None:
    theirs, ours = map(scalars, folders)
    run = theirs["lightning_logs/version_0/events"]
    assert run.keys() == {
        "line-hp_metric", "line-epoch", "line-loss/train_step", "line-loss/train_epoch", "line-loss/val"
    }  # fmt: skip
    assert [step for step, _ in run["line-loss/train_step"]] == [1, 3, 5, 7, 9, 11]
    assert ours == theirs


def test_folders_and_files_are_the_same(folders: tuple[Path, Path]) -> None:
    theirs, ours = folders
    # Checkpoints belong to the first logger, which is theirs.
    assert layout(ours) == [path for path in layout(theirs) if "checkpoints" not in path]
    hparams = "lightning_logs/version_0/events/hparams.yaml"
    assert (ours / hparams).read_text() == (theirs / hparams).read_text() != ""


def test_hyperparameters_are_the_same(folders: tuple[Path, Path]) -> None:
    theirs, ours = map(messages, folders)
    start = theirs["_hparams_/session_start_info"].session_start_info.hparams
    assert start["learning_rate"].number_value == 0.125
    assert ours["_hparams_/session_start_info"] == theirs["_hparams_/session_start_info"]
    assert ours["_hparams_/session_end_info"] == theirs["_hparams_/session_end_info"]
    own, peer = (sessions["_hparams_/experiment"].experiment for sessions in (ours, theirs))
    assert list(own.hparam_infos) == list(peer.hparam_infos)
    # Theirs names the metric without the prefix that the scalar has.
    assert [info.name.tag for info in own.metric_infos] == ["line-hp_metric"]


def test_checkpoints_are_where_lightning_puts_them(tmp_path: Path) -> None:
    logger = StepscopeLogger(tmp_path, name="line", version="first")
    trainer = fit(tmp_path / "root", logger)
    assert trainer.checkpoint_callback is not None
    assert trainer.checkpoint_callback.dirpath == str(tmp_path / "line" / "first" / "checkpoints")
    assert logger.log_dir == str(tmp_path / "line" / "first")


def test_versions_are_counted(tmp_path: Path) -> None:
    (tmp_path / "line" / "version_3").mkdir(parents=True)
    (tmp_path / "line" / "version_x").mkdir()
    (tmp_path / "line" / "version_9").write_text("no folder")
    for logger in (TensorBoardLogger(tmp_path, "line"), StepscopeLogger(tmp_path, "line")):
        assert (logger.version, logger.log_dir) == (4, str(tmp_path / "line" / "version_4"))
    for logger in (TensorBoardLogger(tmp_path, None), StepscopeLogger(tmp_path, None)):
        assert (logger.name, logger.version, logger.root_dir) == ("", 0, os.path.join(tmp_path, ""))


def test_versions_are_counted_where_variables_lead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "line" / "version_3").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RUNS", str(tmp_path))
    for save_dir in ("~", "$RUNS"):
        assert StepscopeLogger(save_dir, "line").log_dir == str(tmp_path / "line" / "version_4")


@dataclass
class Optimizer:
    name: str
    rate: float


def test_nested_hyperparameters_are_the_same(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    params = {
        "optimizer": Optimizer("sgd", 0.5),
        "data": {"seeds": [1, 2], "shuffle": True, "parts": [{"rows": 3}, {"rows": 4}], "device": torch.device("cpu")},
        "space": Namespace(width=8),
        "rate": torch.tensor([0.25]),
        "weights": torch.zeros(2, 2),
        "nothing": None,
    }
    for logger in (TensorBoardLogger(tmp_path / "theirs"), StepscopeLogger(tmp_path / "ours")):
        logger.log_hyperparams(dict(params), {"accuracy": 0.5}, step=3)
        logger.finalize("success")
    theirs, ours = messages(tmp_path / "theirs"), messages(tmp_path / "ours")
    peer, own = (dict(one["_hparams_/session_start_info"].session_start_info.hparams) for one in (theirs, ours))
    # PyTorch writes a boolean as a number.
    assert peer.pop("data/shuffle").number_value == 1
    assert own.pop("data/shuffle").bool_value is True
    assert own == peer
    assert scalars(tmp_path / "ours") == scalars(tmp_path / "theirs") == {
        "lightning_logs/version_0": {"accuracy": [(3, 0.5)]}
    }  # fmt: skip


def test_no_metric_and_no_default_leaves_hyperparameters_to_the_yaml_file(tmp_path: Path) -> None:
    logger = StepscopeLogger(tmp_path, default_hp_metric=False)
    logger.log_hyperparams({"rate": 0.5})
    logger.finalize("success")
    assert messages(tmp_path) == {}
    assert (tmp_path / "lightning_logs/version_0/hparams.yaml").read_text() == "rate: 0.5\n"


def test_metrics_of_several_names_and_wrong_ones(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    logger = StepscopeLogger(tmp_path, name="", version=0)
    logger.log_metrics({"loss": {"train": 1, "val": torch.tensor(2.0)}, "rate": 0.5}, step=4)
    with pytest.raises(ValueError, match="the metric 'bad' must have one element"):
        logger.log_metrics({"good": 1, "bad": torch.zeros(2)}, step=5)
    logger.finalize("failed")
    assert scalars(tmp_path) == {
        "version_0": {"rate": [(4, 0.5)]},
        "version_0/loss_train": {"loss": [(4, 1.0)]},
        "version_0/loss_val": {"loss": [(4, 2.0)]},
    }


def test_the_graph_is_that_of_the_model(tmp_path: Path) -> None:
    fit(tmp_path / "root", StepscopeLogger(tmp_path / "with", log_graph=True), StepscopeLogger(tmp_path / "without"))
    kinds = {
        name: {series.kind for run in open_logdir(tmp_path / name).runs.values() for series in run.series.values()}
        for name in ("with", "without")
    }
    assert kinds["with"] - kinds["without"] == {"graphs"}


def test_other_ranks_write_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    logger = StepscopeLogger(tmp_path)
    logger.experiment.add_scalar("loss", 1, 0)
    logger.log_metrics({"loss": 1})
    logger.log_hyperparams({"rate": 1})
    logger.save()
    logger.finalize("success")
    assert list(tmp_path.iterdir()) == []


def test_the_experiment_is_a_writer_and_stays_here_when_the_logger_is_sent_elsewhere(tmp_path: Path) -> None:
    logger = StepscopeLogger(tmp_path, filename_suffix=".mine")
    assert isinstance(logger.experiment, SummaryWriter)
    sent = pickle.loads(pickle.dumps(logger))
    assert sent.version == logger.version == 0
    assert sent.experiment is not logger.experiment
    logger.finalize("failed")
    sent.finalize("failed")
    assert len(list(tmp_path.rglob("*.mine"))) == 2


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_it_goes_with_the_package_that_is_in_use(package: str, tmp_path: Path) -> None:
    pytest.importorskip(package.split(".")[0])
    code = f"""
import {package} as pl
from {package}.demos.boring_classes import BoringModel
from stepscope.summary.integrations.lightning import StepscopeLogger

class Model(BoringModel):
    def training_step(self, batch, index):
        self.log("loss", 1.0)
        return super().training_step(batch, index)

logger = StepscopeLogger({str(tmp_path)!r})
assert isinstance(logger, pl.loggers.logger.Logger), type(logger).__mro__
pl.Trainer(logger=logger, max_steps=4, log_every_n_steps=2, enable_progress_bar=False, enable_checkpointing=False,
           limit_val_batches=0, accelerator="cpu").fit(Model())
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY, capture_output=True)
    (run,) = open_logdir(tmp_path).runs.values()
    assert run.series["loss"].steps.tolist() == [1, 3]
