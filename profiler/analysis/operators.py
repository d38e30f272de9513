"""Operators: how often they ran, and how long on the host and on the device, by themselves and with what they call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.analysis.classify import KINDS
from stepscope.profiler.analysis.facts import Facts, facts_of, text, text_column
from stepscope.profiler.analysis.kernels import uses_tensor_cores
from stepscope.profiler.analysis.reasons import NO_OPERATORS
from stepscope.profiler.analysis.records import Analysis, Column
from stepscope.profiler.trace import Trace

if TYPE_CHECKING:
    import polars as pl

Key = Literal["name", "shape", "stack", "module", "annotation", "op_type"]
_SHAPE_KEYS: Final = ("Input Dims", "Input dims")
_NOT_OPERATORS: Final = ("DataParallel.forward", "DistributedDataParallel.forward")
_ELIGIBLE: Final = frozenset(
    [
        "aten::_convolution",
        "aten::conv1d",
        "aten::conv2d",
        "aten::conv3d",
        "aten::conv_tbc",
        "aten::conv_transpose1d",
        "aten::conv_transpose2d",
        "aten::conv_transpose3d",
        "aten::convolution",
        "aten::cudnn_convolution",
        "aten::cudnn_convolution_transpose",
        "aten::prelu",
        "aten::addmm",
        "aten::addmv",
        "aten::addr",
        "aten::matmul",
        "aten::mm",
        "aten::mv",
        "aten::linear",
        "aten::addbmm",
        "aten::baddbmm",
        "aten::bmm",
        "aten::chain_matmul",
        "aten::linalg_multi_dot",
        "aten::_thnn_fused_lstm_cell",
        "aten::_thnn_fused_gru_cell",
        "aten::lstm_cell",
        "aten::gru_cell",
        "aten::rnn_tanh_cell",
        "aten::rnn_relu_cell",
        "CudnnConvolutionBackward",
        "BmmBackward0",
        "aten::cudnn_convolution_transpose_backward",
        "CudnnConvolutionTransposeBackward",
        "MmBackward",
        "aten::cudnn_convolution_backward_weight",
        "aten::addmm_",
        "AddmvBackward",
        "MvBackward",
        "aten::cudnn_convolution_transpose_backward_weight",
        "aten::cudnn_convolution_transpose_backward_input",
        "AddmmBackward",
        "aten::cudnn_convolution_backward_input",
        "AddbmmBackward",
        "aten::cudnn_convolution_backward",
    ]
)
"""Operators that can run on tensor cores: PyTorch's ``autocast_mode.cpp`` and their backward, as in
torch-tb-profiler."""


@dataclass(frozen=True)
class Calls:
    """Calls of operators as parallel columns; a call that only repeats the call around it is part of that call.

    Times are int64 nanoseconds ``[n]``.
    """

    slice: NDArray[np.int64]
    parent: NDArray[np.int64]
    """Index of the enclosing call in these columns, or -1."""
    host_self: NDArray[np.int64]
    host_total: NDArray[np.int64]
    device_self: NDArray[np.int64]
    device_total: NDArray[np.int64]
    tensor_self: NDArray[np.int64]
    tensor_total: NDArray[np.int64]
    eligible: NDArray[np.bool_]
    is_operator: NDArray[np.bool_]
    """False for calls in the tree that are not operators, such as data loading."""


def operator_calls(trace: Trace | Facts) -> Calls:
    """Return the tree of operator calls with its times; see `tree_of_calls`."""
    return facts_of(trace).once(tree_of_calls)


def tree_of_calls(facts: Facts) -> Calls:
    """Build the tree of operator calls with its times.

    Like torch-tb-profiler's ``OpTreeBuilder``: a call whose only child has its name is merged with it; self time on the
    host is the duration without child calls and runtime calls; self time on the device is the time of everything its
    runtime calls launched; totals add the children's. A runtime call belongs to the operator that its external id
    names, if that encloses it, else to the innermost one that encloses it.
    """
    nodes = facts.operator_slices
    position = np.full(len(facts.trace), -1, np.int64)
    position[nodes] = np.arange(len(nodes))
    mask = position >= 0
    above = facts.nearest(mask)[nodes]
    parent = np.where(above >= 0, position[above], -1)
    own = _representatives(facts, nodes, parent)
    is_own = own == np.arange(len(nodes))
    # Parents enclose their children and are never merged into them, so one lookup suffices.
    parent = np.where(parent >= 0, own[parent], -1)
    duration = facts.trace.duration_ns[nodes]
    host_self = np.where(is_own, duration, 0)
    children = np.flatnonzero(is_own & (parent >= 0))
    np.subtract.at(host_self, parent[children], duration[children])
    owner, runtime = _runtime_owners(facts, position, own)
    np.subtract.at(host_self, owner, facts.trace.duration_ns[runtime])
    device_self, tensor_self = _device_times(facts, position, own, owner, runtime)
    level = _levels(parent, is_own)
    device_total, tensor_total = device_self.copy(), tensor_self.copy()
    kind = facts.kinds[nodes]
    operator = (kind != KINDS.index("data_loading")) & facts.named(nodes, is_operator_name)
    eligible = facts.named(nodes, _ELIGIBLE.__contains__) | (tensor_self > 0)
    for depth in range(int(level.max(initial=0)), 0, -1):
        here = np.flatnonzero(level == depth)
        np.add.at(device_total, parent[here], device_total[here])
        np.add.at(tensor_total, parent[here], tensor_total[here])
        np.logical_or.at(eligible, parent[here], eligible[here])
    keep = np.flatnonzero(is_own)
    number = np.full(len(nodes), -1, np.int64)
    number[keep] = np.arange(len(keep))
    kept_parent = parent[keep]
    return Calls(
        slice=nodes[keep],
        parent=np.where(kept_parent >= 0, number[kept_parent], -1),
        host_self=host_self[keep],
        host_total=duration[keep],
        device_self=device_self[keep],
        device_total=device_total[keep],
        tensor_self=tensor_self[keep],
        tensor_total=tensor_total[keep],
        eligible=eligible[keep],
        is_operator=operator[keep],
    )


def is_operator_name(name: str) -> bool:
    """Return whether a slice of the kind "operator" is one by its name too; torch-tb-profiler leaves wrappers out."""
    return not name.startswith("Optimizer.") and name not in _NOT_OPERATORS


def _representatives(facts: Facts, nodes: NDArray[np.int64], parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each node, the outermost of the calls it is merged with; usually itself."""
    count = np.bincount(parent[parent >= 0], minlength=len(nodes)) if len(nodes) else np.empty(0, np.int64)
    name, kind = facts.trace.name_id[nodes], facts.kinds[nodes]
    safe = np.maximum(parent, 0)
    merged = (parent >= 0) & (count[safe] == 1) & (name[safe] == name) & (kind[safe] == kind) if len(nodes) else parent
    own = np.where(merged, parent, np.arange(len(nodes)))
    while True:
        further = own[own] if len(own) else own
        if (further == own).all():
            return own
        own = further


