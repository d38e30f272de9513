"""Observe the loops and branches of a jaxpr: every iteration measures the results of its operations.

A loop runs unchanged, and in addition to its own values carries a table of the measurements of each iteration. For a
long loop, the table has the first iterations, and of the later ones the first with a non-finite value, else the last.
"""

from collections.abc import Callable, Container, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import lax

from stepscope.debug.catalog import Lines, Place
from stepscope.debug.health import COUNTS
from stepscope.debug.jax_health import MEASURES, counts_and_measures

LOOPS: Final = ("scan", "while", "cond")
MOST_ITERATIONS: Final = 64
MOST_ROWS: Final = 4_096
"""Maximum number of values in all iterations of a loop; a loop inside another gets a share of it."""
_NESTED_SHARE: Final = 8
NOT_RUN: Final = -1
"""Stands for the counts of what did not run: a branch, or an iteration."""


@dataclass
class Measurements:
    """The measurements of one run of a jaxpr, in order."""

    keep: Container[int] = ()
    """Indices of places whose values are returned themselves."""
    most_rows: int = MOST_ROWS
    places: list[Place] = field(default_factory=list)
    counts: list[Any] = field(default_factory=list)
    """int32 [n, COUNTS] each."""
    measures: list[Any] = field(default_factory=list)
    """[n, MEASURES] each."""
    kept: dict[int, Any] = field(default_factory=dict)

    def add(self, places: Sequence[Place], counts: Any, measures: Any) -> int:
        """Add more places; return the index of the first."""
        first = len(self.places)
        self.places.extend(places)
        self.counts.append(counts)
        self.measures.append(measures)
        return first

    def table(self) -> tuple[Any, Any]:
        """Return all counts and all measures."""
        if not self.places:
            return jnp.zeros((0, COUNTS), jnp.int32), jnp.zeros((0, MEASURES), jnp.float32)
        wide = jnp.result_type(*self.measures)
        return jnp.concatenate(self.counts), jnp.concatenate([rows.astype(wide) for rows in self.measures])


class Inside(NamedTuple):
    """The result of running the jaxpr of a loop or a branch."""

    values: list[Any]
    numbers: list[int | None]
    """The places of these values; numbers below 0 are arguments: -1 the first, -2 the second."""
    found: Measurements


class Run(Protocol):
    """Runs a closed jaxpr and measures; the inputs of its places are numbered like `Inside.numbers`."""

    def __call__(self, closed: Any, values: Sequence[Any], keep: Set[int], most_rows: int) -> Inside: ...


Outputs = list[tuple[Any, tuple[int, ...]]]
"""The values that a loop returns, and the places that each was made from."""


