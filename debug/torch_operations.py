"""Every PyTorch operation in a step: its inputs, its outputs, and the line of the program that called it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import TorchDispatchMode

from stepscope.debug.catalog import Lines

_UNINITIALIZED: Final = ("empty", "new_empty", "resize", "_resize")
"""Prefixes of operations whose values are meaningless until something is written into them."""
_OVERWRITING: Final = frozenset(
    ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "log_normal_",
     "cauchy_", "geometric_", "_foreach_zero_", "_foreach_copy_", "set_")
)  # fmt: skip
"""Operations that write to a tensor without reading it."""
_MOST_TENSORS: Final = 4_096
"""Maximum number of tensors of one operation."""


@dataclass(frozen=True)
class Operation:
    """An operation that was run."""

    name: str
    """Name, such as "aten.log"."""
    is_backward: bool
    module: str
    """The module in which it was called; in the backward pass, the module of the operation that it belongs to."""
    lines: Lines
    """The program's lines that led to it, or to the operation that it belongs to."""
    taken: tuple[torch.Tensor, ...]
    """Its input tensors, of floating-point or complex numbers."""
    given: tuple[torch.Tensor, ...]
    """The tensors that it made or wrote to, of such numbers."""
    is_view: bool
    """Whether it returns only a view of its inputs."""


class Observer(Protocol):
    """Receives operations."""

    @property
    def is_measuring(self) -> bool:
        """Whether operations of the calling thread are the observer's own."""
        ...

    @property
    def module(self) -> str:
        """The running module."""
        ...

    def lines(self) -> Lines:
        """Return the running lines of the program."""
        ...

    def before(self, written: tuple[torch.Tensor, ...], name: str, module: str, is_backward: bool) -> None:
        """Receive what the next operation reads and then writes to, and its attributes as in `Operation`."""

    def after(self, operation: Operation) -> None:
        """Receive an operation that was run."""


class Operations(TorchDispatchMode):  # type: ignore[misc]
    """Reports every operation to an observer while it is entered, including those of autograd and the optimizer.

    Operations inside a compiled graph are no longer PyTorch operations and are not seen.
    """

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self._observer: Final = observer
        self._origins: dict[int, tuple[str, Lines]] = {}
        """Where the operation of each node of the autograd graph was called, by the node's number."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation and report it."""
        kwargs = kwargs or {}
        observer = self._observer
        if observer.is_measuring:
            return func(*args, **kwargs)
        node = torch._C._current_autograd_node()
        if node is not None:
            module, lines = self._origins.get(node._sequence_nr(), ("", ()))
        else:
            module, lines = observer.module, observer.lines()
            # The operation's node was made just before it ran; later operations that make none have the same number.
            self._origins.setdefault(torch.autograd._get_sequence_nr() - 1, (module, lines))
        name = f"{func.namespace}.{func._opname}"
        written = _numbers(_written(func, args, kwargs))
        overwrites = func._opname in _OVERWRITING or "out" in func._overloadname
        if written and not overwrites:
            observer.before(tuple(written), name, module, node is not None)
        output = func(*args, **kwargs)
        if func._opname.startswith(_UNINITIALIZED):
            return output
        unread = {id(tensor) for tensor in written} if overwrites else set()
        given = (*_numbers(output), *written)
        operation = Operation(
            name=name,
            is_backward=node is not None,
            module=module,
            lines=lines,
            taken=tuple(tensor for tensor in _numbers((args, kwargs)) if id(tensor) not in unread),
            given=tuple({id(tensor): tensor for tensor in given}.values()),
            is_view=bool(func.is_view) or func._opname in ("detach", "alias", "_unsafe_view", "lift_fresh"),
        )
        observer.after(operation)
        return output


def _written(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the arguments that an operation writes to."""
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield args[place] if place < len(args) else kwargs.get(argument.name)


def _numbers(value: Any) -> list[torch.Tensor]:
    """Return the tensors of floating-point or complex numbers in arguments or outputs, in order."""
    found: list[torch.Tensor] = []
    waiting = [value]
    while waiting and len(found) < _MOST_TENSORS:
        next_one = waiting.pop()
        if isinstance(next_one, torch.Tensor):
            if (next_one.is_floating_point() or next_one.is_complex()) and not is_lazy(next_one):
                found.append(next_one)
        elif isinstance(next_one, Mapping):
            waiting.extend(reversed(list(next_one.values())))
        elif isinstance(next_one, list | tuple):
            waiting.extend(reversed(next_one))
        elif isinstance(next_one, Iterator):
            waiting.extend(reversed(list(next_one)))
    return found


class Made:
    """The watched tensor that made each value, while the value's memory exists and others have not written to it."""

    def __init__(self) -> None:
        self._found: Final[dict[tuple[Any, ...], tuple[StorageWeakRef, int]]] = {}

    def __setitem__(self, tensor: torch.Tensor, number: int) -> None:
        key = _place(tensor)
        if key is not None:
            self._found[key] = (StorageWeakRef(tensor.untyped_storage()), number)

    def get(self, tensor: torch.Tensor) -> int | None:
        """Return the number of the watched tensor that a value belongs to."""
        key = _place(tensor)
        found = self._found.get(key) if key is not None else None
        return found[1] if found is not None and not found[0].expired() else None


def _place(tensor: torch.Tensor) -> tuple[Any, ...] | None:
    """Return what two views of the same memory have in common if they are the same value."""
    if is_lazy(tensor):
        return None
    try:
        storage = tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None
    return (storage, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