def _runtime_owners(
    facts: Facts, position: NDArray[np.int64], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the node that each runtime call belongs to, and the call, for those that belong to one."""
    calls = facts.slices("runtime", "synchronization", on_device=False)
    enclosing = facts.nearest((position >= 0) & (facts.kinds != KINDS.index("data_loading")))[calls]
    owners = enclosing.copy()
    ids = facts.external_ids(facts.operator_slices)
    if (ids > 0).any():
        known = np.flatnonzero(ids > 0)
        known = known[np.argsort(ids[known], kind="stable")]
        external = facts.external_ids(calls)
        # Of several operators with the same number, take the last one.
        place = np.maximum(np.searchsorted(ids[known], external, side="right") - 1, 0)
        found = facts.operator_slices[known[place]]
        start, end = facts.trace.start_ns, facts.end_ns
        inside = (ids[known[place]] == external) & (start[found] <= start[calls]) & (end[calls] <= end[found])
        owners[inside] = found[inside]
    belongs = owners >= 0
    return own[position[owners[belongs]]], calls[belongs]


def _device_times(
    facts: Facts,
    position: NDArray[np.int64],
    own: NDArray[np.int64],
    owner: NDArray[np.int64],
    runtime: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the device time of each node's own launches, in total and in tensor-core kernels."""
    every = facts.every_device_activity
    every = every.where(every.of("kernel", "memcpy", "memset", "communication") & (every.launch >= 0))
    owner_of_slice = np.full(len(facts.trace), -1, np.int64)
    owner_of_slice[runtime] = owner
    # In StepStats, the operator itself is the launch.
    direct = position[every.launch]
    target = np.where(direct >= 0, own[np.maximum(direct, 0)] if len(own) else -1, owner_of_slice[every.launch])
    tensor = facts.named(every.slice, uses_tensor_cores) & every.of("kernel", "communication")
    device_self, tensor_self = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    known = target >= 0
    np.add.at(device_self, target[known], every.duration[known])
    np.add.at(tensor_self, target[known & tensor], every.duration[known & tensor])
    return device_self, tensor_self


def _levels(parent: NDArray[np.int64], is_own: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of calls around each call; 0 for those that are merged away."""
    level = np.zeros(len(parent), np.int64)
    above = np.where(is_own, parent, -1)
    while (above >= 0).any():
        level += above >= 0
        above = np.where(above >= 0, parent[above], -1)
    return level


def operators(
    trace: Trace | Facts, *, by: Sequence[Key] = ("name",), chosen: NDArray[np.bool_] | None = None
) -> "pl.DataFrame":
    """Return operators, grouped by any of name, input shape, call stack, module, annotation and op type.

    Sorted by self time on the device if there is any, else on the host; times are those of `operator_calls`, in
    nanoseconds. The shares of tensor cores are of the operator's kernel, copy and memset time, as in torch-tb-profiler.
    ``chosen`` (bool ``[slices]``) selects some calls only.

    Columns: one text column per key, calls (int64), host_self_ns, host_total_ns, device_self_ns, device_total_ns
    (int64), tensor_core_eligible (bool), tensor_core_self_percent, tensor_core_total_percent (float64).
    """
    import polars as pl

    facts = facts_of(trace)
    calls = operator_calls(facts)
    counted = calls.is_operator if chosen is None else calls.is_operator & chosen[calls.slice]
    slices = calls.slice[counted]
    columns: dict[str, pl.Series] = {key: key_texts(facts, slices, key) for key in by}
    frame = pl.DataFrame(
        {
            **columns,
            "host_self": calls.host_self[counted],
            "host_total": calls.host_total[counted],
            "device_self": calls.device_self[counted],
            "device_total": calls.device_total[counted],
            "tensor_self": calls.tensor_self[counted],
            "tensor_total": calls.tensor_total[counted],
            "eligible": calls.eligible[counted],
        }
    )
    times = ("host_self", "host_total", "device_self", "device_total")
    grouped = frame.group_by(*by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        *(pl.col(column).sum().alias(f"{column}_ns") for column in times),
        pl.col("eligible").any().alias("tensor_core_eligible"),
        *(
            pl.when(pl.col(f"device_{part}").sum() > 0)
            .then(100 * pl.col(f"tensor_{part}").sum() / pl.col(f"device_{part}").sum())
            .otherwise(0.0)
            .alias(f"tensor_core_{part}_percent")
            for part in ("self", "total")
        ),
    )
    order = "device_self_ns" if grouped["device_self_ns"].sum() else "host_self_ns"
    return grouped.sort(order, "host_self_ns", descending=True, maintain_order=True)


def key_texts(facts: Facts, slices: NDArray[np.int64], key: Key) -> "pl.Series":
    """Return the grouping key of each of some slices."""
    match key:
        case "name":
            return facts.name_column(slices)
        case "op_type":
            return text_column(facts.trace.category_id[slices], facts.trace.categories.__getitem__)
        case "shape":
            return facts.distinct(slices, *_SHAPE_KEYS).column(lambda each: text(_first(each, *_SHAPE_KEYS)))
        case "stack":
            return facts.distinct(slices, "Call stack").column(lambda each: text(each.get("Call stack")))
        case "module":
            return _modules(facts, slices)
        case "annotation":
            return facts.name_column(facts.nearest(facts.kinds == KINDS.index("annotation"))[slices])
        case _:
            assert_never(key)


def _first(arguments: "dict[str, object] | object", *keys: str) -> object:
    for key in keys:
        value = arguments.get(key) if hasattr(arguments, "get") else None
        if value is not None:
            return value
    return None


def _modules(facts: Facts, slices: NDArray[np.int64]) -> "pl.Series":
    """Return Kineto's "Module Hierarchy", else the innermost ``nn.Module: ...`` call around the operator."""
    is_module = np.array([name.startswith("nn.Module: ") for name in facts.trace.names] or [False], np.bool_)
    around = facts.nearest(is_module[facts.trace.name_id])[slices] if len(facts.trace) else slices
    enclosing = facts.name_column(around, lambda name: name.removeprefix("nn.Module: "))
    stated = facts.distinct(slices, "Module Hierarchy").column(lambda each: text(each.get("Module Hierarchy")))
    return stated.zip_with(stated != "", enclosing)


_KEY_COLUMNS: Final[Mapping[Key, Column]] = {
    "name": Column("name", "name of the operator"),
    "shape": Column("shape", "shapes of its inputs; empty if none were recorded"),
    "stack": Column("stack", "the call stack that it was called from, innermost frame first"),
    "module": Column("module", "the module (layer) that called it"),
    "annotation": Column("annotation", "the innermost annotation around it"),
    "op_type": Column("op_type", "its op type, as TensorFlow has it"),
}
_TIMES: Final = (
    Column("calls", "how often it was called", adds_up=True),
    Column(
        "host_self_ns",
        "time on the host, excluding the operators it calls and its runtime calls",
        adds_up=True,
    ),
    Column(
        "host_total_ns",
        "time on the host, including everything it calls; nested operators count in both, so it does not add up",
    ),
    Column(
        "device_self_ns", "device time of the work that the operator itself launched", adds_up=True, of_devices=True
    ),
    Column("device_total_ns", "device time including the work launched by the operators it calls", of_devices=True),
    Column("tensor_core_eligible", "whether the operator could use tensor cores", of_devices=True),
    Column(
        "tensor_core_self_percent",
        "share of its own device time in kernels that use tensor cores",
        of_devices=True,
    ),
    Column(
        "tensor_core_total_percent",
        "share of its total device time in kernels that use tensor cores",
        of_devices=True,
    ),
)


def columns_by(by: Sequence[Key]) -> tuple[Column, ...]:
    """Return the columns of operators grouped by some keys."""
    return (*(_KEY_COLUMNS[key] for key in by), *_TIMES)


def operators_by(name: str, about: str, by: Sequence[Key]) -> Analysis:
    """Return the analysis of operators grouped by some keys, with the given name."""
    return Analysis(
        name,
        about,
        lambda facts: operators(facts, by=tuple(by)),
        columns_by(by),
        title="Operators",
        description="Self times add up to the time of all operators; totals count nested ones again.",
        empty=NO_OPERATORS,
    )


OPERATORS: Final = operators_by("operators", "operators by name", ("name",))
"""Operators by name."""
BY_OTHER_KEYS: Final = (
    operators_by("operators_by_shape", "operators by name and input shape", ("name", "shape")),
    operators_by("operators_by_stack", "operators by name and call stack", ("name", "stack")),
    operators_by("modules", "operators by module", ("module",)),
    operators_by("annotations", "operators by annotation", ("annotation",)),
)
"""Operators by other keys."""
