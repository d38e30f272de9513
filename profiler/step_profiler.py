"""Traced steps and ``tfprof``'s views of them, modeled on ``tf.compat.v1.profiler.Profiler``."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

from stepscope.profiler.trace_files import write_new
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.storage import Folder

if TYPE_CHECKING:
    import polars as pl

    from stepscope.profiler.trace import Trace

Command = Literal["scope", "graph", "op", "advise"]
"""A view of ``tfprof``, or its advisor."""

_AT_LEAST: Final[Mapping[str, tuple[str, int]]] = {
    "min_micros": ("total_ns", 1000),
    "min_cpu_micros": ("cpu_ns", 1000),
    "min_accelerator_micros": ("accelerator_ns", 1000),
    "min_bytes": ("bytes", 1),
    "min_occurrence": ("occurrences", 1),
}
"""Option -> column, and how many of the column's units make one of the option's."""
_ORDERS: Final[Mapping[str, str]] = {
    "name": "name",
    "micros": "total_ns",
    "cpu_micros": "cpu_ns",
    "accelerator_micros": "accelerator_ns",
    "bytes": "bytes",
    "occurrence": "occurrences",
}
_OPTIONS: Final = (*_AT_LEAST, "order_by", "max_depth", "show_name_regexes", "hide_name_regexes", "step")


class Profiler:
    """Traced steps and ``tfprof``'s views of them, modeled on ``tf.compat.v1.profiler.Profiler``.

    The views are tables of all steps together, as made by `stepscope.profiler.analysis.tfprof.tfprof`. Options have the
    names and meanings of ``tfprof``'s:

    - ``min_micros`` (of the total), ``min_cpu_micros``, ``min_accelerator_micros``, ``min_bytes``, ``min_occurrence``:
      only rows with at least this much;
    - ``max_depth``: only scopes with at most this many parts;
    - ``show_name_regexes``, ``hide_name_regexes``: only rows whose whole name matches one of the former, and none of
      the latter;
    - ``order_by``: "name", "micros", "cpu_micros", "accelerator_micros", "bytes" or "occurrence"; by default, longest
      first;
    - ``step``: only that step.
    """

    def __init__(self) -> None:
        self._steps: Final[dict[int, RunMetadata]] = {}

    @property
    def steps(self) -> tuple[int, ...]:
        """The traced steps, in order."""
        return tuple(self._steps)

    def add_step(self, step: int, run_metadata: RunMetadata) -> None:
        """Add what was traced of a step to what there already is of it."""
        known = self._steps.get(step)
        self._steps[step] = run_metadata if known is None else merged([known, run_metadata])

    def run_metadata(self) -> RunMetadata:
        """Return all traced steps as one message."""
        return merged(self._steps.values())

    def profile_name_scope(self, options: Mapping[str, Any] | None = None) -> "pl.DataFrame":
        """Return time by name scope: a row per scope and node."""
        return self._table("scope", options)

    def profile_graph(self, options: Mapping[str, Any] | None = None) -> "pl.DataFrame":
        """Return time by node, including the time of everything it needs."""
        return self._table("graph", options)

    def profile_operations(self, options: Mapping[str, Any] | None = None) -> "pl.DataFrame":
        """Return time by type of operation."""
        return self._table("op", options)

    def advise(self, graph: GraphDef | None = None) -> "pl.DataFrame":
        """Return the checks of ``tfprof``'s advisor; see `stepscope.profiler.analysis.tfprof.advice`."""
        from stepscope.profiler.analysis.tfprof import advice

        return advice(self._trace(None), graph)

    def write_profile(self, folder: Path | Folder, step: int) -> Path | str:
        """Write all traced steps as ``profile_<step>``, a RunMetadata; an existing file is kept.

        Raises:
            OSError: the file cannot be written.
        """
        return write_new(folder, f"profile_{step}", "", [self.run_metadata().SerializeToString()])

    def profile(self, command: Command, options: Mapping[str, Any] | None = None) -> "pl.DataFrame":
        """Return one of the views by name.

        Raises:
            ValueError: an option is unknown, or has an invalid value.
        """
        match command:
            case "scope" | "graph" | "op":
                return self._table(command, options)
            case "advise":
                return self.advise()
            case _:
                assert_never(command)

    def _table(self, view: Literal["scope", "graph", "op"], options: Mapping[str, Any] | None) -> "pl.DataFrame":
        from stepscope.profiler.analysis.tfprof import tfprof

        options = checked_options(options or {})
        return _shown(tfprof(self._trace(options.get("step")), view=view), options)

    def _trace(self, step: int | None) -> "Trace":
        from stepscope.profiler.traces import trace_of_step_stats

        if step is None or step < 0:  # -1 means all of them, as in tfprof
            return trace_of_step_stats(self.run_metadata().step_stats)
        if step not in self._steps:
            raise ValueError(f"step must be one of the traced steps {list(self._steps)}, got {step}")
        return trace_of_step_stats(self._steps[step].step_stats)


def merged(parts: Iterable[RunMetadata]) -> RunMetadata:
    """Merge several messages into one, in which each device occurs once, with the nodes of all messages."""
    whole = RunMetadata()
    devices = {}
    for part in parts:
        for device in part.step_stats.dev_stats:
            if device.device not in devices:
                devices[device.device] = whole.step_stats.dev_stats.add(device=device.device)
            devices[device.device].node_stats.extend(device.node_stats)
            devices[device.device].thread_names.update(device.thread_names)
        for field, value in part.ListFields():
            if field.name != "step_stats":
                whole.MergeFrom(RunMetadata(**{field.name: value}))
    return whole


def checked_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``options`` if they are valid; see `Profiler`.

    Raises:
        ValueError: an option is unknown, or has an invalid value.
    """
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ValueError(f"options must be of {', '.join(_OPTIONS)}; got {', '.join(map(repr, unknown))}")
    for name in (*_AT_LEAST, "max_depth", "step"):
        if not isinstance(options.get(name, 0), int):
            raise ValueError(f"the option {name} must be a whole number, got {options[name]!r}")
    if options.get("order_by", "name") not in _ORDERS:
        raise ValueError(f"the option order_by must be one of {', '.join(_ORDERS)}; got {options['order_by']!r}")
    for name in ("show_name_regexes", "hide_name_regexes"):
        patterns = options.get(name, ())
        if isinstance(patterns, str) or not all(isinstance(pattern, str) for pattern in patterns):
            raise ValueError(f"the option {name} must be a list of regular expressions, got {patterns!r}")
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"the option {name} has {pattern!r}, which is not a regular expression: {error}"
                ) from None
    return dict(options)


def _shown(table: "pl.DataFrame", options: Mapping[str, Any]) -> "pl.DataFrame":
    """Return the rows selected by the options, in their order."""
    import polars as pl

    for name, (column, unit) in _AT_LEAST.items():
        table = table.filter(pl.col(column) >= options.get(name, 0) * unit)
    if "max_depth" in options:
        table = table.filter(pl.col("name").str.count_matches("/", literal=True) < options["max_depth"])
    shown, hidden = (
        [re.compile(pattern) for pattern in options.get(name, ())]
        for name in ("show_name_regexes", "hide_name_regexes")
    )
    fits = [
        (not shown or any(pattern.fullmatch(name) for pattern in shown))
        and not any(pattern.fullmatch(name) for pattern in hidden)
        for name in table["name"].to_list()
    ]
    table = table.filter(pl.Series(fits, dtype=pl.Boolean))
    order = _ORDERS.get(options.get("order_by", ""))
    return table if order is None else table.sort(order, descending=order != "name", maintain_order=True)
