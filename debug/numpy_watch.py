"""Watch a NumPy step function: its arrays are views that report every NumPy function called on them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.catalog import described
from stepscope.debug.catching import BadValue
from stepscope.debug.function_watch import FunctionWatcher, parameter_names
from stepscope.debug.health import health
from stepscope.debug.recorder import Measured, Recorder
from stepscope.debug.verdict import MaskTracker
from stepscope.debug.watcher import Settings
from stepscope.summary.debugger.model import FIGURES, WatchedTensor


class NumpyWatcher(FunctionWatcher):
    """Watches a step function of NumPy arrays.

    In recorded steps, the function gets views of its arguments; its results are plain arrays again. Values that other
    code computes from an array, in C or by its methods, are observed when they are passed to a NumPy function again.
    """

    def __init__(
        self, function: Callable[..., Any], recorder: Recorder, settings: Settings, *, owns_writer: bool
    ) -> None:
        super().__init__(function, recorder, settings, owns_writer=owns_writer)
        self._names: Final = parameter_names(function)

    def is_finite(self, result: Any) -> bool:
        """Return whether all numbers in a step's result are finite."""
        return all(bool(np.isfinite(number).all()) for number in _leaves(result) if _is_floating(number))

    def _observed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[int], Measured, BadValue | None]:
        step = _Step(self)
        try:
            own = [
                step.watched(self._names[n] if n < len(self._names) else f"argument{n}", a) for n, a in enumerate(args)
            ]
            result = self._function(*own, **{name: step.watched(name, value) for name, value in kwargs.items()})
        finally:
            step.is_over = True
            _make_plain((args, kwargs))
        return _mapped(result, lambda array: array.view(np.ndarray)), step.numbers, step, step.bad

    def remember(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], None]:
        """Return a function that restores the arguments, as NumPy functions often write into them."""
        leaves = list(_leaves((args, kwargs)))
        copies = [(array, array.copy()) for array in leaves if isinstance(array, np.ndarray)]
        generators = [each.bit_generator for each in leaves if isinstance(each, np.random.Generator)]
        states = [(generator, generator.state) for generator in generators]
        contents = [(container, container.copy()) for container in _containers((args, kwargs))]

        def put_back() -> None:
            for container, before in contents:
                if isinstance(container, dict):
                    container.clear()
                    container.update(before)
                else:
                    container[:] = before
            for array, before in copies:
                if array.flags.writeable:
                    array[...] = before
            for generator, state in states:
                generator.state = state

        return put_back

    def observe(
        self, step: "_Step", name: str, array: Any, op_type: str, inputs: tuple[int, ...], *, with_lines: bool
    ) -> int | None:
        """Measure an array; return the number of its tensor."""
        if array.dtype.kind not in "fc" or name not in self._chosen:
            return None
        catalog = self.recorder.catalog
        lines = catalog.stack(sys._getframe(3)) if with_lines else ()
        count = step.counts[name, lines] = step.counts.get((name, lines), 0) + 1

        def describe() -> tuple[WatchedTensor, Any]:
            tensor = described(
                name, "forward", op_type=op_type, dtype=str(array.dtype), shape=array.shape, device="cpu", inputs=inputs
            )
            return tensor, lines

        number = self.recorder.number((name, lines, count), describe)
        if number is not None:
            step.add(number, array)
        return number

    def keep_value(self, number: int, array: NDArray[np.generic]) -> None:
        """Write a histogram of a value, or the value, depending on the settings."""
        if self._settings.tensors != "health" and not self.is_replaying and self._is_recorded(self._step):
            tensor = self.recorder.catalog.tensors[number]
            self._write_value(tensor.phase, tensor.name, array.copy())

    @property
    def is_replaying(self) -> bool:
        """Whether a step is being run again."""
        return self._replaying is not None