class Loop(NamedTuple):
    """A loop, or branches, to run."""

    name: str
    """Name of its operation, with the path."""
    lines: Lines
    taken: list[tuple[Any, int | None]]
    params: dict[str, Any]
    outer: Measurements
    """Measurements of the enclosing jaxpr."""
    run: Run
    note: Callable[[str], None]

    @property
    def most_rows(self) -> int:
        """Maximum number of rows of a loop inside this one."""
        return max(self.outer.most_rows // _NESTED_SHARE, 1)


def run_loop(kind: str, loop: Loop) -> Outputs | None:
    """Run a loop or branches; None if nothing inside is measured, and nothing was run.

    Args:
        kind: one of `LOOPS`.
        loop: the loop or branches to run.
    """
    return {"scan": _scan, "while": _while, "cond": _cond}[kind](loop)


def _scan(loop: Loop) -> Outputs | None:
    params, values = loop.params, [value for value, _ in loop.taken]
    (constants, carried), length = _taken_by_scan(params), params["length"]
    body = _shape_of(loop, params["jaxpr"])
    table = _Table.of(loop, body, length)
    if table is None or not length:
        return None
    body = table.with_kept(loop, params["jaxpr"], body)
    outside, begin, xs = values[:constants], values[constants : constants + carried], values[constants + carried :]

    def step(state: Any, x: Any) -> tuple[Any, Any]:
        at, carry, rows = state
        inside = loop.run(params["jaxpr"], [*outside, *carry, *x], table.kept_inside, loop.most_rows)
        return (at + 1, inside.values[:carried], table.written(rows, at, inside)), inside.values[carried:]

    (_, carry, rows), stacked = lax.scan(
        step, (jnp.int32(0), begin, table.empty(body)), xs, length, params["reverse"], params["unroll"]
    )
    labels = [length - 1 - at if params["reverse"] else at for at in range(table.slots)]
    numbers = [number for _, number in loop.taken]
    last = table.take(loop, rows, body, labels, numbers, constants, carried)
    slots = range(table.slots)
    made = [last[-1][place] for place in range(carried)]
    return [
        *((value, _known([number])) for value, number in zip(carry, made, strict=True)),
        *((value, _known([last[at][carried + n] for at in slots])) for n, value in enumerate(stacked)),
    ]


def _taken_by_scan(params: dict[str, Any]) -> tuple[int, int]:
    """Return how many constants and how many carried values a scan takes, before the values it iterates over."""
    # JAX 0.11 and later state them as groups.
    if "ft_in" in params:
        constants, carried, _ = params["ft_in"].unpack()
        return len(constants), len(carried)
    return params["num_consts"], params["num_carry"]


def _while(loop: Loop) -> Outputs | None:
    params, values = loop.params, [value for value, _ in loop.taken]
    asked, constants = params["cond_nconsts"], params["body_nconsts"]
    body = _shape_of(loop, params["body_jaxpr"])
    table = _Table.of(loop, body, None)
    if table is None:
        return None
    body = table.with_kept(loop, params["body_jaxpr"], body)
    outside, begin = values[asked : asked + constants], values[asked + constants :]

    def goes_on(state: Any) -> Any:
        return jax.core.eval_jaxpr(params["cond_jaxpr"].jaxpr, params["cond_jaxpr"].consts, *values[:asked], *state[1])[
            0
        ]

    def step(state: Any) -> Any:
        at, carry, rows = state
        inside = loop.run(params["body_jaxpr"], [*outside, *carry], table.kept_inside, loop.most_rows)
        return at + 1, inside.values, table.written(rows, at, inside)

    count, carry, rows = lax.while_loop(goes_on, step, (jnp.int32(0), begin, table.empty(body)))
    numbers = [number for _, number in loop.taken[asked:]]
    made = table.take(loop, rows, body, range(table.slots), numbers, constants, len(carry))
    _measure_number(loop, f"{loop.name}:iterations", count)
    return [(value, _known([slot[n] for slot in made])) for n, value in enumerate(carry)]


def _cond(loop: Loop) -> Outputs | None:
    branches = loop.params["branches"]
    index, *values = [value for value, _ in loop.taken]
    numbers = [number for _, number in loop.taken[1:]]
    shapes = [_shape_of(loop, branch) for branch in branches]
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + len(shape.found.places))
    if not ends[-1]:
        return None
    first = len(loop.outer.places)
    wanted = _wanted(loop.outer.keep, first, ends[-1])
    wide = jnp.result_type(*(shape.found.table()[1].dtype for shape in shapes))
    inside_of = [{at - begin for at in wanted if begin <= at < end} for begin, end in pairwise(ends)]
    kept_shapes = {
        begin + place: value
        for begin, branch, own in zip(ends, branches, inside_of, strict=False)
        if own
        for place, value in _shape_of(loop, branch, own).found.kept.items()
    }

    def of_branch(number: int) -> Callable[..., Any]:
        def run(*own: Any) -> Any:
            begin, end = ends[number], ends[number + 1]
            inside = loop.run(branches[number], own, inside_of[number], loop.most_rows)
            counts, measures = inside.found.table()
            kept = {
                at: inside.found.kept[at - begin] if begin <= at < end else jnp.zeros(value.shape, value.dtype)
                for at, value in kept_shapes.items()
            }
            every = jnp.full((ends[-1], COUNTS), NOT_RUN, jnp.int32).at[begin:end].set(counts)
            return inside.values, every, jnp.zeros((ends[-1], MEASURES), wide).at[begin:end].set(measures), kept

        return run

    given, counts, measures, kept = lax.switch(index, [of_branch(n) for n in range(len(branches))], *values)
    places: list[Place] = []
    made: list[list[int | None]] = [[] for _ in given]
    for number, (begin, shape) in enumerate(zip(ends, shapes, strict=False)):

        def outer(own: int | None, begin: int = begin) -> int | None:
            return None if own is None else first + begin + own if own >= 0 else numbers[-own - 1]

        places.extend(_labeled(place, loop.name, str(number), outer) for place in shape.found.places)
        for found, own in zip(made, shape.numbers, strict=True):
            found.append(outer(own))
    loop.outer.add(places, counts, measures)
    loop.outer.kept.update({first + at: value for at, value in kept.items()})
    return [(value, _known(found)) for value, found in zip(given, made, strict=True)]


