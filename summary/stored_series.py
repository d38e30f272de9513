"""The series of a run whose files were all read at an earlier start, each created on first access."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import PurePosixPath
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from stepscope.summary.blob_cache import BlobCache
from stepscope.summary.errors import reason_of
from stepscope.summary.kinds.base import Payload, PayloadError
from stepscope.summary.payload_locations import Content
from stepscope.summary.points import Part, TagState
from stepscope.summary.restarts import Turn
from stepscope.summary.scalar_summaries import ScalarSummary
from stepscope.summary.series import Columns, LazySeries, Series
from stepscope.summary.source import Source
from stepscope.summary.stored_points import NO_TEXTS, StoredPoints, TagTable

_MAKING: Final = threading.Lock()
_MADE: "Final[WeakValueDictionary[tuple[int, str], Series]]" = WeakValueDictionary()
"""The series in use, by tag and identity of the `StoredSeries` to which they belong, which they keep alive.

There is only one dictionary, because each is seven objects to the garbage collector, and there are very many runs.
"""


class StoredFile(NamedTuple):
    """A file of the run."""

    path: PurePosixPath
    number: int
    points: StoredPoints


class StoredSeries(LazySeries):
    """The series by tag; any thread may read them.

    The series must be plain; see `are_plain`.

    Args:
        run: name of the run.
        files: files of the run, in order; none of them gets more points here.
        version: version of all series.
        source: source from which payloads are read.
        blobs: cache of payloads that were read.
    """

    __slots__ = ("_blobs", "_run", "_source", "_tags", "_version", "files")

    def __init__(self, run: str, files: Sequence[StoredFile], version: int, source: Source, blobs: BlobCache) -> None:
        self.files = files
        self._run = run
        self._version = version
        self._source = source
        self._blobs = blobs
        if len(files) == 1:
            self._tags: Mapping[str, object] = files[0].points.places
        else:
            self._tags = dict.fromkeys(tag for file in files for tag in file.points.places)

    def __getitem__(self, tag: str) -> Series:
        # Two threads that request the same series get the same object.
        with _MAKING:
            series = _MADE.get((id(self), tag))
            if series is None:
                series = _MADE[id(self), tag] = self._make(tag)
            return series

    def __iter__(self) -> Iterator[str]:
        return iter(self._tags)

    def __len__(self) -> int:
        return len(self._tags)

    def __contains__(self, tag: object) -> bool:
        return tag in self._tags

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset[str]().union(*(file.points.table.kinds for file in self.files))

    def of_kind(self, kind: str) -> list[Series]:
        if len(self.files) > 1:
            return [series for series in self.values() if series.kind == kind]
        table = self.files[0].points.table
        return [self[tag] for tag, found in zip(table.tags, table.kinds, strict=True) if found == kind]

    def has_texts(self, kind: str) -> bool:
        points = [file.points for file in self.files]
        return any(found.table.kinds[place] == kind for found in points for place in found.texts)

    @property
    def described_by(self) -> object | None:
        return self.files[0].points.table if len(self.files) == 1 else None

    @property
    def version(self) -> int:
        return self._version

    def kind_of(self, tag: str) -> str | None:
        if len(self.files) > 1:
            return super().kind_of(tag)
        points = self.files[0].points
        return points.table.kind_of(points.places.get(tag))

    def plugin_content(self, tag: str, kind: str) -> bytes | None:
        if len(self.files) > 1:
            return super().plugin_content(tag, kind)
        points = self.files[0].points
        return points.table.plugin_content(points.texts, points.places.get(tag), kind)

    def tags_of_kind(self, kind: str) -> list[str]:
        return super().tags_of_kind(kind) if len(self.files) > 1 else self.files[0].points.table.tags_of_kind(kind)

    def furthest_step(self, kind: str) -> int | None:
        table = self.files[0].points.table
        if len(self.files) > 1 or table.going_back:
            return super().furthest_step(kind)
        return table.furthest_step(kind)

    def _make(self, tag: str) -> Series:
        holding = self.files if len(self.files) == 1 else self._holding(tag)
        points = holding[0].points
        place = points.places[tag]
        table = points.table
        texts = points.texts.get(place, NO_TEXTS)
        content = _StoredContent(self, tag)
        count = table.counts[place]
        for file in holding[1:]:
            count += file.points.table.counts[file.points.places[tag]]
        return Series(
            self._run,
            tag,
            table.kinds[place],
            *texts,
            self._version,
            0,
            content.columns,
            content.payload,
            count,
            summarize=content.summary,
            load_picture=content.picture if self._has_picture(tag, holding) else None,
        )

    def _holding(self, tag: str) -> list[StoredFile]:
        """Return the files that have a tag; raises KeyError if none has."""
        holding = [file for file in self.files if tag in file.points.places]
        if not holding:
            raise KeyError(tag)
        return holding

    def summary(self, tag: str) -> ScalarSummary | None:
        """Return the summary of a scalar tag's points, None if it has none; raises PayloadError if they no longer
        exist.
        """
        holding = self.files if len(self.files) == 1 else self._holding(tag)
        with self._pointing_out(tag):
            parts = [file.points.summary(file.points.places[tag]) for file in holding]
        known = [part for part in parts if part is not None]
        return reduce(ScalarSummary.followed_by, known) if known else None

    @contextmanager
    def _pointing_out(self, tag: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PayloadError(f"the points of {tag!r} of {self._run!r} cannot be read: {reason_of(error)}") from error

    def picture(self, tag: str) -> Columns | None:
        """Return a few points that look like all points of a tag; None if they are no faster to get.

        Raises PayloadError if they no longer exist.
        """
        holding = self.files if len(self.files) == 1 else self._holding(tag)
        if not self._has_picture(tag, holding):
            return None
        with self._pointing_out(tag):
            return self._content(holding, [file.points.picture(file.points.places[tag]) for file in holding]).columns()

    def _has_picture(self, tag: str, holding: Sequence[StoredFile]) -> bool:
        return any(file.points.has_picture(file.points.places[tag]) for file in holding)

    def content(self, tag: str) -> Content:
        """Return the points of a tag; raises PayloadError if they no longer exist."""
        holding = self.files if len(self.files) == 1 else self._holding(tag)
        with self._pointing_out(tag):
            return self._content(holding, [file.points.state(file.points.places[tag]) for file in holding])

    def _content(self, holding: Sequence[StoredFile], states: Sequence[TagState]) -> Content:
        parts = [Part(file.path, *state[-6:]) for file, state in zip(holding, states, strict=True)]
        return Content(self._source, self._blobs, states[0].kind, parts, [file.number for file in holding], None)


def are_plain(files: Sequence[tuple[TagTable, Turn]], *, keep_superseded: bool) -> bool:
    """Return whether series are simply the concatenated points of the files, which are ordered by rank.

    This holds unless files disagree on a tag's kind or were written at the same time, or a step goes back where that
    supersedes points.
    """
    if not keep_superseded and any(table.going_back for table, _ in files):
        return False
    if len(files) == 1:
        return True
    kinds: dict[str, str] = {}
    reached: dict[str, int] = {}
    ended: dict[str, Turn] = {}
    for table, turn in files:
        columns = (table.tags, table.kinds, table.counts, table.first_steps, table.last_steps)
        for tag, kind, count, first, last in zip(*columns, strict=True):
            if kinds.setdefault(tag, kind) != kind:
                return False
            if count:
                if not keep_superseded and first < reached.get(tag, first):
                    return False
                if tag in ended and not ended[tag].precedes(turn):
                    return False
                reached[tag], ended[tag] = last, turn
    return True


class _StoredContent(NamedTuple):
    """The points of one of the series, looked up on access."""

    series: StoredSeries
    tag: str

    def columns(self) -> Columns:
        """Return all points; raises PayloadError if they no longer exist."""
        return self.series.content(self.tag).columns()

    def picture(self) -> Columns | None:
        """Return a few points that look like all, if faster to get; raises PayloadError if they no longer exist."""
        return self.series.picture(self.tag)

    def summary(self) -> ScalarSummary | None:
        """Return the summary of all points; raises PayloadError if they no longer exist."""
        return self.series.summary(self.tag)

    def payload(self, index: int) -> Payload:
        """Return the payload of a point; raises PayloadError."""
        return self.series.content(self.tag).payload(index)
