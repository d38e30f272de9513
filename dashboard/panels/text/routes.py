"""Texts over HTTP: some as HTML, one as written, all as a file, their differences, and a search."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated, Final, Literal

import numpy as np
import orjson
from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import PlainTextResponse

from stepscope.dashboard.page.safe_html import raw_text, text_html
from stepscope.dashboard.page.state import MAX_QUERY, decode
from stepscope.dashboard.panels.cards import pair_key, shown_series
from stepscope.dashboard.panels.groups import Arrangement, OfTag, arrange, card_places
from stepscope.dashboard.panels.text.diff import Diff, diff
from stepscope.dashboard.panels.text.json_tree import json_tree
from stepscope.dashboard.panels.text.messages import (
    MOST_ENTRIES,
    Comparison,
    Entry,
    EntryPlace,
    FoundText,
    SearchAnswer,
    StepPlace,
)
from stepscope.dashboard.panels.text.search import Found, Hit, Place, TextPattern, search
from stepscope.dashboard.server.errors import find_series
from stepscope.dashboard.server.headers import attachment
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.numbers import json_number
from stepscope.dashboard.server.parameters import MAX_NAME, Index, RunName, Step, TagName
from stepscope.dashboard.server.work import LightRoute, Pieces, heavy
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.text import PLUGIN_NAME
from stepscope.summary.safe_regex import LONGEST_PATTERN, PatternError
from stepscope.summary.series import Series

SAFE: Final = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}

ViewQuery = Annotated[str, Query(max_length=MAX_QUERY, description="The page's own query: which runs and tags.")]
PatternText = Annotated[str, Query(max_length=LONGEST_PATTERN)]
FileFormat = Literal["txt", "jsonl"]


def entry(series: Series, index: int, *, markdown: bool, pattern: TextPattern | None = None) -> Entry:
    """Return one text as sanitized HTML with the strings in it that a pattern finds, or why it cannot be read."""
    found: Entry = {
        "index": index,
        "step": int(series.steps[index]),
        "wall": json_number(float(series.wall_times[index])),
        "html": "",
        "notice": "",
        "error": "",
        "form": "text",
        "words": [],
    }
    try:
        strings = series.read(index).strings
    except PayloadError as error:
        return {**found, "error": str(error)}
    tree = json_tree(str(strings.item())) if markdown and strings.ndim == 0 else None
    words = [] if pattern is None else _words(pattern, raw_text(strings))
    if tree is not None:
        return {**found, "html": tree, "form": "json", "words": words}
    rendered = text_html(strings, markdown=markdown)
    form: Literal["text", "table"] = "text" if strings.ndim == 0 else "table"
    return {**found, "html": rendered.html, "notice": rendered.notice, "form": form, "words": words}


def _words(pattern: TextPattern, text: str) -> list[str]:
    try:
        return pattern.words(text)
    except PatternError:
        return []


def read_text(series: Series, index: int) -> str:
    """Return one text as written.

    Raises:
        HTTPException: 404 if the point does not exist, 422 if it cannot be read.
    """
    try:
        return raw_text(series.read(index).strings)
    except IndexError as error:
        raise HTTPException(404, f"{error}.") from error
    except PayloadError as error:
        raise HTTPException(422, f"No text: {error}.") from error


def make_router(live: Live) -> APIRouter:
    """Return the panel's routes for the latest snapshot."""
    routes = APIRouter(route_class=LightRoute)
    _add_entries(routes, live)
    _add_files(routes, live)
    _add_diff(routes, live)
    _add_search(routes, live)
    return routes


def _add_entries(routes: APIRouter, live: Live) -> None:
    @routes.get("/entries")
    def entries(
        run: RunName,
        tag: TagName,
        start: Index,
        stop: Index,
        markdown: bool = True,
        pattern: PatternText = "",
        regex: bool = False,
    ) -> list[Entry]:
        """Return the newest texts from ``start`` up to, but not including, ``stop``: at most 50, newest first."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        stop = min(stop, len(series))
        first = max(start, stop - MOST_ENTRIES)
        try:
            looked_for = TextPattern(pattern, literal=not regex) if pattern else None
        except PatternError:
            # The search reports what is wrong with the pattern; the texts are shown anyway.
            looked_for = None
        return [entry(series, index, markdown=markdown, pattern=looked_for) for index in range(stop - 1, first - 1, -1)]

    @routes.get("/at")
    def at(run: RunName, tag: TagName, step: Step) -> EntryPlace:
        """Return the point nearest to a step: of two equally near, the later one; of several at one step, the last."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        if not len(series):
            raise HTTPException(404, f"{run!r} has no points of {tag!r}.")
        distance = np.abs(series.steps.astype(np.float64) - float(step))
        index = len(series) - 1 - int(np.argmin(distance[::-1]))
        return {"index": index, "step": int(series.steps[index]), "total": len(series)}


def _add_files(routes: APIRouter, live: Live) -> None:
    @routes.get("/raw")
    def raw(run: RunName, tag: TagName, index: Index, download: bool = False) -> PlainTextResponse:
        """Return one full text as written."""
        series = find_series(live.snapshot(), run, tag, PLUGIN_NAME)
        text = read_text(series, index)
        name = attachment(f"{run}_{tag}_step{int(series.steps[index])}", "txt") if download else {}
        return PlainTextResponse(text, headers={**SAFE, **name})

    @routes.get("/file")
    def file(
        query: ViewQuery = "",
        run: RunName | None = None,
        tag: TagName | None = None,
        format: FileFormat = "txt",
    ) -> Pieces:
        """Return every text of the shown runs and tags, or of one run's tag, as one file: plain, or one object
        per line.
        """
        snapshot = live.snapshot()
        if run is not None and tag is not None:
            chosen = [find_series(snapshot, run, tag, PLUGIN_NAME)]
        else:
            chosen = shown_series(snapshot, decode(query), PLUGIN_NAME)
        name = f"{run}_{tag}" if run is not None and tag is not None else "texts"
        kind = "text/plain; charset=utf-8" if format == "txt" else "application/jsonl"
        headers = {**SAFE, **attachment(name, format)}
        return Pieces(file_lines(chosen, format), media_type=kind, headers=headers)


