"""A JAX step function with measurements inserted for every value that one of its operations makes.

The function is traced to a jaxpr, which is interpreted operation by operation inside `jax.jit`, so that the values are
measured where they are made, in the same compiled program.
"""

import re
from collections.abc import Callable, Container, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.extend import core
from jax.tree_util import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten

from stepscope.debug.catalog import Lines, Place, is_of_program
from stepscope.debug.jax_health import counts_and_measures
from stepscope.debug.jax_loops import LOOPS, Inside, Loop, Measurements, Outputs, run_loop

_INLINED: Final = (
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "checkpoint",
    "remat2",
)
"""Operations that only call others; these are examined instead."""
_CALLED: Final = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""The parameters of these operations that hold what they call."""
_VIEWS: Final = (
    "reshape",
    "transpose",
    "broadcast_in_dim",
    "squeeze",
    "expand_dims",
    "copy",
    "copy_p",
    "stop_gradient",
)
"""Operations that produce no new values."""
_TRANSFORMATION: Final = re.compile(r"\b(?:jvp|transpose|vmap|jit|pjit|remat|checkpoint|rematted_computation)\(|\)")
_MOST_FRAMES: Final = 64


@dataclass(frozen=True)
class Program:
    """A step function with measurements."""

    run: Callable[[Sequence[Any]], tuple[list[Any], Any, Any, dict[int, Any]]]
    """Takes the arrays among the arguments; returns the results' leaves, counts, measures, and values by place."""
    places: tuple[Place, ...]
    """The measured places, in order."""
    result: Any
    """The tree of the results."""
    notes: tuple[str, ...]
    """Notes on what is not observed."""


def arrays_and_rest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], tuple[Any, ...], list[int]]:
    """Split arguments into arrays and the rest, which must be hashable.

    Returns:
        The arrays; a key that distinguishes the arguments from those of another program; the arrays' indices among all
            leaves.
    """
    leaves, tree = tree_flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if _is_array(leaf)]
    rest = tuple(leaf for leaf in leaves if not _is_array(leaf))
    arrays = [leaves[place] for place in places]
    kinds = tuple((jnp.shape(array), str(jnp.result_type(array)), _is_weak(array)) for array in arrays)
    return arrays, (tree, rest, kinds), places


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") or isinstance(leaf, int | float | complex)


def _is_weak(array: Any) -> bool:
    return not hasattr(array, "dtype") or bool(getattr(array, "weak_type", False))


def traced(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
    chosen: Callable[[str], bool],
    *,
    role: Callable[[str], tuple[str, str]] | None = None,
    keep: Container[int] = (),
    every_file: bool = False,
) -> Program:
    """Return a program that does what a function does for such arguments, and measures.

    Args:
        function: a function of arrays; may be jitted.
        args: arguments like those it is called with.
        kwargs: likewise.
        names: names of the positional arguments.
        chosen: returns, for a name, whether the value is measured.
        role: returns, for an argument's path, its name, and its phase if it is state that a step returns again.
        keep: indices of places whose values are returned themselves.
        every_file: whether to keep lines of libraries.
    """
    leaves, tree = tree_flatten((args, kwargs))
    _, _, places = arrays_and_rest(args, kwargs)

    def of_arrays(*arrays: Any) -> Any:
        filled = list(leaves)
        for place, array in zip(places, arrays, strict=True):
            filled[place] = array
        own_args, own_kwargs = tree_unflatten(tree, filled)
        return function(*own_args, **own_kwargs)

    closed, shape = jax.make_jaxpr(of_arrays, return_shape=True)(*(leaves[place] for place in places))
    result_leaves, result_tree = tree_flatten(shape)
    paths = [path for path, _ in tree_flatten_with_path((args, kwargs))[0]]
    shown = [_argument_name(paths[place], names) for place in places]
    kept = _state_of(closed, shown, len(result_leaves))
    roles = [(role or _usual_role)(name) for name in shown]
    writer = _Interpreter(chosen, keep, every_file=every_file)

    def run(arrays: Sequence[Any]) -> tuple[list[Any], Any, Any, dict[int, Any]]:
        return writer.program(closed, arrays, roles, kept)

    # Tracing once determines what is measured.
    jax.eval_shape(run, [leaves[place] for place in places])
    return Program(jax.jit(run), tuple(writer.found.places), result_tree, tuple(writer.notes))


def _usual_role(name: str) -> tuple[str, str]:
    return name, "parameter"


