"""A Keras training step as a TensorFlow graph that measures layer outputs, and every operation if requested.

The step is traced once for each kind of batch. The values seen during tracing are measured in the same graph and
returned as one more result, so that the graph does not have to call anything.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from typing import Any, Final

import tensorflow as tf

from stepscope.debug.catalog import Lines, Place, is_of_program
from stepscope.debug.keras_names import layers_of, patched, variable_names
from stepscope.debug.tensorflow_health import is_measurable, size_and_sums

_HANDED_ON: Final = frozenset(
    ("Identity", "IdentityN", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "Transpose")
)
"""Operations that produce no new values."""
_LEFT_OUT: Final = frozenset(
    ("Const", "Placeholder", "ReadVariableOp", "Shape", "ShapeN", "Size", "Rank", "VarIsInitializedOp")
)
_LOOPS: Final = frozenset(
    ("While", "StatelessWhile", "If", "StatelessIf", "Case", "PartitionedCall", "StatefulPartitionedCall")
)
_BACKWARD: Final = "gradient_tape/"
_MOST_FRAMES: Final = 64


@dataclass
class Observed:
    """The values seen while tracing a step."""

    places: list[Place] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)
    """Place of each tensor, by the tensor's identity."""
    read: dict[tuple[str, int], int] = field(default_factory=dict)
    """Place of each parameter, by the handle of its variable."""
    parameters: dict[int, int] = field(default_factory=dict)
    """Place of each variable, by the variable's identity."""
    modules: list[tuple[int, str]] = field(default_factory=list)
    """The number of operations when a layer began or ended, and the layer that was running from then on."""
    running: list[str] = field(default_factory=list)
    updating: range = range(0)
    """The numbers of the optimizer's operations."""
    notes: dict[str, None] = field(default_factory=dict)

    def device_of(self, place: int) -> str:
        """Return the device of a value; empty if TensorFlow chose among several devices, as no graph states that."""
        name = self.tensors[place].device or _only_device()
        return str(name).rpartition("device:")[2].lower()