def file_lines(chosen: Iterable[Series], form: FileFormat) -> Iterator[bytes]:
    """Yield the pieces of a file with all texts of some series, oldest first, with one text in memory at a time."""
    for series in chosen:
        for index, (step, wall) in enumerate(zip(series.steps.tolist(), series.wall_times.tolist(), strict=True)):
            error = ""
            try:
                strings = series.read(index).strings
            except PayloadError as damaged:
                strings, error = np.array("", object), str(damaged)
            if form == "jsonl":
                where = {"run": series.run, "tag": series.tag, "step": step, "wall_time": json_number(wall)}
                content = {"error": error} if error else {"text": strings.tolist()}
                yield orjson.dumps({**where, **content}, option=orjson.OPT_APPEND_NEWLINE)
            else:
                text = f"[cannot be read: {error}]" if error else raw_text(strings)
                yield f"===== {series.tag} | {series.run} | step {step}\n{text}\n\n".encode()


def _add_diff(routes: APIRouter, live: Live) -> None:
    @routes.get("/diff")
    @heavy
    def difference(tag: TagName, old_run: RunName, old_index: Index, new_run: RunName, new_index: Index) -> Comparison:
        """Return two texts of a tag compared line by line; a line is ``[change, number, number, segments, segments]``.

        If a text is damaged, ``error`` says so.
        """
        snapshot = live.snapshot()
        old, new = (find_series(snapshot, run, tag, PLUGIN_NAME) for run in (old_run, new_run))
        for series, index in ((old, old_index), (new, new_index)):
            if index >= len(series):
                raise HTTPException(
                    404,
                    f"{series.run!r} has {counted(len(series), 'point')} of {series.tag!r}; "
                    f"expected a number from 0 to {len(series) - 1}, got {index}.",
                )
        old_place: StepPlace = {"step": int(old.steps[old_index]), "total": len(old)}
        new_place: StepPlace = {"step": int(new.steps[new_index]), "total": len(new)}
        try:
            found = diff(raw_text(old.read(old_index).strings), raw_text(new.read(new_index).strings))
        except PayloadError as error:
            found, said = Diff((), 0, 0, ""), f"{error}."
        else:
            said = ""
        return {
            "rows": [(row.change, row.old_number, row.new_number, row.old, row.new) for row in found.rows],
            "added": found.added,
            "removed": found.removed,
            "notice": found.notice,
            "error": said,
            "old": old_place,
            "new": new_place,
        }


def _add_search(routes: APIRouter, live: Live) -> None:
    @routes.get("/search")
    @heavy
    def find(
        pattern: PatternText,
        query: ViewQuery = "",
        regex: bool = False,
        place: Annotated[str, Query(max_length=3 * MAX_NAME, description="Where to go on.")] = "",
    ) -> SearchAnswer:
        """Search a few hundred texts of the shown runs; ``place`` in the answer is where the next request continues.

        An expression that is invalid, or takes too long, gives an answer with ``error``.
        """
        if not pattern:
            raise HTTPException(422, "The pattern is empty.")
        goes_on_at = parse_place(place)
        chosen = shown_series(live.snapshot(), decode(query), PLUGIN_NAME)
        try:
            found = search(chosen, TextPattern(pattern, literal=not regex), goes_on_at)
        except PatternError as error:
            nothing = Found((), 0, sum(map(len, chosen)), 0, None)
            return _answer(nothing, {}, f"This expression cannot be searched for: {error}.")
        return _answer(found, places_of(chosen), "")


def _answer(found: Found, cards: dict[str, tuple[tuple[str, ...], int]], error: str) -> SearchAnswer:
    goes_on = None if found.place is None else orjson.dumps(list(asdict(found.place).values())).decode()
    return {
        "hits": [_hit(hit, cards) for hit in found.hits],
        "searched": found.searched,
        "total": found.total,
        "unreadable": found.unreadable,
        "place": goes_on,
        "error": error,
    }


def parse_place(text: str) -> Place | None:
    """Return where a search continues, parsed from the text in the last answer.

    Raises:
        HTTPException: 422 if the text is invalid.
    """
    if not text:
        return None
    try:
        tag, run, before = orjson.loads(text)
        return Place(str(tag), str(run), max(0, int(before)))
    except (ValueError, TypeError) as error:
        raise HTTPException(422, f"{text[:80]!r} is not a position in a search.") from error


def places_of(chosen: Iterable[Series]) -> dict[str, tuple[tuple[str, ...], int]]:
    """Return the sections and the page, counted from 1, of the card of every series, by its key."""
    cards = [(OfTag(series.tag), pair_key(series.tag, series.run)) for series in chosen]
    return {key: (path, page) for key, path, page in card_places(arrange(cards, Arrangement()))}


def _hit(hit: Hit, cards: dict[str, tuple[tuple[str, ...], int]]) -> FoundText:
    key = pair_key(hit.tag, hit.run)
    sections, page = cards[key]
    return {
        "tag": hit.tag,
        "run": hit.run,
        "index": hit.index,
        "step": hit.step,
        "count": hit.count,
        "before": hit.before,
        "found": hit.found,
        "after": hit.after,
        "key": key,
        "sections": list(sections),
        "page": page,
    }