def _argument_name(path: Any, names: Sequence[str]) -> str:
    """Return the name of an argument's leaf, such as "params/dense/kernel"."""
    kind, *inside = path
    if getattr(kind, "idx", 0) == 0 and inside:
        place = inside[0].idx
        head = names[place] if place < len(names) else f"argument{place}"
        rest = keystr(tuple(inside[1:]), simple=True, separator="/")
        return f"{head}/{rest}" if rest else head
    return str(keystr(tuple(inside), simple=True, separator="/"))


def _state_of(closed: Any, shown: Sequence[str], results: int) -> dict[int, int]:
    """Return which result takes the place of which argument in the next step.

    This is the case if the first results match the leaves of an argument in number, shapes and types.
    """
    kinds = [(variable.aval.shape, variable.aval.dtype) for variable in closed.jaxpr.invars]
    given = [(variable.aval.shape, variable.aval.dtype) for variable in closed.jaxpr.outvars]
    heads = [name.partition("/")[0] for name in shown]
    found: dict[int, int] = {}
    used = 0
    for head in dict.fromkeys(heads):
        leaves = [place for place, other in enumerate(heads) if other == head]
        for begin in range(used, results - len(leaves) + 1):
            if all(given[begin + n] == kinds[place] for n, place in enumerate(leaves)):
                found.update({place: begin + n for n, place in enumerate(leaves)})
                used = begin + len(leaves)
                break
    return found


