"""The formats of traces: Stepscope's own, and those that other distributions add."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from stepscope.plugins import ERRORS_OF_OTHERS, Extensions, Plugin
from stepscope.profiler.trace import Arguments, Trace
from stepscope.profiler.traces import cache as trace_cache
from stepscope.profiler.traces import chrome, step_stats, xplane
from stepscope.profiler.traces.checks import check_trace
from stepscope.profiler.traces.compression import BEGINNING, unpacked_beginning
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.limits import Limits
from stepscope.profiler.traces.reader import TraceReader
from stepscope.record_fields import check_endings
from stepscope.summary.cancellation import Cancelled

READERS: Final = (chrome.READER, xplane.READER, trace_cache.READER, step_stats.READER)
"""Stepscope's own readers, in the order in which they are tried. To add a format, add its module and its name here."""
OTHERS: Final = Extensions(
    "trace_readers",
    TraceReader,
    lambda reader: reader.name,
    lambda: [reader.name for reader in READERS],
    check=lambda reader: check_endings((*reader.suffixes, *reader.endings)),
    about_of=lambda reader: reader.about,
)
"""Readers that other distributions add."""


def trace_readers() -> tuple[TraceReader, ...]:
    """Return all readers, Stepscope's own first; errors in the others become a `TraceError` that names them."""
    return (*READERS, *_of_others())


@cache
def _of_others() -> tuple[TraceReader, ...]:
    return tuple(_guarded(plugin, reader) for plugin, reader in OTHERS.loaded())


def formats_in_words() -> str:
    """Return the supported formats as text after "Expected ": "a Chrome trace (JSON), ..." up to the final period."""
    *all_but_last, last = (reader.about for reader in trace_readers())
    return f"{', '.join(all_but_last)}, or {last}, each plain or compressed with gzip or zstd."


def trace_suffixes() -> tuple[str, ...]:
    """Return the endings of names, in lower case, by which files are listed as traces."""
    return tuple(dict.fromkeys(suffix for reader in trace_readers() for suffix in reader.suffixes))


def trace_endings() -> tuple[str, ...]:
    """Return the endings of names, in lower case, that a file must have for its content to be checked."""
    return tuple(dict.fromkeys(ending for reader in trace_readers() for ending in (*reader.endings, *reader.suffixes)))


def begins_as_trace(beginning: bytes) -> bool:
    """Return whether a file with these first bytes, 64 KiB or all of it, is a trace; it may be compressed.

    The check is strict, because it runs on files that nobody declared to be traces.
    """
    content = unpacked_beginning(beginning)
    return any(reader.sniff(content) for reader in trace_readers())


def may_be_trace(beginning: bytes) -> bool:
    """Return whether a file that is declared to be a trace may be one, given its first unpacked bytes."""
    return next(readers_for(beginning), None) is not None


def readers_for(data: bytes) -> Iterator[TraceReader]:
    """Yield the readers that may read an unpacked file that is declared to be a trace, the likeliest first."""
    beginning = data[:BEGINNING]
    first: TraceReader | None = None
    # Files that Stepscope's own readers recognize for sure are theirs. Other readers come before an own one that takes
    # anything that could be in its format, as any JSON could be a Chrome trace.
    if not any(reader.sniff(beginning) for reader in READERS):
        first = next((reader for reader in _of_others() if reader.sniff(beginning)), None)
    if first is not None:
        yield first
    yield from (reader for reader in trace_readers() if reader is not first and reader.may_read(data))


class _GuardedArguments:
    """Arguments of slices that are empty where somebody else's code fails to decode them, which is reported."""

    def __init__(self, arguments: Arguments, plugin: Plugin) -> None:
        self._arguments: Final = arguments
        self._plugin: Final = plugin

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        try:
            found = self._arguments[slice_index]
            if not isinstance(found, Mapping):
                raise TypeError(f"they are of the type {type(found).__name__}, not a mapping")
        except Cancelled:
            raise
        except ERRORS_OF_OTHERS as error:
            OTHERS.fail(self._plugin, error, "arguments")
            return {}
        return found


def _guarded(plugin: Plugin, reader: TraceReader) -> TraceReader:
    """Return a reader of another distribution as one that raises nothing but `TraceError`."""
    accepts = reader.may_read

    def safe(function: str, data: bytes) -> bool:
        try:
            return bool(reader.sniff(data) if function == "sniff" else accepts(data))
        except ERRORS_OF_OTHERS as error:
            OTHERS.fail(plugin, error, function)
            return False

    def read(data: bytes, name: str, notes: tuple[str, ...], limits: Limits) -> Trace | None:
        try:
            trace = reader.read(data, name, notes, limits)
            if trace is None:
                return None
            if not isinstance(trace, Trace):
                raise TypeError(f"read() returned {type(trace).__name__}, not a Trace or None")
            check_trace(trace)
        except TraceError as error:
            if name in str(error):
                raise
            raise TraceError(f"{name} cannot be read. {error}") from error
        except Cancelled:
            raise
        except ERRORS_OF_OTHERS as error:
            raise TraceError(f"{name} cannot be read. {OTHERS.fail(plugin, error, 'read')}") from error
        if type(trace.arguments).__module__.startswith("stepscope."):
            return trace
        return replace(trace, arguments=_GuardedArguments(trace.arguments, plugin))

    return replace(
        reader, sniff=lambda data: safe("sniff", data), accepts=lambda data: safe("accepts", data), read=read
    )
