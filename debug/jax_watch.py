"""Watch a JAX step function: every operation of it, inside the compiled program."""

import math
import threading
from collections.abc import Callable, Container
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_leaves, tree_unflatten

from stepscope.debug.catalog import Place
from stepscope.debug.catching import BadValue
from stepscope.debug.function_watch import FunctionWatcher, parameter_names
from stepscope.debug.jax_health import JaxHealth
from stepscope.debug.jax_program import Program, arrays_and_rest, traced
from stepscope.debug.recorder import Measured, Recorder
from stepscope.debug.verdict import MaskTracker
from stepscope.debug.watcher import Settings

_MOST_PROGRAMS: Final = 16
"""Maximum number of programs that are kept for arguments of different shapes."""
_EVERY_PLACE: Final = range(1 << 31)


@jax.jit  # type: ignore[untyped-decorator]
def _all_finite(arrays: list[Any]) -> Any:
    return jnp.stack([jnp.isfinite(array).all() for array in arrays]).all()


class JaxWatcher(FunctionWatcher):
    """Watches a step function of JAX arrays.

    Recorded steps run a copy of the function with measurements, which is compiled for each kind of arguments; others
    run the function as it is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        recorder: Recorder,
        settings: Settings,
        *,
        owns_writer: bool,
        plain: Callable[..., Any] | None = None,
        role: Callable[[str], tuple[str, str]] | None = None,
    ) -> None:
        """Create a watcher.

        Args:
            function: performs a step.
            recorder: where to record.
            settings: how the function is watched.
            owns_writer: whether to close the writer at the end.
            plain: runs in steps that are not recorded; the function itself by default.
            role: see `stepscope.debug.jax_program.traced`.
        """
        super().__init__(plain or function, recorder, settings, owns_writer=owns_writer)
        self._names: Final = parameter_names(function)
        self._traced: Final = function
        self._role: Final = role
        self._programs: dict[Any, Program] = {}
        self._lock: Final = threading.Lock()
        self.recorder.catalog.note(
            "Steps that are recorded run through a copy of the step function that measures: the compiler may order its"
            " sums differently than in the original function."
        )

    def is_finite(self, result: Any) -> bool:
        """Return whether all arrays in a step's result are finite; waits for the device."""
        leaves = [leaf for leaf in tree_leaves(result) if hasattr(leaf, "dtype") or isinstance(leaf, float)]
        numbers = [leaf for leaf in leaves if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)]
        return not numbers or bool(_all_finite(numbers))

    def _observed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[int], Measured, BadValue | None]:
        arrays, kinds, _ = arrays_and_rest(args, kwargs)
        detailed = self._settings.tensors != "health" and self._replaying is None and self._is_recorded(self._step)
        key = detailed, kinds
        with self._lock:
            program = self._programs.get(key)
            if program is None:
                if len(self._programs) >= _MOST_PROGRAMS:
                    self._programs.pop(next(iter(self._programs)))
                program = self._programs[key] = self._program(args, kwargs, _EVERY_PLACE if detailed else ())
        values, counts, measures, whole = program.run(arrays)
        device = device_name(counts)
        numbers = self.recorder.catalog.numbers(program.places, lambda place: device)
        kept = [place for place, number in enumerate(numbers) if number is not None]
        if len(kept) < len(numbers):
            counts, measures = counts[jnp.array(kept, int)], measures[jnp.array(kept, int)]
        places = [program.places[place] for place in kept]
        measured = JaxHealth(counts, measures, [_size(place) for place in places], [place.dtype for place in places])
        known = [number for number in numbers if number is not None]
        for place, number in zip(kept, known, strict=True):
            if place in whole:
                tensor = self.recorder.catalog.tensors[number]
                self._write_value(tensor.phase, tensor.name, _plain(whole[place]))
        bad = self._bad_value(args, kwargs, arrays, kept, known, measured) if self._replaying is not None else None
        return tree_unflatten(program.result, values), known, measured, bad

    def _bad_value(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        arrays: list[Any],
        kept: list[int],
        numbers: list[int],
        measured: JaxHealth,
    ) -> BadValue | None:
        """Return the first bad value itself, by running the program once more."""
        masks, tensors = MaskTracker(), self.recorder.catalog.tensors
        for place, number, figures in zip(kept, numbers, measured.figures(), strict=True):
            tensor = tensors[number]
            if not (figures[1:4] > 0).any() or masks.is_mask(number, tensor, figures):
                continue
            sources = [kept[numbers.index(source)] for source in tensor.inputs if source in numbers]
            *_, values = self._program(args, kwargs, (place, *sources)).run(arrays)
            return BadValue(
                tensor.phase, tensor.name, np.asarray(values[place]), tuple(np.asarray(values[s]) for s in sources)
            )
        return None

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any], keep: Container[int] = ()) -> Program:
        program = traced(
            self._traced,
            args,
            kwargs,
            self._names,
            self._chosen.__contains__,
            role=self._role,
            keep=keep,
            every_file=self._settings.every_file,
        )
        for note in program.notes:
            self.recorder.catalog.note(note)
        return program


def device_name(array: jax.Array) -> str:
    """Return the device of an array, such as "gpu:0", or "8 x gpu" for an array on several devices."""
    devices = sorted(array.devices(), key=lambda device: device.id)
    return f"{devices[0].platform}:{devices[0].id}" if len(devices) == 1 else f"{len(devices)} x {devices[0].platform}"


def _size(place: Place) -> int:
    """Return how many numbers a value has; a complex number counts as two."""
    return (2 if place.dtype.startswith("complex") else 1) * math.prod(place.shape or ())


def _plain(value: Any) -> Any:
    """Return a NumPy array, of a type that NumPy itself has."""
    return np.asarray(value.astype(jnp.float32) if value.dtype.kind == "V" else value)
