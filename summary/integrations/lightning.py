"""`StepscopeLogger`: a logger for Lightning, with the folders, tags and steps of Lightning's ``TensorBoardLogger``.

    from lightning.pytorch import Trainer
    from stepscope.summary.integrations.lightning import StepscopeLogger

    trainer = Trainer(logger=StepscopeLogger("runs", name="resnet"))

It works with the packages ``lightning`` and ``pytorch_lightning``, whichever the training code has imported.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from importlib.util import find_spec
from typing import Any, Final

from fsspec.core import url_to_fs

from stepscope.summary.arguments import checked_number, checked_step, checked_tag
from stepscope.summary.integrations.sessions import begin_session, end_session
from stepscope.summary.writer import SummaryWriter

try:
    if "lightning.pytorch" in sys.modules or ("pytorch_lightning" not in sys.modules and find_spec("lightning")):
        from lightning.pytorch.core.saving import save_hparams_to_yaml
        from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
        from lightning.pytorch.utilities.rank_zero import rank_zero_only, rank_zero_warn
    else:
        from pytorch_lightning.core.saving import save_hparams_to_yaml
        from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
        from pytorch_lightning.utilities.rank_zero import rank_zero_only, rank_zero_warn
except ImportError as error:
    raise ImportError(
        "stepscope.summary.integrations.lightning needs Lightning 2: pip install lightning, or pytorch-lightning "
        f"({error})"
    ) from error

_HPARAMS_FILE: Final = "hparams.yaml"
_PREFIX_JOINT: Final = "-"


class StepscopeLogger(Logger):  # type: ignore[misc]
    """Logs Lightning training to ``<save_dir>/<name>/version_<number>``, from the rank 0 process only.

    Args:
        save_dir: the folder of all experiments.
        name: the experiment's folder; with "" or None, the versions are in ``save_dir``.
        version: the run's number, or its folder if a string; by default one more than the highest existing number.
        log_graph: if True, write the model's graph, provided that it has an ``example_input_array``.
        default_hp_metric: if True, write the metric ``hp_metric`` of -1 with hyperparameters that have no metrics;
            otherwise, write such hyperparameters only to ``hparams.yaml``.
        prefix: prefix of every tag, followed by a "-".
        sub_dir: a folder within the run's folder for the event file.
        **writer_arguments: further arguments of `SummaryWriter`.
    """

    def __init__(
        self,
        save_dir: str | os.PathLike[str],
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        log_graph: bool = False,
        default_hp_metric: bool = True,
        prefix: str = "",
        sub_dir: str | os.PathLike[str] | None = None,
        **writer_arguments: Any,
    ) -> None:
        super().__init__()
        self._save_dir: Final = os.fspath(save_dir)
        self._name: Final = name or ""
        self._version = version
        self._log_graph: Final = log_graph
        self._default_hp_metric: Final = default_hp_metric
        self._prefix: Final = prefix
        self._sub_dir: Final = None if sub_dir is None else os.fspath(sub_dir)
        self._writer_arguments: Final = writer_arguments
        self._writer: SummaryWriter | None = None
        self.hparams: dict[str, Any] = {}

    @property
    def save_dir(self) -> str:
        """The folder of all experiments."""
        return self._save_dir

    @property
    def name(self) -> str:
        """The experiment's name, or "" if it has none."""
        return self._name

    @property
    def version(self) -> int | str:
        """The run's number, or the name of its folder."""
        if self._version is None:
            self._version = _next_version(_expanded(self.root_dir))
        return self._version

    @property
    def root_dir(self) -> str:
        """The folder of all versions."""
        return os.path.join(self._save_dir, self._name)

    @property
    def sub_dir(self) -> str | None:
        """The folder within the run's folder for the event file."""
        return self._sub_dir

    @property
    def log_dir(self) -> str:
        """The folder of the event file, with ``~`` and environment variables expanded."""
        version = self.version if isinstance(self.version, str) else f"version_{self.version}"
        parts = (self.root_dir, version) if self._sub_dir is None else (self.root_dir, version, self._sub_dir)
        return _expanded(os.path.join(*parts))

    @property
    @rank_zero_experiment  # type: ignore[untyped-decorator]
    def experiment(self) -> SummaryWriter:
        """The writer, for anything that the logger has no method for; on other ranks, an object accepting any call."""
        if self._writer is None:
            self._writer = SummaryWriter(self.log_dir, **self._writer_arguments)
        return self._writer

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Write each number as a scalar, and each mapping of numbers as one chart of several runs.

        Raises:
            TypeError, ValueError: a metric is neither, in which case nothing is written.
        """
        at_step = checked_step(step)
        for tag, value in _checked_metrics(metrics, self._prefix).items():
            if isinstance(value, dict):
                self.experiment.add_scalars(tag, value, at_step)
            else:
                self.experiment.add_scalar(tag, value, at_step)

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_hyperparams(
        self, params: Mapping[str, Any] | Namespace | None, metrics: Any = None, step: int | None = None
    ) -> None:
        """Write hyperparameters, and their metrics as scalars.

        Args:
            params: values by name. Values nested in a mapping, dataclass or namespace get names such as
                ``optimizer/lr``; values other than numbers, strings and booleans are written as their `str`.
            metrics: numbers by tag, or one number, whose tag is ``hp_metric``.
            step: the metrics' step.
        """
        given = _as_mapping(params) or {}
        self.hparams.update(given)
        if metrics is None:
            metrics = {"hp_metric": -1} if self._default_hp_metric else {}
        elif not isinstance(metrics, Mapping):
            metrics = {"hp_metric": metrics}
        if not metrics:
            return
        tags = _checked_metrics(metrics, self._prefix)
        begin_session(self.experiment, dict(_flattened(given, "")), tags, step)
        self.log_metrics(metrics, step)
        end_session(self.experiment, step=step)

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Write the model's graph, if the logger was created with ``log_graph``.

        Args:
            model: the module.
            input_array: a tensor or a tuple of arguments; by default the module's ``example_input_array``.
        """
        if not self._log_graph:
            return
        inputs = getattr(model, "example_input_array", None) if input_array is None else input_array
        if inputs is None:
            rank_zero_warn("the graph is left out: the model has no example_input_array, and no input_array is given")
            return
        # Lightning's own loggers call these on a batch before the model sees it.
        for move in ("_on_before_batch_transfer", "_apply_batch_transfer_handler"):
            if hasattr(model, move):
                inputs = getattr(model, move)(inputs)
        self.experiment.add_graph(model, inputs)

    @rank_zero_only  # type: ignore[untyped-decorator]
    def save(self) -> None:
        """Write everything logged so far, and ``hparams.yaml`` if it does not exist yet."""
        self.experiment.flush()
        path = os.path.join(self.log_dir, _HPARAMS_FILE)
        filesystem, inner = url_to_fs(path)
        if not filesystem.isfile(inner):
            save_hparams_to_yaml(path, self.hparams)

    @rank_zero_only  # type: ignore[untyped-decorator]
    def finalize(self, status: str) -> None:
        """Close the event file; after a success, call `save` first."""
        if status == "success":
            self.save()
        if self._writer is not None:
            self._writer.close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the open files, which another process reopens."""
        return {**self.__dict__, "_writer": None}


def _expanded(path: str) -> str:
    return os.path.expanduser(os.path.expandvars(path))


def _next_version(root_dir: str) -> int:
    filesystem, inner = url_to_fs(root_dir)
    try:
        found = filesystem.ls(inner, detail=True)
    except OSError:
        return 0
    names = [os.path.basename(entry["name"].rstrip("/")) for entry in found if entry["type"] == "directory"]
    parts = [name.split("_")[1] for name in names if name.startswith("version_")]
    return max((int(number) + 1 for number in parts if number.isdigit()), default=0)


def _checked_metrics(metrics: Mapping[str, Any], prefix: str) -> dict[str, float | dict[str, float]]:
    checked: dict[str, float | dict[str, float]] = {}
    for name, value in metrics.items():
        tag = checked_tag(f"{prefix}{_PREFIX_JOINT}{name}" if prefix else name)
        if isinstance(value, Mapping):
            checked[tag] = {checked_tag(key): checked_number(one, f"the metric {key!r}") for key, one in value.items()}
        else:
            checked[tag] = checked_number(value, f"the metric {tag!r}")
    return checked


def _as_mapping(value: Any) -> Mapping[Any, Any] | None:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Namespace):
        return vars(value)
    return value if isinstance(value, Mapping) else None


def _flattened(params: Mapping[Any, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Yield names with "/" between the levels of mappings, and of lists of mappings, and their values."""
    for key, value in params.items():
        name = f"{above}/{key}" if above else str(key)
        mapping = _as_mapping(value)
        if mapping is not None:
            yield from _flattened(mapping, name)
        elif isinstance(value, list) and value and all(isinstance(element, Mapping) for element in value):
            for index, element in enumerate(value):
                yield from _flattened(element, f"{name}/{index}")
        else:
            yield name, value
