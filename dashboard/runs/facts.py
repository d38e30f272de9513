"""Facts about runs besides their curves: hyperparameters, and numbers that summarize metrics."""

import posixpath
import re
import threading
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, TypeVar, assert_never, cast, get_args

from stepscope.dashboard.runs.helpers import Helper, helper_runs
from stepscope.dashboard.server.succession import FACTS, FACTS_BEFORE, alike, changed_runs
from stepscope.dashboard.tensorboard.hparams.sessions import experiments, python_value, scalar_summary, session_start_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.hparams import HParamValue
from stepscope.summary.series import SCALARS, LazySeries, Run
from stepscope.summary.snapshot import Snapshot

T = TypeVar("T")
Statistic = Literal["last", "min", "max"]
FactValue: TypeAlias = HParamValue | None
"""A value of a run; None if the run has no such hyperparameter or metric."""
HPARAM: Final = "hparam:"
METRIC: Final = "metric:"
_MOST_LATELY: Final = 32
_STRUCTURE: Final = frozenset(
    {
        "helpers", "trainings", "places", "orders", "hparams", "hparam_names", "differing_hparams", "hparam_titles",
        "_hparam_values", "metric_tags", "_known_tags",
    }
)  # fmt: skip
"""Facts that follow from the names, tags and hyperparameters of runs, without any points."""
_STRUCTURE_KEYS: Final = frozenset({"colors", "seeds", "seeds_found", "sorted names", "tags", "sessions", "folders"})
"""Keys of such facts that other modules computed with `Facts.once`; an example search is one, whatever its number."""
_EXAMPLES: Final = frozenset({"placeholder"})
"""Keys of searches that found some runs, and still find them when there are more runs."""
_MOST_ADDED: Final = 1_000
"""Maximum number of new runs that are examined on their own."""
_SEED: Final = re.compile(r"(^|[^a-z])seed$", re.IGNORECASE)


@dataclass(frozen=True)
class HParamField:
    """A hyperparameter as a column, a group or a color."""

    name: str

    @property
    def spec(self) -> str:
        """How the URL writes it."""
        return HPARAM + self.name


@dataclass(frozen=True)
class MetricField:
    """One number that summarizes a scalar tag: its last value, or its minimum or maximum finite value."""

    tag: str
    statistic: Statistic

    @property
    def spec(self) -> str:
        """How the URL writes it."""
        return f"{METRIC}{self.tag}.{self.statistic}"

    @property
    def label(self) -> str:
        return f"{self.tag} {self.statistic}"


Field: TypeAlias = HParamField | MetricField


def parse_field(spec: str) -> Field | None:
    """Read "hparam:NAME" or "metric:TAG.STATISTIC"; None for anything else."""
    if spec.startswith(HPARAM) and spec != HPARAM:
        return HParamField(spec.removeprefix(HPARAM))
    if spec.startswith(METRIC):
        tag, dot, statistic = spec.removeprefix(METRIC).rpartition(".")
        for known in get_args(Statistic):
            if dot and statistic == known:
                return MetricField(tag, known)
    return None


def _summed_up(run: Run, field: MetricField) -> float | None:
    """Return the last value of a scalar, or its minimum or maximum finite value.

    Returns:
        The value, or None if there is no point, or none can be read.
    """
    summary = scalar_summary(run, field.tag)
    if summary is None:
        return None
    match field.statistic:
        case "last":
            return summary.last
        case "min":
            return summary.least
        case "max":
            return summary.greatest
        case _:
            assert_never(field.statistic)


def _own_hparams(run: Run) -> Mapping[str, HParamValue] | None:
    """Return the hyperparameters of the session that began in a run; None if none did."""
    start = session_start_of(run)
    if start is None:
        return None
    # Sorted by name, as a protobuf map has no order.
    values = ((name, python_value(start.hparams[name])) for name in sorted(start.hparams))
    return {name: plain for name, plain in values if plain is not None}


