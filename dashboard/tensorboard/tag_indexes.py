"""The tags of each run with their names and descriptions, as in TensorBoard's ``tags`` routes."""

import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from stepscope.dashboard.page.safe_html import markdown_html
from stepscope.dashboard.server.json_bytes import json_bytes
from stepscope.dashboard.server.pieces import json_answer, named
from stepscope.dashboard.server.work import Pieces
from stepscope.summary.series import LazySeries, Run, Series
from stepscope.summary.snapshot import Snapshot


def tag_index(series: Iterable[Series]) -> dict[str, dict[str, str]]:
    """Return tags with their display name and description as sanitized HTML."""
    return {
        s.tag: {"displayName": s.display_name or s.tag, "description": markdown_html(s.description)} for s in series
    }


class TagIndexes:
    """Run -> tag -> display name and description, for one kind; safe to use from any thread.

    Answers are kept for runs that have not changed since the last request: of ten thousand runs, few grow.
    """

    def __init__(self, kind: str) -> None:
        self._kind: Final = kind
        self._known: Mapping[str, tuple[weakref.ref[Run], bytes]] = {}

    def answer(self, snapshot: Snapshot) -> Pieces:
        """Return all runs that have the kind, one run per piece."""
        return json_answer(named(self._members(snapshot)))

    def _members(self, snapshot: Snapshot) -> Iterator[tuple[str, tuple[bytes]]]:
        known, now = self._known, {}
        alike: dict[int, bytes] = {}
        for name, run in snapshot.runs.items():
            before = known.get(name)
            # A name may come to refer to another run: the object shows this.
            found = before if before is not None and before[0]() is run else (weakref.ref(run), self._index(run, alike))
            now[name] = found
            if found[1]:
                yield name, (found[1],)
        self._known = now

    def _index(self, run: Run, alike: dict[int, bytes]) -> bytes:
        """Return the tags of a run as JSON; nothing where it has none of the kind.

        ``alike`` has the answers for runs that the same object describes, each of which a run holds.
        """
        described_by = None
        if isinstance(run.series, LazySeries) and not run.series.has_texts(self._kind):
            described_by = run.series.described_by
        if described_by is not None and id(described_by) in alike:
            return alike[id(described_by)]
        found = run.of_kind(self._kind)
        index = json_bytes(tag_index(found)) if found else b""
        if described_by is not None:
            alike[id(described_by)] = index
        return index
