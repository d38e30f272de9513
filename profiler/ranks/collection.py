"""The facts of many ranks, as they arrive: first those kept from before, then a spread-out sample, then the rest."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.rank_facts import MOST_ROWS, FactTable, RankFacts, schemas
from stepscope.profiler.ranks.files import TraceFile, facts_of_file, spread, trace_file
from stepscope.profiler.ranks.store import FactStore, Segment
from stepscope.profiler.traces import TraceError, load_trace
from stepscope.summary.engine import Engine, Outcome, Progress, engine_at

if TYPE_CHECKING:
    import polars as pl

SAMPLE: Final = 16
"""Number of ranks that are read first, spread over all."""
_SEGMENT: Final = 64
"""Minimum number of ranks in a segment; it grows to a quarter of those before, so that there are few segments."""
_SEGMENT_SHARE: Final = 0.25
_SEGMENT_BYTES: Final = 32 << 20
"""Size of facts that are kept whatever their number: ranks with so many took long to read."""


@dataclass(frozen=True, eq=False)
class CollectedRanks(Mapping[int, Facts]):
    """What is known of the ranks of a job at one time: their facts (`RankTables`), and by rank their whole traces.

    A trace is read when it is requested and not kept, because many do not fit in memory together.
    """

    files: tuple[TraceFile, ...]
    """All requested traces, including those not read yet and those that cannot be read."""
    segments: tuple[Segment, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    """Why traces cannot be read, by address."""
    missing: int = 0
    """Number of traces still to be read."""

    @property
    def complete(self) -> bool:
        """Whether all traces have been read."""
        return not self.missing and not self.failures

    @property
    def words(self) -> str:
        """The number of ranks included, such as "16 of 1,024 ranks"."""
        every = len(self.files)
        have = len(self.ranks)
        return f"{have:,} of {every:,} ranks" if have < every else f"{every:,} ranks"

    @cached_property
    def _places(self) -> dict[TraceFile, tuple[int, int]]:
        """The segment of each trace, and its position there."""
        wanted = set(self.files)
        found: dict[TraceFile, tuple[int, int]] = {}
        for number, segment in enumerate(self.segments):
            for place, file in enumerate(segment.traces):
                if file in wanted:
                    found.setdefault(file, (number, place))
        return found

    @cached_property
    def about(self) -> "pl.DataFrame":
        """One row per known trace, in the order of `files`: the table "trace", with rank and ``file`` (int64).

        Ranks are those that the traces state; if not all are stated and distinct, they follow the order of the traces.
        """
        import polars as pl

        places = [(number, *self._places[file]) for number, file in enumerate(self.files) if file in self._places]
        at = pl.DataFrame(places, schema={"file": pl.Int64, "segment": pl.Int64, "trace": pl.Int64}, orient="row")
        rows = [
            segment.scan("trace").with_columns(segment=pl.lit(number, pl.Int64))
            for number, segment in enumerate(self.segments)
        ]
        if not rows:
            return pl.DataFrame(schema={"file": pl.Int64, **schemas()["trace"], "rank": pl.Int64})
        frame = at.lazy().join(pl.concat(rows), on=("segment", "trace"), how="left").sort("file").collect()
        stated = frame["stated_rank"]
        named = stated.null_count() == 0 and stated.n_unique() == len(frame)
        return frame.with_columns((stated if named else frame["file"]).alias("rank"))

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted(self.about["rank"].to_list()))

    @cached_property
    def left_out(self) -> Mapping[FactTable, int]:
        """Number of rows that did not fit into the facts of these ranks, by table; see `MOST_ROWS`."""
        sums = {name: int(self.about[f"left_out_{name}"].sum()) for name in MOST_ROWS}
        return {name: count for name, count in sums.items() if count}

    @cached_property
    def file_of(self) -> Mapping[int, TraceFile]:
        """The trace of each rank."""
        rows = zip(self.about["rank"].to_list(), self.about["file"].to_list(), strict=True)
        return {rank: self.files[number] for rank, number in rows}

    @cached_property
    def _rank_of(self) -> "Mapping[int, pl.DataFrame]":
        """The rank of each trace, for each segment that is needed."""
        parts = self.about.select("segment", "trace", "rank").partition_by("segment", as_dict=True, include_key=False)
        return {int(number): part for (number,), part in parts.items()}

    def scan(self, table: FactTable) -> "pl.LazyFrame":
        import polars as pl

        parts = [
            self.segments[number].scan(table).join(here.lazy(), on="trace", how="inner").drop("trace")
            for number, here in self._rank_of.items()
        ]
        return pl.concat(parts) if parts else pl.LazyFrame(schema={**schemas()[table], "rank": pl.Int64})

    def are_of_one_job(self) -> bool:
        """Return whether the traces state different ranks, or state none and were recorded at the same time."""
        import polars as pl

        about = self.about
        stated = about["stated_rank"].drop_nulls()
        if len(stated):
            return len(stated) == len(about) and stated.n_unique() == len(about)
        spans = about.select(pl.col("start_ns", "end_ns") + pl.col("epoch_ns")).drop_nulls()
        if len(spans) < len(about) or spans.is_empty():
            return False
        start, end = spans["start_ns"].max(), spans["end_ns"].min()
        return isinstance(start, int) and isinstance(end, int) and start < end

    def __getitem__(self, rank: int) -> Facts:
        """Read the trace of a rank now.

        Raises:
            KeyError: there is no such rank.
            TraceError: the trace can no longer be read.
        """
        return Facts(load_trace(self.file_of[rank].address))

    def __iter__(self) -> Iterator[int]:
        return iter(self.ranks)

    def __len__(self) -> int:
        return len(self.ranks)


def gather(
    addresses: Sequence[str],
    store: FactStore,
    *,
    engine: str | None = None,
    progress: Progress | None = None,
) -> Generator[CollectedRanks, None, None]:
    """Yield what is known of the traces at some addresses, more each time; the last time, all that can be read.

    What is known from before comes at once; otherwise, first comes a sample spread over all, which threads read while
    an engine of processes or of other machines would still be starting. To stop early, close the generator.

    Args:
        addresses: addresses of the traces, in the order of their ranks.
        store: where facts are kept.
        engine: what reads the traces; see `stepscope.summary.engine.engine_at`.
        progress: updated as traces are read, if given.

    Raises:
        UserError: there is no such engine, or it cannot be used.
    """
    chosen = engine_at(engine, parts=len(addresses))
    files: list[TraceFile] = []
    failures: dict[str, str] = {}
    for address in addresses:
        try:
            files.append(trace_file(address))
        except TraceError as error:
            # It still counts as one of the traces to be known.
            files.append(TraceFile(address, 0, ""))
            failures[address] = str(error)
    collected = _Collected(tuple(files), store, failures, progress or Progress(0, 0))
    found = collected.now()
    missing = collected.missing()
    if found.ranks or not missing:
        yield found
    order = [missing[place] for place in spread(len(missing))]
    # Processes and workers on other machines take seconds to start; a sample is read in less.
    direct = len(order) if len(order) <= SAMPLE else SAMPLE if chosen.spec != "threads" and not found.ranks else 0
    if direct and engine is None:
        with Engine("threads") as threads:
            yield from collected.read(order[:direct], threads)
        order = order[direct:]
    if order:
        with chosen:
            yield from collected.read(order, chosen)


class _Collected:
    """What has been gathered so far; for use by one thread."""

    def __init__(
        self, files: tuple[TraceFile, ...], store: FactStore, failures: dict[str, str], progress: Progress
    ) -> None:
        self._files: Final = files
        self._store: Final = store
        self._failures: Final = failures
        self._readable: Final = [file for file in files if file.address not in failures]
        self._segments: list[Segment] = store.load(self._readable)
        known = {file for segment in self._segments for file in segment.traces}
        self._known: Final = known & set(self._readable)
        self._waiting: Final[list[tuple[TraceFile, RankFacts]]] = []
        """Traces that were read and are in no segment yet."""
        self._progress: Final = progress
        progress.parts, progress.bytes = len(files), sum(file.size for file in files)
        progress.done, progress.done_bytes = len(self._known), 0
        progress.bytes -= sum(file.size for file in self._known)
        progress.failures = failures

    def missing(self) -> list[TraceFile]:
        return [file for file in self._readable if file not in self._known and file.address not in self._failures]

    def now(self) -> CollectedRanks:
        missing = len(self.missing()) + len(self._waiting)
        return CollectedRanks(self._files, tuple(self._segments), dict(self._failures), missing)

    def read(self, files: Sequence[TraceFile], engine: Engine) -> Iterator[CollectedRanks]:
        """Read traces, yielding what is known now and then; what was read is kept whatever happens."""
        kept, size = len(self._known), 0
        try:
            for done, outcome in enumerate(engine.map(facts_of_file, files), 1):
                self._take(outcome)
                size += outcome.result.size if outcome.result is not None else 0
                enough = max(_SEGMENT, _SEGMENT_SHARE * kept) if kept else SAMPLE
                if len(self._waiting) >= enough or size >= _SEGMENT_BYTES:
                    kept, size = kept + len(self._waiting), 0
                    self._keep()
                    yield self.now()
                elif kept and not done % _SEGMENT:
                    # Nothing new except the progress.
                    yield self.now()
        except KeyboardInterrupt:
            # Whoever interrupts still gets everything that was read.
            if self._waiting:
                self._keep()
                yield self.now()
            raise
        finally:
            if self._waiting:
                self._keep()
        yield self.now()

    def _take(self, outcome: Outcome[TraceFile, RankFacts]) -> None:
        if outcome.result is None:
            self._failures[outcome.part.address] = outcome.error
        else:
            self._waiting.append((outcome.part, outcome.result))
            self._known.add(outcome.part)
            self._progress.done += 1
            self._progress.done_bytes += outcome.part.size

    def _keep(self) -> None:
        self._segments.append(self._store.add(self._waiting, self._readable))
        self._waiting.clear()