def _values_by_name(sets: Iterable[Mapping[str, HParamValue]]) -> dict[str, set[tuple[type, HParamValue]]]:
    """Return the values of each hyperparameter with their types, as true is not 1."""
    values: dict[str, set[tuple[type, HParamValue]]] = {}
    for hparams in sets:
        for name, value in hparams.items():
            values.setdefault(name, set()).add((type(value), value))
    return values


class RunFact(ABC):
    """A fact computed from the points of a run; equal instances compute the same."""

    @abstractmethod
    def of_run(self, run: Run) -> object:
        """Return the fact for a run."""


@dataclass(frozen=True)
class _LastStep(RunFact):
    def of_run(self, run: Run) -> int | None:
        """Return the furthest step of a run's scalars; None if there is none, or they cannot be read."""
        try:
            return run.furthest_step(SCALARS)
        except PayloadError:
            return None


_LAST_STEP: Final = _LastStep()


def each_description(runs: Mapping[str, Run]) -> Iterator[Run]:
    """Yield the runs, but only the first of several with the same tags and kinds, as in a sweep."""
    seen: set[object] = set()
    for run in runs.values():
        alike = run.series.described_by if isinstance(run.series, LazySeries) else None
        if alike is None or id(alike) not in seen:
            seen.add(id(alike))
            yield run