class _Step:
    """The measurements of a step; see `stepscope.debug.recorder.Measured`."""

    is_here: Final = True

    def __init__(self, watcher: NumpyWatcher) -> None:
        self.is_over = False
        """Whether the function has returned: arrays that it kept elsewhere are then computed with as they are."""
        self.numbers: list[int] = []
        self.bad: BadValue | None = None
        self.counts: dict[Any, int] = {}
        self.taken: tuple[NDArray[np.generic], ...] = ()
        """The arguments of the operation that is being measured."""
        self._watcher: Final = watcher
        self._rows: list[NDArray[np.float64]] = []
        self._masks: Final = MaskTracker()

    def __len__(self) -> int:
        return len(self.numbers)

    def figures(self) -> NDArray[np.float64]:
        """Return the statistics of all values, [n, len(FIGURES)]."""
        return np.array(self._rows).reshape(-1, len(FIGURES))

    def watched(self, name: str, value: Any) -> Any:
        """Return an argument whose arrays report what is done with them; lists and dicts stay the same objects."""
        if type(value) is dict:
            for key, item in value.items():
                value[key] = self.watched(f"{name}/{key}", item)
        elif type(value) is list:
            value[:] = [self.watched(f"{name}/{place}", item) for place, item in enumerate(value)]
        elif type(value) is tuple:
            return tuple(self.watched(f"{name}/{place}", item) for place, item in enumerate(value))
        if type(value) is np.ndarray and value.dtype.kind in "fc":
            return self.wrap(value, self._watcher.observe(self, name, value, "input", (), with_lines=False))
        return value

    def wrap(self, array: NDArray[np.generic], number: int | None) -> "Watched":
        """Return a view of an array that reports what is done with it."""
        view = array.view(Watched)
        view.step, view.number = self, number
        return view

    def add(self, number: int, array: NDArray[np.generic]) -> None:
        """Measure an array."""
        figures = health(array)
        self.numbers.append(number)
        self._rows.append(figures)
        self._watcher.keep_value(number, array)
        if self.bad is None and self._watcher.is_replaying and figures[1:4].any():
            tensor = self._watcher.recorder.catalog.tensors[number]
            if not self._masks.is_mask(number, tensor, figures):
                self.bad = BadValue(tensor.phase, tensor.name, array.copy(), tuple(a.copy() for a in self.taken))

    def run(self, name: str, function: Callable[[], Any], taken: list[Any]) -> Any:
        """Run a NumPy function on plain arrays, and measure its results."""
        arrays = [array for array in taken if isinstance(array, np.ndarray) and _is_floating(array)]
        inputs: list[int] = []
        for place, array in enumerate(arrays):
            number = array.number if isinstance(array, Watched) and array.step is self else None
            if number is None:
                plain = array.view(np.ndarray)
                number = self._watcher.observe(self, f"{name}:input{place or ''}", plain, "input", (), with_lines=True)
            if number is not None:
                inputs.append(number)
        self.taken = tuple(array.view(np.ndarray) for array in arrays)
        result = function()

        def measured(array: NDArray[np.generic]) -> Any:
            number = self._watcher.observe(self, name, array, name, tuple(inputs), with_lines=True)
            return self.wrap(array, number) if array.ndim else array[()]

        found = _mapped(result, measured)
        self.taken = ()
        return found


class Watched(np.ndarray):
    """An array that reports the NumPy functions called on it."""

    step: _Step | None
    number: int | None

    def __array_finalize__(self, source: Any) -> None:
        """Mark an array that was made from a watched one as watched too."""
        self.step = getattr(source, "step", None)
        # A view of the same memory is the same value; new memory is not known yet.
        self.number = None
        if isinstance(source, Watched) and source.number is not None:
            begin = source.__array_interface__["data"][0]
            if begin <= self.__array_interface__["data"][0] < begin + max(source.nbytes, 1):
                self.number = source.number

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        """Run a ufunc, such as np.log, and measure its results."""
        out = kwargs.pop("out", ())
        step = _running_step((*inputs, *out))
        plain = [_plain(value) for value in inputs]
        if out:
            kwargs["out"] = tuple(_plain(value) for value in out)
        kwargs = {key: _plain(value) for key, value in kwargs.items()}
        call = getattr(ufunc, method)
        if step is None:
            return call(*plain, **kwargs)
        name = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        result = step.run(name, lambda: call(*plain, **kwargs), list(inputs))
        for given, made in zip(out, result if isinstance(result, tuple) else (result,), strict=False):
            if isinstance(given, Watched) and isinstance(made, Watched):
                given.step, given.number = made.step, made.number
        return out[0] if len(out) == 1 and isinstance(out[0], Watched) else result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Run any other function, such as np.linalg.solve, and measure its results."""
        taken = [leaf for leaf in _leaves((args, kwargs)) if isinstance(leaf, np.ndarray)]
        step = _running_step(taken)
        plain_args, plain_kwargs = _mapped(args, _plain), _mapped(kwargs, _plain)
        if step is None:
            return function(*plain_args, **plain_kwargs)
        name = f"numpy.{function.__name__}"
        return step.run(name, lambda: function(*plain_args, **plain_kwargs), taken)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Return the product, like `numpy.dot`."""
        return np.dot(self, other) if out is None else np.dot(self, other, out)


def _running_step(values: Iterable[Any]) -> _Step | None:
    steps = (value.step for value in values if isinstance(value, Watched))
    return next((step for step in steps if step is not None and not step.is_over), None)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Watched) else value


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same nested containers with other arrays."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, np.generic) and value.dtype.kind in "fc" and change is not _plain:
        changed = change(np.asarray(value))
        return changed[()] if isinstance(changed, np.ndarray) else changed
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(item, change) for item in value))
    if type(value) in (list, tuple):
        return type(value)(_mapped(item, change) for item in value)
    if type(value) is dict:
        return {key: _mapped(item, change) for key, item in value.items()}
    return value


def _containers(value: Any) -> list[Any]:
    """Return the dicts and lists in nested containers, each before its contents."""
    found: list[Any] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if type(item) in (dict, list):
            found.append(item)
        if type(item) is dict:
            waiting.extend(item.values())
        elif type(item) in (list, tuple):
            waiting.extend(item)
    return found


def _make_plain(value: Any) -> None:
    """Replace arrays that report what is done with them by plain ones, in dicts and lists."""
    for container in _containers(value):
        places = list(container) if isinstance(container, dict) else range(len(container))
        for place in places:
            if type(container[place]) not in (dict, list):
                container[place] = _mapped(container[place], _plain)


def _leaves(value: Any) -> Iterator[Any]:
    """Yield whatever is in nested containers."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting.extend(reversed(list(item.values())))
        elif isinstance(item, list | tuple):
            waiting.extend(reversed(item))
        else:
            yield item


def _is_floating(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc")
