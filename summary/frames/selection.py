"""Selection of the runs and tags in a table."""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

from stepscope.summary.contents import Contents
from stepscope.summary.counts import shown_names
from stepscope.summary.errors import UserError
from stepscope.summary.safe_regex import Pattern, PatternError
from stepscope.summary.series import Run, Series

Names: TypeAlias = str | Collection[str] | None
"""A case-insensitive regular expression to find anywhere in a name, a collection of whole names, or None for all."""


class SelectionError(UserError, ValueError):
    """The requested data does not exist, or exceeds the allowed size."""


def selected_series(contents: Contents, kinds: Collection[str] | None, runs: Names, tags: Names) -> list[Series]:
    """Return the series of the given kinds (None for all), runs and tags, ordered by run, then by first appearance.

    Raises:
        TypeError: ``runs`` or ``tags`` is neither a string nor a collection of strings.
        SelectionError: a regular expression is invalid or takes too long, or a whole name does not exist.
    """
    chosen = selected_runs(contents, runs)
    # A tag that exists only outside the chosen runs is not an error.
    existing = {tag for run in contents.runs.values() for tag in run.series}
    wanted = _selected_names(existing, tags, "tag")
    return [
        run.series[tag]
        for run in chosen
        for tag in run.series
        if tag in wanted and (kinds is None or run.kind_of(tag) in kinds)
    ]


def selected_runs(contents: Contents, runs: Names) -> list[Run]:
    """Return the runs that ``runs`` selects; raise the same errors as `selected_series`."""
    wanted = _selected_names(contents.runs, runs, "run")
    return [run for run in contents.runs.values() if run.name in wanted]


def check_selection(contents: Contents, runs: str | None, tags: str | None) -> None:
    """Check that each regular expression matches something.

    Raises:
        SelectionError: one matches no run, or no tag of any run.
    """
    if runs is not None:
        _check_match(list(contents.runs), runs, "run")
    if tags is not None:
        _check_match(list(dict.fromkeys(tag for run in contents.runs.values() for tag in run.series)), tags, "tag")


def _check_match(existing: Sequence[str], expression: str, noun: str) -> None:
    if not _selected_names(existing, expression, noun):
        raise no_match(existing, expression, noun)


def no_match(existing: Sequence[str], expression: str, noun: str) -> SelectionError:
    """Return the error of an expression that matches none of the existing names, the names of ``noun``s."""
    return SelectionError(f"no {noun} matches {expression!r}; there are {shown_names(existing)}")


def _selected_names(existing: Iterable[str], wanted: Names, noun: str) -> frozenset[str]:
    names = list(existing)
    if wanted is None:
        return frozenset(names)
    if isinstance(wanted, str):
        try:
            matches = Pattern(wanted).matches(names)
        except PatternError as error:
            raise SelectionError(
                f"{noun}s must be a regular expression or a collection of names, got {wanted!r}: {error}"
            ) from None
        return frozenset(name for name, match in zip(names, matches, strict=True) if match)
    if not isinstance(wanted, Collection):
        raise TypeError(
            f"{noun}s must be a regular expression or a collection of names, got {type(wanted).__name__} {wanted!r}"
        )
    for name in wanted:
        if not isinstance(name, str):
            raise TypeError(f"{noun}s must be strings, got {type(name).__name__} {name!r}")
    unknown = sorted(set(wanted) - set(names))
    if unknown:
        raise SelectionError(f"there is no {noun} {unknown[0]!r}; expected names among {shown_names(names)}")
    return frozenset(wanted)
