"""Groups of runs: by hyperparameters, by path, by regular expression, and seeds of the same training."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Final, TypeAlias, TypeVar

from stepscope.dashboard.runs.facts import Facts, HParamField, parse_field
from stepscope.summary.kinds.hparams import HParamValue
from stepscope.summary.safe_regex import Pattern, PatternError

SEEDS: Final = "seeds"
PATH: Final = "path:"
REGEX: Final = "regex:"
NO_VALUE: Final = "(none)"
NO_MATCH: Final = "(no match)"
DEEPEST_PATH: Final = 32
MOST_SPECS: Final = 20
MOST_SECONDS: Final = 0.5
"""The time limit of all regular expressions together."""

_DEPTHS: Final = {str(depth): depth for depth in range(1, DEEPEST_PATH + 1)}
_SEED_NAME: Final = re.compile(r"(?i)^(random|rng|np|torch|global)?[_-]?(seed|random_state)s?$")
_SEED_IN_NAME: Final = re.compile(
    r"(?i)(?:(?<=[/_\-., ])|^)(seed|rs|s|trial|repeat|rep|fold)([=_\-:]?)\d+(?=$|[/_\-., ])"
)
_Signature: TypeAlias = tuple[tuple[str, str], ...]
"""Hyperparameters by name, each value as Python writes it, so that true is not 1."""
_NUMBER_AT_END: Final = re.compile(r"(?<=[_\-/])(\d{1,4})$")
_WHOLE_BELOW: Final = 2**53
"""From here on, floats cannot tell a whole number from the next."""

Key = TypeVar("Key")
KeysOf: TypeAlias = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class RunGroup:
    """Runs that are treated as one."""

    label: str
    runs: tuple[str, ...]
    """The group's runs, including sessions of ``add_hparams`` below the runs that they belong to."""
    lines: bool = False
    """Whether its runs are the same line of ``add_scalars`` in the runs of another group."""


def group_runs(facts: Facts, specs: Sequence[str]) -> tuple[tuple[RunGroup, ...], str]:
    """Group all runs by all ``specs`` together.

    Args:
        facts: the facts of the runs.
        specs: any of "seeds", "path:DEPTH", "regex:PATTERN", "hparam:NAME"; runs are in one group if they agree in all.
            A pattern's capturing groups form the key, else the whole match; it may match anywhere, ignoring case.
            There are at most `MOST_SPECS`.

    Returns:
        The groups in order of their first runs, groups of lines last, none without specs; and the problem with a spec,
        or "". A run without other seeds is in no group by seeds.
    """
    runs = facts.trainings
    wanted = dict.fromkeys(specs)
    if len(wanted) > MOST_SPECS:
        return (), f"Cannot group by {len(wanted)} fields at once, only by up to {MOST_SPECS}"
    deadline = monotonic() + MOST_SECONDS
    keys: list[Sequence[str]] = []
    for spec in wanted:
        try:
            keys.append(_keys_of(facts, spec, deadline)(runs))
        except PatternError as error:
            return (), f"Cannot group by {spec.removeprefix(REGEX)!r}: {error}"
    if not keys:
        return (), ""
    members: dict[tuple[str, ...], list[str]] = {}
    for run, *parts in zip(runs, *keys, strict=True):
        members.setdefault(tuple(parts), []).append(run)
    least = least_members(specs)
    kept = {key: found for key, found in members.items() if len(found) >= least}
    labels = _told_apart({key: " · ".join(key) for key in kept})
    return _with_helpers(facts, [RunGroup(labels[key], tuple(found)) for key, found in kept.items()]), ""


def least_members(specs: Sequence[str]) -> int:
    """Return the minimum number of runs in a group."""
    return 2 if SEEDS in specs else 1


def _with_helpers(facts: Facts, groups: Sequence[RunGroup]) -> tuple[RunGroup, ...]:
    """Return the groups with the sessions of their runs, and groups of the lines that their runs share."""
    if not facts.helpers:
        return tuple(groups)
    label_of = {run: group.label for group in groups for run in group.runs}
    sessions: dict[str, list[str]] = {}
    lines: dict[tuple[str, str], list[str]] = {}
    for run, helper in facts.helpers.items():
        label = label_of.get(helper.parent)
        if label is not None and helper.line:
            lines.setdefault((label, helper.line), []).append(run)
        elif label is not None:
            sessions.setdefault(label, []).append(run)
    return (
        *(RunGroup(group.label, (*group.runs, *sessions.get(group.label, ()))) for group in groups),
        *(RunGroup(f"{label}/{line}", tuple(runs), lines=True) for (label, line), runs in lines.items()),
    )


def _told_apart(texts: Mapping[Key, str]) -> Mapping[Key, str]:
    """Return texts that differ, as their keys do: those that an earlier key has are numbered."""
    found: dict[Key, str] = {}
    taken: set[str] = set()
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
    for key, text in texts.items():
        written = text
        while written in taken:
            written = f"{text} ({next(numbers[text])})"
        taken.add(written)
        found[key] = written
    return found


@dataclass(frozen=True)
class SeedsFound:
    """The effect that grouping by seeds would have."""

    settings: int
    """Number of groups with two runs or more."""
    runs: int
    """Number of runs in these groups."""


