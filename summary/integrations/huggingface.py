"""`StepscopeCallback`: a callback for the Trainer of Hugging Face's Transformers, in place of TensorBoard's.

from transformers import Trainer, TrainingArguments
from stepscope.summary.integrations.huggingface import StepscopeCallback

arguments = TrainingArguments("output", report_to="none")
Trainer(model, arguments, train_dataset=dataset, callbacks=[StepscopeCallback()]).train()
"""

import logging
import os
from collections.abc import Mapping
from typing import Any, Final

from stepscope.summary.arguments import checked_number
from stepscope.summary.integrations.sessions import end_session, plain_hparams
from stepscope.summary.kinds.hparams import session_start, start_info
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.writer import SummaryWriter, default_log_dir

try:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ImportError as error:
    raise ImportError(
        f"stepscope.summary.integrations.huggingface needs Transformers: pip install 'transformers[torch]' ({error})"
    ) from error

_logger: Final = logging.getLogger(__name__)

_DIRECTORY_VARIABLE: Final = "TENSORBOARD_LOGGING_DIR"


class StepscopeCallback(TrainerCallback):  # type: ignore[misc]
    """Writes a Trainer's logs and arguments, the model's configuration, and the session's hyperparameters.

    Tags are the same as in ``transformers.integrations.TensorBoardCallback``: ``eval_loss`` is written as
    ``eval/loss``, ``test_loss`` as ``test/loss``, and everything else as ``train/...``. Only the rank 0 process writes.
    Training that resumes from a checkpoint supersedes the points after it.

    Args:
        writer: the writer to write to, in all trials of a hyperparameter search; by default one is created when
            training begins.
        log_dir: the folder of the created writer; by default the environment variable TENSORBOARD_LOGGING_DIR, else the
            arguments' ``logging_dir``, else ``<output_dir>/runs/<date>_<host>``. In a hyperparameter search, each trial
            has its own folder within the last of these.

    Raises:
        TypeError: both are given.
    """

    def __init__(self, writer: SummaryWriter | None = None, *, log_dir: str | os.PathLike[str] | None = None) -> None:
        if writer is not None and log_dir is not None:
            raise TypeError(
                "log_dir is for a writer that the callback creates itself: give either writer or log_dir, got both "
                f"(log_dir={log_dir!r})"
            )
        self._given: Final = writer
        self._writer = writer
        self._in_session = False
        self._log_dir: Final = log_dir

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Write the arguments and the configuration as text, and the hyperparameters."""
        if not state.is_world_process_zero:
            return
        if self._given is None and state.is_hyper_param_search and state.trial_name is not None:
            self._leave_trial()
            self._writer = self._new_writer(os.path.join(args.output_dir, default_log_dir(""), state.trial_name), 0)
        writer = self._writer_for(args, state)
        writer.add_text("args", args.to_json_string())
        config = getattr(kwargs.get("model"), "config", None)
        if config is not None:
            writer.add_text("model_config", config.to_json_string())
        hparams = plain_hparams(args.to_sanitized_dict())
        writer.add_summary(Summary(value=[session_start(start_info(hparams))]))
        self._in_session = True

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Write numbers as scalars and strings as text; warn of anything else."""
        if not state.is_world_process_zero or not logs:
            return
        writer = self._writer_for(args, state)
        for name, value in logs.items():
            tag = tag_of(name)
            if isinstance(value, str):
                writer.add_text(tag, value, state.global_step)
                continue
            try:
                writer.add_scalar(tag, checked_number(value, f"the metric {name!r}"), state.global_step)
            except (TypeError, ValueError) as error:
                _logger.warning("left out of the log: %s", error)
        writer.flush()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Write the end of the session, and close the file; logging later opens another file."""
        if not state.is_world_process_zero or self._writer is None:
            return
        end_session(self._writer, step=state.global_step)
        self._in_session = False
        self._writer.close()

    def _leave_trial(self) -> None:
        """Close the file of the previous trial, of which a Trainer reports no end if it was pruned or failed."""
        if self._writer is None:
            return
        if self._in_session:
            end_session(self._writer, hparams_pb2.STATUS_UNKNOWN)
        self._writer.close()

    def _writer_for(self, args: TrainingArguments, state: TrainerState) -> SummaryWriter:
        if self._writer is None:
            log_dir = self._log_dir or os.environ.get(_DIRECTORY_VARIABLE) or getattr(args, "logging_dir", None)
            folder = os.path.expanduser(log_dir) if log_dir else os.path.join(args.output_dir, default_log_dir(""))
            self._writer = self._new_writer(folder, state.global_step)
        return self._writer

    def _new_writer(self, folder: str, global_step: int) -> SummaryWriter:
        return SummaryWriter(folder, purge_step=global_step + 1 if global_step else None)


def tag_of(name: str) -> str:
    """Return the tag of values that a Trainer logs under ``name``."""
    for start in ("eval", "test"):
        if name.startswith(f"{start}_"):
            return f"{start}/{name[len(start) + 1 :]}"
    return f"train/{name}"