class _Interpreter:
    """Runs a jaxpr, and collects measurements."""

    def __init__(self, chosen: Callable[[str], bool], keep: Container[int], *, every_file: bool) -> None:
        self._chosen: Final = chosen
        self._keep: Final = keep
        self._every_file: Final = every_file
        self.notes: dict[str, None] = {}
        self.found = Measurements()
        """The measurements of the jaxpr that is running."""

    def program(
        self, closed: Any, arrays: Sequence[Any], roles: Sequence[tuple[str, str]], kept: dict[int, int]
    ) -> tuple[list[Any], Any, Any, dict[int, Any]]:
        self.found = Measurements(self._keep)
        numbers: list[int | None] = []
        for place, ((name, phase), array) in enumerate(zip(roles, arrays, strict=True)):
            if place in kept:
                numbers.append(self._measure(name, phase, array))
            else:
                numbers.append(self._measure(name, "forward", array, op_type="input"))
        results = self._run(closed.jaxpr, closed.consts, arrays, numbers, "", (), is_backward=False)
        values = [value for value, _ in results]
        for place, result in kept.items():
            name, phase = roles[place]
            if phase == "parameter" and _is_floating(arrays[place]):
                self._measure(name, "update", values[result] - arrays[place])
        return values, *self.found.table(), self.found.kept

    def _inside(
        self,
        closed: Any,
        values: Sequence[Any],
        keep: Set[int],
        most_rows: int,
        module: str,
        lines: Lines,
        is_backward: bool,
    ) -> Inside:
        """Run the body of a loop or a branch, and measure it separately from the enclosing jaxpr."""
        around, self.found = self.found, Measurements(keep, most_rows)
        try:
            arguments = [-1 - place for place in range(len(values))]
            results = self._run(closed.jaxpr, closed.consts, values, arguments, module, lines, is_backward=is_backward)
            return Inside([value for value, _ in results], [number for _, number in results], self.found)
        finally:
            self.found = around

    def _run(
        self,
        jaxpr: Any,
        constants: Sequence[Any],
        arrays: Sequence[Any],
        numbers: Sequence[int | None],
        module: str,
        lines: Lines,
        *,
        is_backward: bool,
    ) -> list[tuple[Any, int | None]]:
        known: dict[Any, tuple[Any, int | None]] = {}

        def read(variable: Any) -> tuple[Any, int | None]:
            return (variable.val, None) if isinstance(variable, core.Literal) else known[variable]

        known.update({v: (c, None) for v, c in zip(jaxpr.constvars, constants, strict=True)})
        known.update(zip(jaxpr.invars, zip(arrays, numbers, strict=True), strict=True))
        for equation in jaxpr.eqns:
            taken = [read(variable) for variable in equation.invars]
            outputs = self._operation(equation, taken, module, lines, is_backward=is_backward)
            known.update(zip(equation.outvars, outputs, strict=True))
        return [read(variable) for variable in jaxpr.outvars]

    def _operation(
        self, equation: Any, taken: list[tuple[Any, int | None]], module: str, outer: Lines, *, is_backward: bool
    ) -> list[tuple[Any, int | None]]:
        primitive, scope = equation.primitive, str(equation.source_info.name_stack)
        is_backward = is_backward or "transpose(" in scope
        own = _TRANSFORMATION.sub("", scope).strip("/")
        path = "/".join(part for part in (module, own) if part)
        # A jitted function that others have traced before does not know who calls it now.
        lines = self._lines(equation.source_info.traceback) or outer
        values = [value for value, _ in taken]
        called = next((equation.params[key] for key in _CALLED if key in equation.params), None)
        if primitive.name in _INLINED and called is not None:
            inner, constants = (called.jaxpr, called.consts) if hasattr(called, "consts") else (called, ())
            if len(inner.invars) == len(values):
                numbers = [number for _, number in taken]
                return self._run(inner, constants, values, numbers, path, lines, is_backward=is_backward)
        inputs = tuple(number for _, number in taken if number is not None)
        phase = "backward" if is_backward else "forward"
        name = f"{path}/{primitive.name}" if path else primitive.name
        made = self._loop(equation, taken, name, lines, is_backward=is_backward) if primitive.name in LOOPS else None
        if made is None:
            found = _bound(primitive, values, equation.params)
            made = [(value, inputs) for value in (found if primitive.multiple_results else [found])]
        if primitive.name in _VIEWS and len(inputs) == 1:
            return [(value, inputs[0]) for value, _ in made]
        op_type = f"jax.{primitive.name}"
        if primitive.name == "name":
            name, op_type = str(equation.params["name"]), ""
        return [
            (
                value,
                self._measure(
                    f"{name}:{slot}" if slot else name,
                    phase,
                    value,
                    module=path,
                    op_type=op_type,
                    slot=slot,
                    inputs=made_of or inputs,
                    lines=lines,
                ),
            )
            for slot, (value, made_of) in enumerate(made)
        ]

    def _loop(
        self, equation: Any, taken: list[tuple[Any, int | None]], name: str, lines: Lines, *, is_backward: bool
    ) -> Outputs | None:
        """Run a loop or branches with their contents measured; None if they have to run as they are."""
        if equation.effects:
            self.notes[f"{name} has side effects: it is observed as one operation, by its outputs."] = None
            return None
        if isinstance(self.found.keep, range):
            self.notes[
                "For values inside loops and branches, only statistics are recorded, not the values themselves."
            ] = None
        loop = Loop(
            name,
            lines,
            taken,
            equation.params,
            self.found,
            partial(self._inside, module=name, lines=lines, is_backward=is_backward),
            lambda note: self.notes.update({note: None}),
        )
        return run_loop(equation.primitive.name, loop)

    def _measure(
        self,
        name: str,
        phase: str,
        value: Any,
        *,
        module: str = "",
        op_type: str = "",
        slot: int = 0,
        inputs: tuple[int, ...] = (),
        lines: Lines = (),
    ) -> int | None:
        if not _is_floating(value) or not self._chosen(name):
            return None
        found = self.found
        counts, measures = counts_and_measures(jnp.asarray(value))
        dtype, shape = str(jnp.result_type(value)), tuple(jnp.shape(value))
        place = Place(name, phase, module, op_type, slot, dtype, shape, inputs, lines)
        number = found.add([place], counts[None], measures[None])
        if number in found.keep:
            found.kept[number] = value
        return number

    def _lines(self, traceback: Any) -> Lines:
        found: list[tuple[str, int, str]] = []
        for frame in traceback.frames if traceback is not None else ():
            if self._every_file or is_of_program(frame.file_name):
                line = frame.start_line if hasattr(frame, "start_line") else frame.line_num
                found.append((frame.file_name, line, frame.function_name))
            if len(found) == _MOST_FRAMES:
                break
        return tuple(reversed(found))


def _bound(primitive: Any, values: Sequence[Any], params: Any) -> Any:
    """Return the results of an operation; JAX before 0.10 passes functions among its parameters by position."""
    parameters = primitive.get_bind_params(params)
    if isinstance(parameters, tuple):
        functions, parameters = parameters
        return primitive.bind(*functions, *values, **parameters)
    return primitive.bind(*values, **parameters)


def _is_floating(value: Any) -> bool:
    dtype = jnp.result_type(value)
    return bool(jnp.issubdtype(dtype, jnp.inexact))