class StepTracer:
    """Traces training steps of a model.

    Args:
        model: a built Keras model, on TensorFlow.
        step: its ``train_step``.
        chosen: returns, for a name, whether the value is measured.
        gradients: whether to measure gradients of parameters.
        updates: whether to measure what is added to parameters.
        optimizer_state: whether to measure arrays that the optimizer keeps.
        every_file: whether to keep lines of libraries.
    """

    def __init__(
        self,
        model: Any,
        step: Callable[..., Any],
        chosen: Callable[[str], bool],
        *,
        gradients: bool,
        updates: bool,
        optimizer_state: bool,
        every_file: bool,
    ) -> None:
        self._model: Final = model
        self._step: Final = step
        self._chosen: Final = chosen
        self._gradients: Final = gradients
        self._updates: Final = updates
        self._optimizer_state: Final = optimizer_state
        self._every_file: Final = every_file

    def traced(
        self, args: tuple[Any, ...], keep: Callable[[int], bool], *, operations: bool
    ) -> tuple[Callable[..., Any], Observed]:
        """Return the step as a function of such arguments, and what it measures.

        The function returns the step's result, the rows of `size_and_sums`, and the kept values by place.

        Args:
            args: arguments like those it is called with.
            keep: returns, for the index of a place, whether the value itself is returned.
            operations: whether to measure every operation.
        """
        found = Observed()

        def body(*own: Any) -> tuple[Any, Any, dict[str, Any]]:
            # TensorFlow may trace more than once.
            observed = Observed()
            result = self._run(own, observed, operations=operations)
            rows = [size_and_sums(tensor) for tensor in observed.tensors]
            values = {str(at): tensor for at, tensor in enumerate(observed.tensors) if keep(at)}
            vars(found).update(vars(observed))
            observed_rows = tf.stack(rows) if rows else tf.zeros((0, 0), tf.float64)
            return result, observed_rows, values

        concrete = tf.function(body, autograph=False).get_concrete_function(*args)
        return concrete, found

    def _run(self, args: tuple[Any, ...], observed: Observed, *, operations: bool) -> Any:
        names = variable_names(self._model)
        graph = tf.compat.v1.get_default_graph()
        trained = [(names[id(v)], v) for v in self._model.trainable_variables]
        first = _count(graph)
        before: dict[int, Any] = {}
        for name, variable in trained:
            value = tf.convert_to_tensor(variable.value)
            before[id(variable)] = value
            if value.op.type == "ReadVariableOp":
                observed.read.setdefault(_key(value.op.inputs[0]), len(observed.places))
            place = self._observe(observed, "parameter", name, value)
            if place is not None:
                observed.parameters[id(variable)] = place
        with self._hooks(observed, graph, names, before):
            result = self._step(*args)
        own = range(first, _count(graph))
        if self._updates:
            for name, variable in trained:
                self._observe(observed, "update", name, tf.convert_to_tensor(variable.value) - before[id(variable)])
        if self._optimizer_state:
            for variable in self._model.optimizer.variables:
                if variable.shape:
                    self._observe(observed, "update", variable.path, tf.convert_to_tensor(variable.value))
        if operations:
            self._observe_operations(observed, graph, own)
        return result

    @contextmanager
    def _hooks(self, observed: Observed, graph: Any, names: dict[int, str], before: dict[int, Any]) -> Iterator[None]:
        undo = [
            patched(layer, "call", self._calling(observed, graph, path, layer))
            for path, layer in layers_of(self._model)
        ]
        optimizer = self._model.optimizer
        if optimizer is not None:
            undo.append(patched(optimizer, "apply", self._applying(observed, graph, optimizer.apply, names)))
        try:
            yield
        finally:
            for take_off in reversed(undo):
                take_off()

    def _calling(self, observed: Observed, graph: Any, path: str, layer: Any) -> Callable[..., Any]:
        call, name = layer.call, path or type(layer).__name__

        @wraps(call)
        def observing(*args: Any, **kwargs: Any) -> Any:
            if tf.compat.v1.get_default_graph() is not graph:
                observed.notes[f"{name} runs in a loop or a branch of the graph, whose inside is not seen."] = None
                return call(*args, **kwargs)
            taken = _tensors_in((args, kwargs), graph)
            for slot, value in enumerate(taken):
                if id(value) not in observed.known and not observed.running:
                    ending = f"{name}:input{slot or ''}"
                    self._observe(observed, "forward", ending, value, module=path, op_type="input", slot=slot)
            observed.running.append(path)
            observed.modules.append((_count(graph), path))
            try:
                output = call(*args, **kwargs)
            finally:
                observed.running.pop()
                observed.modules.append((_count(graph), observed.running[-1] if observed.running else ""))
            inputs = [observed.known[id(value)] for value in taken if id(value) in observed.known]
            inputs += [observed.parameters[id(v)] for v in layer.trainable_variables if id(v) in observed.parameters]
            for slot, value in enumerate(_tensors_in(output, graph)):
                full = f"{name}:{slot}" if slot else name
                self._observe(
                    observed,
                    "forward",
                    full,
                    value,
                    module=path,
                    op_type=type(layer).__name__,
                    slot=slot,
                    inputs=inputs,
                    lines=self._lines(value.op),
                )
            return output

        return observing

    def _applying(
        self, observed: Observed, graph: Any, apply: Callable[..., Any], names: dict[int, str]
    ) -> Callable[..., Any]:
        @wraps(apply)
        def observing(grads: Any, trainable_variables: Any = None) -> Any:
            variables = trainable_variables
            if variables is None:
                variables = self._model.optimizer._trainable_variables
            if self._gradients:
                for gradient, variable in zip(grads, variables, strict=False):
                    name = names.get(id(variable))
                    if gradient is not None and name is not None:
                        self._observe(observed, "backward", name, tf.convert_to_tensor(gradient))
            begin = _count(graph)
            result = apply(grads, trainable_variables)
            observed.updating = range(begin, _count(graph))
            return result

        return observing

    def _observe(
        self,
        observed: Observed,
        phase: str,
        name: str,
        value: Any,
        *,
        module: str = "",
        op_type: str = "",
        slot: int = 0,
        inputs: Sequence[int] = (),
        lines: Lines = (),
    ) -> int | None:
        if not self._chosen(name) or not is_measurable(value):
            return None
        shape = tuple(value.shape) if value.shape.is_fully_defined() else None
        place = len(observed.places)
        dtype = value.dtype.name
        observed.places.append(
            Place(name, phase, module, op_type, slot, dtype, shape, tuple(dict.fromkeys(inputs)), lines)
        )
        observed.tensors.append(value)
        observed.known.setdefault(id(value), place)
        return place

    # --- single operations -----------------------------------------------------------------------------------------

    def _observe_operations(self, observed: Observed, graph: Any, own: range) -> None:
        """Measure the results of every operation of the step, and sort everything by the order in which it is made."""
        operations = graph.get_operations()
        numbers = {operation.name: number for number, operation in enumerate(operations)}
        starts, paths = [at for at, _ in observed.modules], [path for _, path in observed.modules]
        places = {_key(tensor): place for place, tensor in enumerate(observed.tensors)}
        scopes = _scopes(operations, own)
        for number in own:
            operation = operations[number]
            if operation.type in _LOOPS:
                observed.notes[f"What runs inside of {operation.type} operations of the graph is not seen."] = None
            inputs = [places[_key(taken)] for taken in operation.inputs if _key(taken) in places]
            if operation.type in _HANDED_ON and inputs:
                for taken, given in zip(operation.inputs, operation.outputs, strict=False):
                    if _key(taken) in places:
                        places.setdefault(_key(given), places[_key(taken)])
                continue
            if operation.type in _LEFT_OUT:
                if operation.type == "ReadVariableOp" and _key(operation.inputs[0]) in observed.read:
                    places.setdefault(_key(operation.outputs[0]), observed.read[_key(operation.inputs[0])])
                continue
            origins, phase = [number], "forward"
            if operation.name.startswith(_BACKWARD):
                origins, phase = _forward_of(operation.name, numbers, scopes) or origins, "backward"
            elif number in observed.updating:
                phase = "update"
            within = {paths[at] if (at := bisect_right(starts, origin) - 1) >= 0 else "" for origin in origins}
            module = within.pop() if len(within) == 1 and phase != "update" else ""
            name = f"{module}/{operation.type}" if module else operation.type
            lines = _common([self._lines(operations[origin]) for origin in origins])
            for slot, given in enumerate(operation.outputs):
                if given.dtype.is_floating or given.dtype.is_complex:
                    ending = f"{name}:{slot}" if slot else name
                    place = self._observe(
                        observed,
                        phase,
                        ending,
                        given,
                        module=module,
                        op_type=f"tf.{operation.type}",
                        slot=slot,
                        inputs=inputs,
                        lines=lines,
                    )
                    if place is not None:
                        places[_key(given)] = place
        self._put_in_order(observed, numbers)

    @staticmethod
    def _put_in_order(observed: Observed, numbers: dict[str, int]) -> None:
        """Sort by the operation that makes a value; values named after a layer or a parameter come after it."""
        made = [numbers.get(tensor.op.name, -1) for tensor in observed.tensors]
        named = ["/" not in place.name for place in observed.places]
        order = sorted(range(len(made)), key=lambda place: (made[place], named[place], place))
        new = {old: place for place, old in enumerate(order)}
        observed.tensors = [observed.tensors[old] for old in order]
        observed.places = [
            replace(found, inputs=tuple(new[taken] for taken in found.inputs))
            for found in (observed.places[old] for old in order)
        ]

    def _lines(self, operation: Any) -> Lines:
        """Return the lines of the program that made an operation."""
        frames = [
            (frame.filename, frame.lineno, frame.name)
            for frame in operation.traceback
            if self._every_file or is_of_program(frame.filename)
        ]
        return tuple(frames[-_MOST_FRAMES:])


