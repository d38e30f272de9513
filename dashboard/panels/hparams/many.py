"""Selection of the sessions sent to a page when there are very many: the first of the table, and a sample for charts.

Sessions are processed as columns here; rows are made only for the chosen ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.hparams.sessions import Column, Reached, Sessions, last_time, text_of
from stepscope.dashboard.panels.hparams.settings import STATUSES, Rows, TableRequest
from stepscope.dashboard.runs.facts import Facts
from stepscope.dashboard.server.numbers import natural
from stepscope.dashboard.tensorboard.hparams.sessions import run_of_metric
from stepscope.summary.collections_off import putting_aside
from stepscope.summary.distinct import distinct_values

MOST_OF_GROUPS: Final = 20_000
"""Number of sessions after which a page gets no further groups."""

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Chosen:
    """Indices of sessions; each row of the table is one session or a group of several."""

    listed: Places
    """Sessions of the table's first rows, in order; for groups, one group after the other."""
    sampled: Places
    """Sessions of further rows, for the charts."""
    passing: Places
    """All sessions that pass the filters."""
    rows: int
    """The number of rows that they make."""
    found: int
    """The number of these rows that the search finds."""


def choose(
    found: Sessions,
    requested: TableRequest,
    how: Rows,
    target: Column | None,
    lower: bool,
    most: int,
    listed: int,
    most_of_groups: int,
) -> Chosen:
    """Return the sessions to show.

    Args:
        found: all sessions.
        requested: filters, search and order.
        how: "sessions" for one row each, else what represents a group.
        target: the metric that groups are chosen by, and the default sort column of the table.
        lower: whether lower values of the target are better.
        most: maximum number of chosen rows.
        listed: number of these that are the first rows of the table.
        most_of_groups: number of sessions after which no further group is taken: a few groups may have most sessions.
    """
    passing = np.flatnonzero(passes(found, requested))
    searched = passing[holds_words(found, requested.search)[passing]]
    if how == "sessions":
        heads, members = searched, None
        rows = len(passing)
    else:
        heads, members = _groups(found, searched, how, target, requested)
        rows = len(distinct_values(_group_codes(found)[passing]))
    ordered = heads[_in_order(found, heads, requested, target, lower)]
    first, rest = ordered[:listed], ordered[listed:]
    # Axes go from end to end; for that, other metrics would have to be read for all sessions.
    by_points = None if found.snapshot.loading else target
    axes = [column for column in found.columns if column is by_points or (column.default and column.kind == "hparam")]
    spread = _spread(rest, most - len(first), [numbers(found, column, requested) for column in axes])

    def sessions(chosen: Places) -> Places:
        if members is None:
            return chosen
        parts: list[Places] = [chosen[:0]]
        taken = 0
        for head in chosen:
            if taken > most_of_groups:
                break
            parts.append(members(head))
            taken += len(parts[-1])
        return np.concatenate(parts)

    return Chosen(sessions(first), sessions(spread), passing, rows, len(heads))


def passes(found: Sessions, requested: TableRequest) -> NDArray[np.bool_]:
    """Return, for each session, whether it passes the filters."""
    keep = np.ones(len(found.sessions), np.bool_)
    if requested.status:
        keep &= np.isin(_statuses(found), [STATUSES.index(one) for one in STATUSES if one in requested.status])
    for filters, passing in ((requested.allowed, True), (requested.excluded, False)):
        for name, texts in filters:
            labels, codes = texts_of(found, name)
            keep &= np.isin(codes, [code for code, label in enumerate(labels) if (label in texts) == passing])
    columns = {column.key: column for column in found.columns}
    for name, interval in requested.ranges:
        column = columns.get(name)
        if column is not None:
            values = numbers(found, column, requested)
            keep &= (values >= interval.low) & (values <= interval.high)
    return keep


def holds_words(found: Sessions, search: str) -> NDArray[np.bool_]:
    """Return, for each session, whether its name, group, status and hyperparameters contain all words of a search."""
    words = search.lower().split()
    if not words:
        return np.ones(len(found.sessions), np.bool_)

    def haystack() -> list[str]:
        return [
            "\n".join([one.run, one.group, one.status, *map(text_of, one.hparams.values())]).lower()
            for one in found.sessions
        ]

    texts = found.once("haystack", haystack)
    return np.fromiter((all(word in text for word in words) for text in texts), np.bool_, len(texts))


