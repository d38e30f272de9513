"""The methods of `SummaryWriter` for distributions, tensors, curves, hyperparameters and chart layouts."""

import os
import posixpath
import time
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from stepscope.summary.arguments import checked_folder, checked_scalar, checked_tag
from stepscope.summary.kinds.custom_scalars import custom_scalars, layout_of, merged_layouts
from stepscope.summary.kinds.histogram import Bins, histogram_of_buckets, prepared_histogram
from stepscope.summary.kinds.hparams import (
    checked_hparams,
    experiment,
    hparam_infos,
    metric_infos,
    session_end,
    session_start,
    start_info,
)
from stepscope.summary.kinds.pr_curve import pr_curve, pr_curve_of_counts, pr_curves_of_classes
from stepscope.summary.kinds.tensor import tensor as tensor_value
from stepscope.summary.proto import hparams_pb2
from stepscope.summary.proto.custom_scalars_pb2 import Layout
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.hparams_pb2 import Experiment, SessionEndInfo
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.storage import is_address
from stepscope.summary.writer_base import ValueWriter


class StatisticsMethods(ValueWriter):
    """Histograms, tensors, PR curves, hyperparameters and custom scalars."""

    _layout: Layout
    """All chart categories added so far."""

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Bins = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add the distribution of ``values``, of any shape; see `stepscope.summary.kinds.histogram.histogram`."""
        prepared = prepared_histogram(checked_tag(tag), values, bins, max_bins, legacy=self._legacy)
        self._add_prepared(prepared, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a distribution counted elsewhere; see `stepscope.summary.kinds.histogram.histogram_of_buckets`."""
        value = histogram_of_buckets(checked_tag(tag), min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self.add_value(value, global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Add numbers of any shape and dtype, unchanged; see `stepscope.summary.kinds.tensor.tensor`."""
        self.add_value(tensor_value(checked_tag(tag), tensor), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add the precision-recall curve of a binary classifier; see `stepscope.summary.kinds.pr_curve.pr_curve`."""
        value = pr_curve(checked_tag(tag), labels, predictions, num_thresholds, weights)
        self.add_value(value, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve counted elsewhere, with one number per threshold in each array.

        ``num_thresholds`` and ``weights`` are accepted for compatibility with PyTorch: the length of the arrays sets
        the number of thresholds, and the arrays are already weighted.
        """
        value = pr_curve_of_counts(
            checked_tag(tag),
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
        )
        self.add_value(value, global_step, walltime)

    def add_pr_curves(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        """Add one precision-recall curve ``<tag>/<class>`` per class, for that class against all others.

        Args:
            tag: the prefix of the tags.
            labels: the class of each sample, numbered from 0, shape [samples].
            predictions: the probability of each class, shape [samples, classes].
            global_step: the step.
            num_thresholds: the number of thresholds.
            weights: the weight of each sample, shape [samples].
            walltime: the wall time.
            class_names: suffixes of the tags; by default the class numbers.
        """
        values = pr_curves_of_classes(checked_tag(tag), labels, predictions, num_thresholds, weights, class_names)
        self._add_event(Event(summary=Summary(value=values)), global_step, walltime)

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Add chart categories: category -> chart -> ["Multiline", tags] or ["Margin", [value, lower, upper]].

        Charts added earlier are kept, except those with the same category and title; see `layout_of` in
        `stepscope.summary.kinds.custom_scalars`.
        """
        added = layout_of(layout)
        with self._merge_lock:
            self._layout = merged_layouts(self._layout, added)
            self.add_value(custom_scalars(self._layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Add one chart of all scalars whose tags match any of the regular expressions ``tags``."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Add one chart of a scalar and its bounds; ``tags`` names the value, the lower and the upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
        *,
        name: str | None = None,
    ) -> None:
        """Add a finished session in its own run: its hyperparameters, and its metrics as scalars.

        Args:
            hparam_dict: booleans, numbers, strings or None by name.
            metric_dict: final metrics by tag.
            hparam_domain_discrete: all values that a hyperparameter may take, by name.
            run_name: the run's folder within the log directory; by default the current time in seconds.
            global_step: the metrics' step.
            name: tensorboardX's name for ``run_name``.

        Raises:
            TypeError, ValueError: an argument has the wrong type or value, or ``run_name`` is outside ``log_dir``.
        """
        hparams = checked_hparams(hparam_dict)
        if not isinstance(metric_dict, Mapping):
            raise TypeError(f"metrics must map tags to numbers, got {type(metric_dict).__name__}")
        metrics = {
            checked_tag(tag): checked_scalar(number, f"the metric {tag!r}") for tag, number in metric_dict.items()
        }
        infos = hparam_infos(hparams, hparam_domain_discrete)
        step, wall_time = self._checked(global_step, None)
        values = [
            experiment(Experiment(hparam_infos=infos, metric_infos=metric_infos(metrics))),
            session_start(start_info(hparams)),
            session_end(SessionEndInfo(status=hparams_pb2.STATUS_SUCCESS)),
        ]
        folder = _run_folder(self.log_dir, self._folder.address, run_name or name or str(time.time()))
        writer = self._file_writer(self._folder.child(folder))
        for value in values:
            writer.add_event(Event(step=step, summary=Summary(value=[value])), wall_time)
        for tag, number in metrics.items():
            writer.add_scalar(tag, number, step, wall_time)
        writer.close()


def _run_folder(log_dir: str, resolved: str, run_name: object) -> str:
    """Return the run's folder relative to the log directory; ``run_name`` may be a path or address inside it.

    ``resolved`` is the path of ``log_dir``, which stays the same when the program changes its folder.
    """
    if not isinstance(run_name, str):
        raise TypeError(f"run_name must be a string, got {type(run_name).__name__}")
    if is_address(log_dir):
        relative = run_name.removeprefix(log_dir.rstrip("/") + "/")
    else:
        relative = os.path.relpath(os.path.join(resolved, run_name), resolved) if "\0" not in run_name else run_name
    folder = PurePosixPath(posixpath.normpath(relative.replace(os.sep, "/")))
    checked_folder(str(folder), "run_name")
    if "\0" in run_name or folder.is_absolute() or ".." in folder.parts or is_address(relative):
        raise ValueError(f"run_name must name a folder in the log directory {log_dir}, got {run_name!r}")
    return str(folder)
