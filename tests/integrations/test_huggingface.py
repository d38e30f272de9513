"""`StepscopeCallback` compared with Transformers' ``TensorBoardCallback`` in one training run of a tiny model."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="Transformers is not installed: see make test-integrations")

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.integrations import TensorBoardCallback

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.integrations.huggingface import StepscopeCallback, tag_of

ROWS = [{"input_ids": torch.tensor([1 + row % 5, 2, 3]), "labels": row % 2} for row in range(16)]


@pytest.fixture(autouse=True)
def no_folder_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENSORBOARD_LOGGING_DIR", raising=False)


def trainer(folder: Path, *callbacks: Any, **settings: Any) -> Any:
    config = BertConfig(
        vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, num_labels=2
    )
    torch.manual_seed(0)
    arguments = TrainingArguments(
        str(folder),
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        per_device_train_batch_size=4,
        **{"logging_steps": 2, "max_steps": 6, "eval_strategy": "steps", "eval_steps": 3, "save_strategy": "no"}
        | settings,
    )
    model = BertForSequenceClassification(config)
    return Trainer(model, arguments, train_dataset=ROWS, eval_dataset=ROWS[:4], callbacks=list(callbacks))


SMALL = {"vocab_size": 32, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}


@pytest.mark.parametrize(
    "model",
    [
        GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=8, n_layer=1, n_head=1, bos_token_id=1, eos_token_id=2)),
        LlamaForCausalLM(LlamaConfig(hidden_size=8, num_key_value_heads=1, **SMALL)),
        T5ForConditionalGeneration(T5Config(vocab_size=32, d_model=8, d_kv=8, d_ff=8, num_layers=1, num_heads=1)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_graphs_of_models_with_a_cache(model: Any, tmp_path: Path) -> None:
    tokens = torch.tensor([[1, 2, 3]])
    inputs = {"input_ids": tokens, "decoder_input_ids": tokens} if model.config.is_encoder_decoder else tokens
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, inputs)
    graph = open_logdir(tmp_path).runs["."].series["__run_graph__"].read(0)
    assert any(node.op == "aten.linear.default" or "addmm" in node.op for node in graph.node)
    assert model.config.use_cache


def test_scalars_and_texts_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scalars: Callable[[Path], Any]
) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "theirs"))
    peer = TensorBoardCallback()
    tested = trainer(tmp_path / "output", peer, StepscopeCallback(log_dir=tmp_path / "ours"))
    tested.train()
    theirs, ours = scalars(tmp_path / "theirs"), scalars(tmp_path / "ours")
    assert [step for step, _ in theirs["."]["train/loss"]] == [2, 4, 6]
    assert [step for step, _ in theirs["."]["eval/loss"]] == [3, 6]
    assert ours == theirs
    texts = [
        {
            tag: str(series.read(0).strings.reshape(-1)[0])
            for tag, series in open_logdir(folder).runs["."].series.items()
            if series.kind == "text"
        }
        for folder in (tmp_path / "theirs", tmp_path / "ours")
    ]
    assert texts[0] == texts[1]
    assert json.loads(texts[1]["args/text_summary"])["max_steps"] == 6
    assert json.loads(texts[1]["model_config/text_summary"])["hidden_size"] == 8


def test_hyperparameters_are_those_of_the_arguments(tmp_path: Path) -> None:
    trainer(tmp_path, StepscopeCallback(log_dir=tmp_path / "logs"), learning_rate=0.125).train()
    series = open_logdir(tmp_path / "logs").runs["."].series
    hparams = series["_hparams_/session_start_info"].read(0).session_start_info.hparams
    assert hparams["learning_rate"].number_value == 0.125
    assert hparams["use_cpu"].bool_value is True
    assert series["_hparams_/session_end_info"].steps.tolist() == [6]


def test_the_folder_is_below_the_output_by_default(tmp_path: Path) -> None:
    trainer(tmp_path, StepscopeCallback(), eval_strategy="no").train()
    (run,) = open_logdir(tmp_path).runs
    assert run.startswith("runs/")


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "named"))
    trainer(tmp_path / "output", StepscopeCallback()).train()
    assert list(open_logdir(tmp_path).runs) == ["named"]


def test_an_evaluation_after_the_training_goes_to_the_same_run(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    tested = trainer(tmp_path / "output", StepscopeCallback(log_dir=tmp_path / "logs"))
    tested.train()
    tested.evaluate(metric_key_prefix="test")
    assert [step for step, _ in scalars(tmp_path / "logs")["."]["test/loss"]] == [6]


def test_an_evaluation_alone(tmp_path: Path, scalars: Callable[[Path], Any]) -> None:
    trainer(tmp_path / "output", StepscopeCallback(log_dir=tmp_path / "logs")).evaluate()
    assert [step for step, _ in scalars(tmp_path / "logs")["."]["eval/loss"]] == [0]


def test_a_training_that_goes_on_from_a_checkpoint_supersedes_what_came_after_it(
    tmp_path: Path, scalars: Callable[[Path], Any]
) -> None:
    settings: dict[str, Any] = {"save_strategy": "steps", "save_steps": 4, "logging_steps": 1, "eval_strategy": "no"}
    trainer(tmp_path / "output", StepscopeCallback(log_dir=tmp_path / "logs"), **settings).train()
    resumed = trainer(tmp_path / "output", StepscopeCallback(log_dir=tmp_path / "logs"), **settings, max_steps=8)
    resumed.train(resume_from_checkpoint=os.path.join(tmp_path, "output", "checkpoint-4"))
    run = open_logdir(tmp_path / "logs").runs["."]
    assert run.series["train/loss"].steps.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert run.series["train/loss"].superseded == 2


def test_what_is_no_number_is_left_out_with_a_warning(
    tmp_path: Path, scalars: Callable[[Path], Any], caplog: pytest.LogCaptureFixture
) -> None:
    tested = trainer(tmp_path / "output", StepscopeCallback(log_dir=tmp_path / "logs"))
    tested.log({"pair": [1, 2], "note": "halfway", "one": torch.tensor(2.0), "nan": float("nan")})
    assert caplog.messages == ["left out of the log: the metric 'pair' must have one element, got shape (2,)"]
    (run,) = open_logdir(tmp_path / "logs").runs.values()
    assert {tag: series.kind for tag, series in run.series.items()} == {
        "train/note/text_summary": "text",
        "train/one": "scalars",
        "train/nan": "scalars",
        "train/epoch": "scalars",
    }


def test_each_trial_of_a_search_has_a_run_of_its_own(tmp_path: Path) -> None:
    tested = trainer(tmp_path, eval_strategy="no")
    callback = StepscopeCallback()
    for name in ("trial-1", "trial-2"):
        state = TrainerState(is_hyper_param_search=True, trial_name=name)
        callback.on_train_begin(tested.args, state, TrainerControl(), model=tested.model)
        callback.on_train_end(tested.args, state, TrainerControl())
    assert [Path(run).name for run in open_logdir(tmp_path).runs] == ["trial-1", "trial-2"]


def test_a_trial_without_an_end_is_closed_when_the_next_begins(tmp_path: Path) -> None:
    tested = trainer(tmp_path, eval_strategy="no")
    callback = StepscopeCallback()
    for name, is_pruned in (("trial-1", True), ("trial-2", False), ("trial-3", False)):
        before = callback._writer
        state = TrainerState(is_hyper_param_search=True, trial_name=name)
        callback.on_train_begin(tested.args, state, TrainerControl(), model=tested.model)
        assert before is None or before.file_writer is None
        if not is_pruned:
            callback.on_train_end(tested.args, state, TrainerControl())
    sessions = open_logdir(tmp_path).hparams().select("run", "status").rows()
    assert [(Path(run).name, status) for run, status in sessions] == [
        ("trial-1", "unknown"),
        ("trial-2", "success"),
        ("trial-3", "success"),
    ]


def test_the_trials_of_a_search_with_a_writer_of_ones_own(tmp_path: Path) -> None:
    tested = trainer(tmp_path / "output", eval_strategy="no")
    with SummaryWriter(tmp_path / "own") as writer:
        callback = StepscopeCallback(writer)
        for name in ("trial-1", "trial-2"):
            state = TrainerState(is_hyper_param_search=True, trial_name=name)
            callback.on_train_begin(tested.args, state, TrainerControl(), model=tested.model)
    assert list(open_logdir(tmp_path).runs) == ["own"]


def test_a_writer_of_ones_own(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path / "own") as writer:
        trainer(tmp_path / "output", StepscopeCallback(writer)).train()
        writer.add_scalar("mine", 1, 7)
    assert {"train/loss", "mine"} <= open_logdir(tmp_path / "own").runs["."].series.keys()
    with pytest.raises(TypeError, match="give either writer or log_dir, got both"):
        StepscopeCallback(writer, log_dir=tmp_path)


@pytest.mark.parametrize(
    ("name", "tag"),
    [("loss", "train/loss"), ("eval_loss", "eval/loss"), ("test_a_b", "test/a_b"), ("evaluation", "train/evaluation")],
)
def test_tags(name: str, tag: str) -> None:
    assert tag_of(name) == tag