@cache
def _only_device() -> str:
    devices = tf.config.list_logical_devices()
    return devices[0].name if len(devices) == 1 else ""


def _key(tensor: Any) -> tuple[str, int]:
    return tensor.op.name, tensor.value_index


def _count(graph: Any) -> int:
    return len(graph.get_operations())


def _scopes(operations: Sequence[Any], own: range) -> dict[str, list[int]]:
    """Return the numbers of operations that do not belong to a gradient, by the name scope in which they were made."""
    scopes: dict[str, list[int]] = {}
    for number in own:
        operation = operations[number]
        if not operation.name.startswith(_BACKWARD) and operation.type not in _LEFT_OUT:
            scopes.setdefault(operation.name.rpartition("/")[0], []).append(number)
    return scopes


def _forward_of(name: str, numbers: dict[str, int], scopes: dict[str, list[int]]) -> list[int]:
    """Return the numbers of the candidate operations of which an operation is a gradient.

    Gradients are made in a scope named after the operation, or after the scope in which that was made.
    """
    scope = name.removeprefix(_BACKWARD).rpartition("/")[0]
    while scope:
        if scope in scopes:
            return scopes[scope]
        if scope in numbers:
            return [numbers[scope]]
        scope = scope.rpartition("/")[0]
    return []


def _common(all_lines: Sequence[Lines]) -> Lines:
    """Return the frames with which all stacks begin."""
    first, *others = all_lines
    count = 0
    while count < len(first) and all(lines[: count + 1] == first[: count + 1] for lines in others):
        count += 1
    return first[:count]


def _tensors_in(value: Any, graph: Any) -> list[Any]:
    """Return the tensors of a graph in a layer's inputs or outputs."""
    return [leaf for leaf in tf.nest.flatten(value) if tf.is_tensor(leaf) and getattr(leaf, "graph", None) is graph]