def _groups(
    found: Sessions, places: Places, how: Rows, target: Column | None, requested: TableRequest
) -> tuple[Places, Callable[[Any], Places]]:
    """Return the representative session of each group, and a function that returns all sessions of a group."""
    codes = _group_codes(found)[places]
    by_group = np.argsort(codes, kind="stable")
    _, begins = np.unique(codes[by_group], return_index=True)
    ordered = places[by_group]
    ends = np.append(begins[1:], len(ordered))
    heads = ordered[begins]
    if target is not None and how in ("min", "max", "median"):
        values = numbers(found, target, requested)[ordered]
        ranked = np.lexsort((values, codes[by_group]))
        counts = np.add.reduceat(~np.isnan(values), begins) if len(begins) else begins
        at = {"min": np.zeros_like(counts), "max": counts - 1, "median": (counts - 1) // 2}[how]
        heads = ordered[ranked[begins + np.maximum(at, 0)]]
    spans = dict(zip(heads.tolist(), zip(begins.tolist(), ends.tolist(), strict=True), strict=True))

    def members(head: Any) -> Places:
        begin, end = spans[int(head)]
        return ordered[begin:end]

    return np.sort(heads), members


def _in_order(found: Sessions, places: Places, requested: TableRequest, target: Column | None, lower: bool) -> Places:
    """Return the order of sessions; those without a value come last either way, and ties are in order of name.

    While the log directory is first loading, metrics do not affect the order: that would read all sessions' points.
    """
    sorts = [(key, order == "desc") for key, _, order in (entry.rpartition(":") for entry in requested.sort)]
    if not sorts and target is not None:
        sorts = [(target.key, not lower)]
    keys: list[Floats] = []
    for name, descending in reversed(sorts):
        column = next((column for column in found.columns if column.key == name), None)
        if found.snapshot.loading and (name == "@duration" or (column is not None and column.kind == "metric")):
            continue
        values = _sort_keys(found, name, column, requested)
        if values is not None:
            own = values[places]
            keys.append(-own if descending else own)
    return np.lexsort(keys) if keys else np.arange(len(places))


def _sort_keys(found: Sessions, name: str, column: Column | None, requested: TableRequest) -> Floats | None:
    """Return numbers that sort as a column does, with NaN for the last ones; None if the column does not exist."""
    match name:
        case "@run":
            return found.once("name ranks", lambda: _ranks([session.run for session in found.sessions]))
        case "@group":
            return found.once("group ranks", lambda: _ranks([session.group for session in found.sessions]))
        case "@status":
            return _statuses(found).astype(np.float64)
        case "@start":
            return found.once("starts", lambda: np.array([session.start for session in found.sessions], np.float64))
        case "@duration":
            return Facts.of(found.snapshot).lately(("durations", found.folder), lambda: _durations(found))
        case _:
            if column is None:
                return None
            if column.type == "number":
                return numbers(found, column, requested)
            labels, codes = texts_of(found, name)
            ranks = _ranks(labels)
            ranks[[at for at, label in enumerate(labels) if label == ""]] = np.nan
            return ranks[codes]


def _durations(found: Sessions) -> Floats:
    ends = [session.end or last_time(found.snapshot, session) for session in found.sessions]
    starts = [session.start for session in found.sessions]
    durations = np.array([np.nan if end is None else end for end in ends], np.float64) - np.array(starts, np.float64)
    return np.where(durations >= 0, durations, np.nan)


def numbers(found: Sessions, column: Column, requested: TableRequest) -> Floats:
    """Return the numbers of a column; NaN where a session has none."""
    if column.kind == "hparam":

        def given() -> Floats:
            values = (session.hparams.get(column.key) for session in found.sessions)
            return np.array([value if type(value) is float else np.nan for value in values], np.float64)

        return found.once(("numbers", column.key), given)

    def reached() -> Floats:
        with putting_aside():
            by_run = Facts.of(found.snapshot).by_run(Reached(column.tag, requested.value))
        if column.group:
            values = [by_run.get(run_of_metric(session.run, column.group)) for session in found.sessions]
        else:
            values = [by_run.get(session.run) for session in found.sessions]
        return np.array([np.nan if value is None else value[0] for value in values], np.float64)

    key = ("metric", found.folder, column.tag, column.group, requested.value)
    return Facts.of(found.snapshot).lately(key, reached)


def texts_of(found: Sessions, name: str) -> tuple[list[str], Places]:
    """Return the distinct texts of a hyperparameter ("" for none), and which of them each session has."""

    def coded() -> tuple[list[str], Places]:
        return _coded([text_of(session.hparams.get(name)) for session in found.sessions])

    # If no session has the name, somebody made it up.
    known = any(column.key == name for column in found.columns)
    return found.once(("texts", name), coded) if known else coded()


def _coded(texts: Sequence[str]) -> tuple[list[str], Places]:
    labels = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return list(labels), np.fromiter(map(labels.__getitem__, texts), np.intp, len(texts))


def _group_codes(found: Sessions) -> Places:
    return found.once("groups", lambda: _coded([session.group for session in found.sessions])[1])


def _statuses(found: Sessions) -> NDArray[np.int8]:
    def coded() -> NDArray[np.int8]:
        return np.array([STATUSES.index(session.status) for session in found.sessions], np.int8)

    return found.once("statuses", coded)


def _ranks(texts: Sequence[str]) -> Floats:
    """Return the rank of each text, alphabetically with embedded numbers by size; equal texts share a rank."""
    order = {text: place for place, text in enumerate(sorted(set(texts), key=natural))}
    return np.array([order[text] for text in texts], np.float64)


def _spread(places: Places, most: int, extremes: Sequence[Floats]) -> Places:
    """Return at most ``most`` evenly spaced places, including those of the minimum and maximum values."""
    if len(places) <= most:
        return places
    ends: list[int] = []
    for values in extremes:
        own = values[places]
        if np.isfinite(own).any():
            finite = np.where(np.isfinite(own), own, np.nan)
            ends += [int(np.nanargmin(finite)), int(np.nanargmax(finite))]
    kept = distinct_values(np.array(ends[:most], np.intp))
    others = np.setdiff1d(np.arange(len(places)), kept)
    even = others[np.linspace(0, len(others) - 1, max(most - len(kept), 0)).round().astype(np.intp)]
    return places[np.union1d(kept, even)]