class Facts:
    """The facts of all runs of a snapshot, computed on demand."""

    def __init__(self, runs: Mapping[str, Run], before: "Facts | None" = None) -> None:
        # Not the snapshot, which holds this: a reference cycle would keep its columns until a garbage collection.
        self.runs: Final = runs
        self._known: Final[dict[object, object]] = {}
        self._lately: Final[OrderedDict[object, object]] = OrderedDict()
        self._lock: Final = threading.Lock()
        self._making: Final = threading.RLock()
        if before is not None:
            self._take_over(before)

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Facts":
        """Return the facts of a snapshot, computed once and kept as long as the snapshot.

        If `succession.succeed` knows the previous snapshot, only what is new since then is computed.
        """
        known = vars(snapshot).get(FACTS)
        if known is None:
            # Two threads may both create one; everyone gets the first.
            known = vars(snapshot).setdefault(FACTS, cls(snapshot.runs, vars(snapshot).get(FACTS_BEFORE)))
            vars(snapshot).pop(FACTS_BEFORE, None)
        return cast(Facts, known)

    def _take_over(self, before: "Facts") -> None:
        """Keep facts of the previous snapshot that also hold for this one.

        This snapshot must have the same runs in the same order, and perhaps new ones after them.
        """
        names = list(self.runs)
        added = names[len(before.runs) :]
        if len(added) > _MOST_ADDED or names[: len(before.runs)] != list(before.runs):
            return
        changed = changed_runs(before.runs, {name: self.runs[name] for name in before.runs} if added else self.runs)
        if not all(alike(before.runs[name], self.runs[name]) for name in changed):
            return
        if added:
            same_hparams = self._grow(before, added)
        else:
            same_hparams = True
            vars(self).update({name: value for name, value in vars(before).items() if name in _STRUCTURE})
        other = (*changed, *added)
        for key, value in list(before._known.items()):
            kind = key[0] if isinstance(key, tuple) else key
            if isinstance(key, MetricField | RunFact) or (isinstance(key, HParamField) and same_hparams):
                column = dict(cast(Mapping[str, object], value))
                column.update((name, self._told(name, key)) for name in other)
                self._known[key] = column
            elif kind in _EXAMPLES:
                # A search for names gives way to a condition when the first hyperparameters appear.
                if not added or (same_hparams and before._hparam_values):
                    self._known[key] = value
            elif not added and (not changed or kind in _STRUCTURE_KEYS):
                self._known[key] = value

    def _told(self, run: str, key: "Field | RunFact") -> object:
        return key.of_run(self.runs[run]) if isinstance(key, RunFact) else self.value(run, key)

    def _grow(self, before: "Facts", added: Sequence[str]) -> bool:
        """Compute the facts of new runs; return whether all others keep their hyperparameters.

        A run affects only the facts of runs above it, below it and beside it.
        """
        if "." in self.runs or "hparams" not in vars(before) or "helpers" not in vars(before):
            return False
        tops = {name.partition("/")[0] for name in added}
        family = Facts({name: run for name, run in self.runs.items() if name.partition("/")[0] in tops})
        helpers = {name: helper for name, helper in before.helpers.items() if name not in family.runs}
        helpers |= family.helpers
        self.helpers = {name: helpers[name] for name in self.runs if name in helpers} if helpers else {}
        self.hparams = {**before.hparams, **family.hparams}
        if any(self.hparams[name] != before.hparams[name] for name in family.runs if name in before.runs):
            return False
        if "_hparam_values" in vars(before):
            more = _values_by_name(self.hparams[run] for run in added)
            known = before._hparam_values
            self._hparam_values = {**known, **{name: known.get(name, set()) | own for name, own in more.items()}}
        return True

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return the result of ``make``, computed when the key is first requested; concurrent callers wait for it.

        Cached properties of this class must not call this method: two threads would wait for each other.
        """
        if key not in self._known:
            with self._making:
                if key not in self._known:
                    self._known[key] = make()
        return cast(T, self._known[key])

    def by_run(self, fact: RunFact) -> Mapping[str, Any]:
        """Return a fact by run; it is computed once, and afterward only for runs that changed."""
        return self.once(fact, lambda: {name: fact.of_run(run) for name, run in self.runs.items()})

    def lately(self, key: object, make: Callable[[], T]) -> T:
        """Return the result of ``make``, kept while the key is among the most recently requested ones."""
        with self._lock:
            if key in self._lately:
                self._lately.move_to_end(key)
                return cast(T, self._lately[key])
        made = make()
        with self._lock:
            self._lately[key] = made
            while len(self._lately) > _MOST_LATELY:
                self._lately.popitem(last=False)
        return made

    @staticmethod
    def _of_run(run: Run, key: object, make: Callable[[Run], T]) -> T:
        """Return a fact of a single run, computed once: an unchanged run is the same object in later snapshots."""
        known = cast(dict[object, object], vars(run).setdefault("_facts", {}))
        if key not in known:
            known[key] = make(run)
        return cast(T, known[key])

    @cached_property
    def helpers(self) -> Mapping[str, Helper]:
        """Runs that belong to another run, such as lines of ``add_scalars``."""
        return helper_runs(self.runs)

    @cached_property
    def trainings(self) -> tuple[str, ...]:
        """The runs that belong to no other, in order of their first events."""
        return tuple(run for run in self.runs if run not in self.helpers)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of every run in the order of first events."""
        return {run: place for place, run in enumerate(self.runs)}

    @cached_property
    def orders(self) -> Mapping[str, int]:
        """The place of every run that belongs to no other, among such runs."""
        return {run: order for order, run in enumerate(self.trainings)}

    @cached_property
    def hparams(self) -> Mapping[str, Mapping[str, HParamValue]]:
        """Hyperparameters by run.

        A run without its own session has those of the nearest session above it, as Keras writes them (``train`` and
        ``validation`` below the session), else those of the only session directly below it, as PyTorch's
        ``add_hparams`` writes it. If there are several sessions below, the run has none of them. A line of
        ``add_scalars`` has those of the run that it belongs to.
        """
        found_in = ((name, self._of_run(self.runs[name], "hparams", _own_hparams)) for name in sorted(self.runs))
        own = {name: hparams for name, hparams in found_in if hparams is not None}
        below: dict[str, list[str]] = {}
        for session in own:
            if session != ".":
                below.setdefault(posixpath.dirname(session) or ".", []).append(session)
        found = {run: self._hparams_of(run, own, below) for run in self.runs}
        return {run: found[h.parent] if (h := self.helpers.get(run)) and h.line else found[run] for run in self.runs}

    @staticmethod
    def _hparams_of(
        run: str, own: Mapping[str, Mapping[str, HParamValue]], below: Mapping[str, list[str]]
    ) -> Mapping[str, HParamValue]:
        at = run
        while True:
            if at in own:
                return own[at]
            if at in ("", "."):
                break
            at = posixpath.dirname(at) or "."
        children = below.get(run, [])
        return own[children[0]] if len(children) == 1 else {}

    @cached_property
    def hparam_names(self) -> tuple[str, ...]:
        """All hyperparameters: those that differ between runs first, then the rest by run and by name."""
        seen = self._hparam_values
        return (*self.differing_hparams, *(name for name in seen if len(seen[name]) == 1))

    @cached_property
    def differing_hparams(self) -> tuple[str, ...]:
        """Hyperparameters whose values differ between the runs that have them, the most informative first.

        Those with more values come first; with equal counts, numbers before texts, then by name. Seeds are last: they
        only distinguish repetitions.
        """

        def telling(name: str) -> tuple[bool, int, bool, str]:
            values = self._hparam_values[name]
            numbers = all(kind in (int, float) for kind, _ in values)
            return _SEED.search(name) is not None, -len(values), not numbers, name

        return tuple(sorted((name for name, values in self._hparam_values.items() if len(values) > 1), key=telling))

    @cached_property
    def hparam_titles(self) -> Mapping[str, str]:
        """Display names of hyperparameters, if an experiment sets one that no other hyperparameter has."""
        infos = (info for said in experiments(self.runs) for info in said.hparam_infos)
        titles = {info.name: info.display_name for info in infos if info.display_name}
        uses = Counter([*titles.values(), *(name for name in self._hparam_values if titles.get(name) != name)])
        return {name: title for name, title in titles.items() if uses[title] == 1}

    def title(self, field: Field) -> str:
        """Return the display name of a field."""
        return self.hparam_titles.get(field.name, field.name) if isinstance(field, HParamField) else field.label

    @cached_property
    def _hparam_values(self) -> Mapping[str, set[tuple[type, HParamValue]]]:
        return _values_by_name(self.hparams.values())

    @cached_property
    def metric_tags(self) -> tuple[str, ...]:
        """All scalar tags, in order of first appearance."""
        return tuple(dict.fromkeys(tag for run in each_description(self.runs) for tag in run.tags_of_kind(SCALARS)))

    @cached_property
    def _known_tags(self) -> frozenset[str]:
        return frozenset(self.metric_tags)

    def has(self, field: Field) -> bool:
        """Return whether any run may have a value of a field; if not, somebody made up its name."""
        return field.name in self._hparam_values if isinstance(field, HParamField) else field.tag in self._known_tags

    def value(self, run: str, field: Field) -> FactValue:
        """Return the value of a field for a run."""
        if isinstance(field, HParamField):
            return self.hparams[run].get(field.name)
        return self._of_run(self.runs[run], field, lambda own: _summed_up(own, field))

    def column(self, field: Field) -> Mapping[str, FactValue]:
        """Return the value of a field by run, for all runs; computed once."""
        return self.once(field, lambda: {run: self.value(run, field) for run in self.runs})

    def last_step(self, run: str) -> int | None:
        """Return the furthest step of the run's scalars; None if there is none, or they cannot be read."""
        return _LAST_STEP.of_run(self.runs[run])

    def last_steps(self, runs: Sequence[str]) -> list[int | None]:
        """Return the furthest step of the scalars of several runs; for a few runs, the others are not computed."""
        if self._are_few(runs) and _LAST_STEP not in self._known:
            return list(map(self.last_step, runs))
        known = self.by_run(_LAST_STEP)
        return [known[run] for run in runs]

    def _are_few(self, runs: Sequence[str]) -> bool:
        return len(runs) < len(self.runs) / 2

    def values(self, runs: Iterable[str], field: Field) -> list[FactValue]:
        """Return the values of a field for several runs; for a few runs, the others are not computed."""
        names = list(runs)
        if self._are_few(names) and field not in self._known:
            return [self.value(run, field) for run in names]
        column = self.column(field)
        return [column[run] for run in names]