@dataclass(frozen=True)
class _Table:
    """A row for each value in each iteration that is kept."""

    slots: int
    """Number of iterations that have rows."""
    values: int
    """Number of values in each."""
    is_cut: bool
    """Whether the last slot may be any later iteration."""
    wanted: Set[tuple[int, int]]
    """Slot and value of each value that is kept itself."""

    @classmethod
    def of(cls, loop: Loop, body: Inside, length: int | None) -> "_Table | None":
        """Return a table, or None if nothing is measured."""
        values = len(body.found.places)
        if not values:
            return None
        room = max(2, min(MOST_ITERATIONS, loop.outer.most_rows // values))
        slots = room if length is None else min(length, room)
        is_cut = length is None or slots < length
        if is_cut and length is not None:
            loop.note(
                f"Of the {length:,} iterations of {loop.name} the first {slots - 1} are observed, plus the first"
                " later one with a non-finite value, or else the last."
            )
        elif is_cut:
            loop.note(
                f"Of {loop.name} the first {slots - 1} iterations are observed, plus the first later one with a"
                " non-finite value, or else the last."
            )
        first = len(loop.outer.places)
        wanted = _wanted(loop.outer.keep, first, slots * values)
        return cls(slots, values, is_cut, {divmod(at, values) for at in wanted})

    def with_kept(self, loop: Loop, closed: Any, body: Inside) -> Inside:
        """Return the body with the shapes of the values that are kept."""
        return _shape_of(loop, closed, self.kept_inside) if self.wanted else body

    @property
    def kept_inside(self) -> Set[int]:
        """Values that are kept of any iteration."""
        return {value for _, value in self.wanted}

    def empty(self, body: Inside) -> Any:
        """Return the rows of iterations that did not run."""
        measures = body.found.table()[1]
        return (
            jnp.full((self.slots, self.values, COUNTS), NOT_RUN, jnp.int32),
            jnp.zeros((self.slots, self.values, MEASURES), measures.dtype),
            jnp.int32(NOT_RUN),
            {at: jnp.zeros(*_kind(body, at[1])) for at in sorted(self.wanted)},
        )

    def written(self, rows: Any, at: Any, inside: Inside) -> Any:
        """Return the rows with those of one more iteration."""
        counts, measures, later, kept = rows
        own_counts, own_measures = inside.found.table()
        slot = jnp.minimum(at, self.slots - 1)
        # The counts of NaN, +Inf and -Inf come first.
        is_new = (at < self.slots) | ~(counts[self.slots - 1, :, :3] > 0).any()
        return (
            jnp.where(is_new, counts.at[slot].set(own_counts), counts),
            jnp.where(is_new, measures.at[slot].set(own_measures.astype(measures.dtype)), measures),
            jnp.where(is_new & (slot == self.slots - 1), at, later),
            {
                (own, value): jnp.where(is_new & (slot == own), inside.found.kept[value], before)
                for (own, value), before in kept.items()
            },
        )

    def take(
        self,
        loop: Loop,
        rows: Any,
        body: Inside,
        labels: Sequence[int],
        taken: Sequence[int | None],
        constants: int,
        carried: int,
    ) -> list[list[int | None]]:
        """Pass all rows to the enclosing jaxpr; return the places of the body's results, for each slot.

        Args:
            loop: the loop that ran.
            rows: its rows.
            body: the shape of its body.
            labels: the labels of the iterations.
            taken: the places of the body's arguments; for carried ones, their initial values.
            constants: number of arguments that are the same in all iterations.
            carried: number of arguments after these that are results of the previous iteration.
        """
        counts, measures, later, kept = rows
        first = len(loop.outer.places)
        places: list[Place] = []
        made: list[list[int | None]] = []
        for slot in range(self.slots):
            before = made[-1] if made else None

            def outer(own: int | None, slot: int = slot, before: list[int | None] | None = before) -> int | None:
                if own is None or own >= 0:
                    return None if own is None else first + slot * self.values + own
                argument = -own - 1
                if before is not None and constants <= argument < constants + carried:
                    return before[argument - constants]
                return taken[argument]

            label = "later" if self.is_cut and slot == self.slots - 1 else str(labels[slot])
            places.extend(_labeled(place, loop.name, label, outer) for place in body.found.places)
            made.append([outer(own) for own in body.numbers])
        loop.outer.add(places, counts.reshape(-1, COUNTS), measures.reshape(-1, MEASURES))
        loop.outer.kept.update({first + at * self.values + value: found for (at, value), found in kept.items()})
        if self.is_cut:
            _measure_number(loop, f"{loop.name}[later]:iteration", later)
        return made


def _shape_of(loop: Loop, closed: Any, keep: Set[int] = frozenset()) -> Inside:
    """Return what a jaxpr returns and measures, without running it; all values have only shapes and types."""
    kinds = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.invars]
    found: list[Inside] = []

    def run(*own: Any) -> Any:
        inside = loop.run(closed, own, keep, loop.most_rows)
        found.append(inside)
        return inside.values, inside.found.table(), inside.found.kept

    shapes, (counts, measures), kept = jax.eval_shape(run, *kinds)
    own = found[-1].found
    return Inside(
        shapes, found[-1].numbers, replace(own, counts=[_like(counts)], measures=[_like(measures)], kept=kept)
    )


def _like(shape: Any) -> Any:
    return jnp.zeros(shape.shape, shape.dtype)


def _kind(body: Inside, value: int) -> tuple[Any, Any]:
    shape = body.found.kept[value]
    return shape.shape, shape.dtype


def _labeled(place: Place, name: str, label: str, outer: Callable[[int | None], int | None]) -> Place:
    """Return a place inside a loop as a place of the enclosing jaxpr, labeled by an iteration or a branch."""

    def shown(path: str) -> str:
        return f"{name}[{label}]{path.removeprefix(name)}" if path.startswith(name) else f"{path}[{label}]"

    inputs = _known([outer(number) for number in place.inputs])
    return replace(place, name=shown(place.name), module=shown(place.module), inputs=inputs)


def _measure_number(loop: Loop, name: str, value: Any) -> None:
    """Measure the number of an iteration, or of iterations; nothing if there was none."""
    counts, measures = counts_and_measures(value.astype(jnp.float32))
    counts = jnp.where(value < 0, NOT_RUN, counts)
    place = Place(name, "forward", op_type="jax.iteration", dtype="float32", shape=(), lines=loop.lines)
    loop.outer.add([place], counts[None], measures[None])


def _wanted(keep: Container[int], first: int, count: int) -> Set[int]:
    """Return which of some places have their values kept; if all are requested, none inside loops are."""
    return set() if isinstance(keep, range) else {at for at in range(count) if first + at in keep}


def _known(numbers: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for number in numbers if number is not None))
