"""Reads the content of a pickle as plain data: nothing in it is imported, called or instantiated.

This machine steps through the instructions of a pickle and knows a few dozen of them
(CPython's Lib/pickletools.py documents each). Where Python's own machine would import a name, this one records the
name; where it would call something, this one records the call; see `Described`.
"""

import pickletools
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.checkpoints.base import CheckpointError
from stepscope.summary.memory_budget import TooLargeError, claim

MOST_INSTRUCTIONS: Final = 20_000_000
_BYTES_OF_INSTRUCTION: Final = 256
"""Most memory that an instruction takes besides its argument: that of a `Described`, empty but for a `Name`."""
_INSTRUCTIONS_AT_ONCE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Name:
    """A class or a function that the pickle names."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False, slots=True)
class Described:
    """An object that Python would create by a call: the callable, its arguments, and what it receives afterwards."""

    of: Any
    arguments: Any
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)
    elements: list[Any] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Stored:
    """Something stored outside the pickle, such as the elements of a tensor."""

    key: Any


class _Mark:
    pass


def described(pickle: bytes) -> Any:
    """Return what the pickle describes: dicts, lists, tuples, strings, numbers, `Described`, `Name` and `Stored`.

    Raises:
        CheckpointError: the pickle is damaged or ends too soon, has more than `MOST_INSTRUCTIONS` instructions, or has
            one that no weight file needs.
        TooLargeError: what it describes takes more memory than may be claimed.
        NoMemoryError: there is not enough memory now.
        Cancelled: the result is no longer wanted.
    """
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(pickle)):
            if count > MOST_INSTRUCTIONS:
                raise CheckpointError(f"The pickle has more than {MOST_INSTRUCTIONS:,} instructions.")
            if count % _INSTRUCTIONS_AT_ONCE == 0:
                check_cancelled()
                claim(_INSTRUCTIONS_AT_ONCE * _BYTES_OF_INSTRUCTION)
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, UnicodeError) as error:
        if isinstance(error, CheckpointError | TooLargeError):
            raise
        raise CheckpointError(f"The pickle is damaged: {error!s:.200}.") from error
    raise CheckpointError("The pickle does not end.")


_CONSTANTS: Final[dict[str, Any]] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS: Final = frozenset(
    {
        *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINUNICODE"),
        *("BINBYTES", "BINBYTES8", "SHORT_BINBYTES", "BYTEARRAY8"),
    }
)


class _Machine:
    """A stack of values and a memory of them, as the instructions expect."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memory: dict[int, Any] = {}

    def pop(self) -> Any:
        value = self._stack.pop()
        if isinstance(value, _Mark):
            raise ValueError("a mark is taken for a value")
        return value

    def step(self, name: str, argument: Any) -> None:
        """Execute one instruction."""
        if name in _LITERALS:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        else:
            # Looked up by name; only opcode names can occur.
            instruction = getattr(self, f"_{name.lower()}", None)
            if instruction is None:
                raise CheckpointError(f"The pickle has an instruction {name}, which no file of weights needs.")
            instruction(argument)

    def _items(self) -> list[Any]:
        """Remove and return the items above the last mark, and remove the mark."""
        for at in range(len(self._stack) - 1, -1, -1):
            if isinstance(self._stack[at], _Mark):
                items = self._stack[at + 1 :]
                del self._stack[at:]
                return items
        raise ValueError("there is no mark")

    def _proto(self, _: Any) -> None:
        pass

    def _frame(self, _: Any) -> None:
        pass

    def _mark(self, _: Any) -> None:
        self._stack.append(_Mark())

    def _pop(self, _: Any) -> None:
        self._stack.pop()

    def _pop_mark(self, _: Any) -> None:
        self._items()

    def _dup(self, _: Any) -> None:
        self._stack.append(self._stack[-1])

    def _binput(self, at: int) -> None:
        self._memory[int(at)] = self._stack[-1]

    _put = _long_binput = _binput

    def _memoize(self, _: Any) -> None:
        self._memory[len(self._memory)] = self._stack[-1]

    def _binget(self, at: int) -> None:
        self._stack.append(self._memory[int(at)])

    _get = _long_binget = _binget

    def _empty_dict(self, _: Any) -> None:
        self._stack.append({})

    def _empty_list(self, _: Any) -> None:
        self._stack.append([])

    def _empty_tuple(self, _: Any) -> None:
        self._stack.append(())

    def _empty_set(self, _: Any) -> None:
        self._stack.append(Described(Name("builtins", "set"), ()))

    def _frozenset(self, _: Any) -> None:
        self._stack.append(Described(Name("builtins", "frozenset"), tuple(self._items())))

    def _dict(self, _: Any) -> None:
        items = self._items()
        self._stack.append({})
        self._set(items)

    def _list(self, _: Any) -> None:
        self._stack.append(self._items())

    def _tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._items()))

    def _tuple1(self, _: Any) -> None:
        self._last(1)

    def _tuple2(self, _: Any) -> None:
        self._last(2)

    def _tuple3(self, _: Any) -> None:
        self._last(3)

    def _last(self, count: int) -> None:
        self._stack.append(tuple([self.pop() for _ in range(count)][::-1]))

    def _append(self, _: Any) -> None:
        self._add([self.pop()])

    def _appends(self, _: Any) -> None:
        self._add(self._items())

    _additems = _appends

    def _add(self, items: list[Any]) -> None:
        target = self._stack[-1]
        (target.elements if isinstance(target, Described) else target).extend(items)

    def _setitem(self, _: Any) -> None:
        value, key = self.pop(), self.pop()
        self._set([key, value])

    def _setitems(self, _: Any) -> None:
        self._set(self._items())

    def _set(self, items: list[Any]) -> None:
        target = self._stack[-1]
        values = target.items if isinstance(target, Described) else target
        if not isinstance(values, dict):
            raise ValueError("items are given to what has none")
        for key, value in zip(items[::2], items[1::2], strict=True):
            values[key if isinstance(key, str | int | float | bytes | None) else _Key(key)] = value

    def _global(self, names: str) -> None:
        module, _, name = names.partition(" ")
        self._stack.append(Name(module, name))

    def _stack_global(self, _: Any) -> None:
        name, module = self.pop(), self.pop()
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("a name is not a string")
        self._stack.append(Name(module[:500], name[:500]))

    def _reduce(self, _: Any) -> None:
        arguments, of = self.pop(), self.pop()
        self._stack.append(Described(of, arguments))

    _newobj = _reduce

    def _newobj_ex(self, _: Any) -> None:
        self.pop()
        self._reduce(None)

    def _build(self, _: Any) -> None:
        state = self.pop()
        if isinstance(self._stack[-1], Described):
            self._stack[-1].state = state

    def _binpersid(self, _: Any) -> None:
        self._stack.append(Stored(self.pop()))


@dataclass(eq=False, slots=True)
class _Key:
    """A dict key that is neither text nor number; hashing it might take very long, as with nested tuples."""

    value: Any