def seeds_found(facts: Facts) -> SeedsFound:
    """Return the number of runs that differ from another only by their seed."""

    def found() -> SeedsFound:
        counts = [count for count in Counter(seed_labels(facts).values()).values() if count > 1]
        return SeedsFound(len(counts), sum(counts))

    return facts.once("seeds_found", found)


def seed_labels(facts: Facts) -> Mapping[str, str]:
    """Return, by run, the name of its training without the seed; see `names_without_seed`."""
    return facts.once("seeds", lambda: names_without_seed({run: facts.hparams[run] for run in facts.trainings}))


def names_without_seed(hparams: Mapping[str, Mapping[str, HParamValue]]) -> Mapping[str, str]:
    """Return, by run, the name of its training without the seed.

    Two runs get the same name if their names differ only in a part such as ``seed_3``, ``s3`` or ``trial-3``, or in
    final numbers that count up from 0 or 1, and all hyperparameters but the seed are the same.
    """
    stripped = {run: _SEED_IN_NAME.sub(lambda found: f"{found[1]}{found[2]}*", run) for run in hparams}
    counted = _counted(run for run, label in stripped.items() if label == run)
    by_name = {run: counted.get(run, label) for run, label in stripped.items()}
    runs_of = Counter(by_name.values())
    signatures: dict[str, _Signature] = {}
    told_apart: dict[str, dict[_Signature, Mapping[str, HParamValue]]] = {}
    for run, label in by_name.items():
        if runs_of[label] > 1:
            settings = {name: value for name, value in hparams[run].items() if not _SEED_NAME.match(name)}
            signatures[run] = tuple(sorted((name, repr(value)) for name, value in settings.items()))
            told_apart.setdefault(label, {})[signatures[run]] = settings
    differences = {label: _differences(found) for label, found in told_apart.items() if len(found) > 1}
    return {
        run: f"{label} ({differences[label][signatures[run]]})" if label in differences else label
        for run, label in by_name.items()
    }


def _counted(runs: Iterable[str]) -> Mapping[str, str]:
    """Return labels of runs whose names differ by a final number that counts up from 0 or 1."""
    numbers: dict[str, dict[str, int]] = {}
    for run in runs:
        found = _NUMBER_AT_END.search(run)
        if found is not None:
            numbers.setdefault(run[: found.start()] + "*", {})[run] = int(found[1])
    return {
        run: label
        for label, members in numbers.items()
        if len(members) > 1
        and sorted(members.values()) in (list(range(len(members))), list(range(1, len(members) + 1)))
        for run in members
    }


def _differences(settings: Mapping[_Signature, Mapping[str, HParamValue]]) -> Mapping[_Signature, str]:
    """Return, by signature, the hyperparameters that differ between the signatures."""
    exact = {signature: dict(signature) for signature in settings}
    values: dict[str, dict[str | None, HParamValue | None]] = {name: {} for own in exact.values() for name in own}
    for signature, own in settings.items():
        for name, distinct in values.items():
            distinct[exact[signature].get(name)] = own.get(name)
    shown = {name: _shown(distinct) for name, distinct in values.items() if len(distinct) > 1}
    return _told_apart(
        {
            signature: ", ".join(f"{name}={texts[written.get(name)]}" for name, texts in shown.items())
            for signature, written in exact.items()
        }
    )


def _keys_of(facts: Facts, spec: str, deadline: float) -> KeysOf:
    """Return the function that makes key parts from the names of runs; searches in them end at the deadline."""
    if spec == SEEDS:
        labels = seed_labels(facts)
        return lambda runs: [labels[run] for run in runs]
    if spec.startswith(PATH):
        written = spec.removeprefix(PATH)
        depth = _DEPTHS.get(written)
        if depth is None:
            raise PatternError(f"a path has a depth of 1 to {DEEPEST_PATH}, not {written!r}")
        return lambda runs: ["/".join(run.split("/")[:depth]) for run in runs]
    if spec.startswith(REGEX):
        pattern = Pattern(spec.removeprefix(REGEX))
        return lambda runs: [
            NO_MATCH if captured is None else " · ".join(captured)
            for captured in pattern.captured(runs, seconds=deadline - monotonic())
        ]
    field = parse_field(spec)
    if isinstance(field, HParamField):
        return lambda runs: [
            f"{field.name}={text}"
            for text in shown_values({run: facts.hparams[run].get(field.name) for run in runs}).values()
        ]
    raise PatternError('runs are grouped by "seeds", "path:DEPTH", "regex:PATTERN" or "hparam:NAME"')


def shown_values(values: Mapping[Key, HParamValue | None]) -> Mapping[Key, str]:
    """Return hyperparameters as texts, which differ if the values differ."""
    exact = {key: repr(value) for key, value in values.items()}
    texts = _shown({exact[key]: value for key, value in values.items()})
    return {key: texts[written] for key, written in exact.items()}


def _shown(distinct: Mapping[Key, HParamValue | None]) -> Mapping[Key, str]:
    return _told_apart({key: shown_value(value) for key, value in distinct.items()})


def shown_value(value: HParamValue | None) -> str:
    """Return a hyperparameter as text: whole numbers in full, others with few digits."""
    if value is None:
        return NO_VALUE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if value % 1 == 0 and abs(value) < _WHOLE_BELOW else f"{value:.6g}"
