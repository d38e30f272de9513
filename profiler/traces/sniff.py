"""Whether a file is a trace, by how it begins: strict, as it is asked of files that nobody said are traces."""

import re
from typing import Final

from stepscope.profiler.traces.cache import MAGIC
from stepscope.profiler.traces.compression import unpacked_beginning

ENDINGS: Final = (".json", ".json.gz", ".json.zst", ".pb", ".pb.gz", ".pb.zst", ".pbtxt", ".sstrace")
"""Of files that may be traces, in lower case; those of other names are not looked at."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_EVENTS: Final = re.compile(rb'"traceEvents"\s*:\s*(?:\[|$)')
_PHASE: Final = re.compile(rb'"ph"\s*:\s*"."')
_BEFORE_EVENTS: Final = re.compile(rb'"(?:displayTimeUnit|deviceProperties|systemTraceEvents|stackFrames)"\s*:')
"""Keys that only a trace has; what they hold may be longer than the beginning, with the events after it."""
_LENGTH: Final = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_STEP_STATS: Final = re.compile(rb"(?:\n" + _LENGTH + rb"){1,2}\n[\x02-\x7f]/[a-z]+:", re.DOTALL)
"""A device of TensorFlow in a StepStats, or in that of a RunMetadata: nodes of graphs have no names such as that."""
_STEP_STATS_TEXT: Final = re.compile(rb"(?:\s|#[^\n]*\n)*(?:step_stats|dev_stats)\s*:?\s*[{<]")
_PLANE: Final = re.compile(
    rb"\n" + _LENGTH + rb"(?:\x08" + _LENGTH + rb")?\x12[\x01-\x7f](?:/(?:host|device):|Task Environment)", re.DOTALL
)
"""The first plane of an XSpace."""


def begins_as_trace(beginning: bytes) -> bool:
    """Return whether a file whose first bytes these are, 64 KiB or all of it, is a trace; it may be compressed."""
    content = unpacked_beginning(beginning)
    text = content.removeprefix(_BYTE_ORDER_MARK).lstrip(b" \t\r\n")
    if text[:1] == b"[":
        return _PHASE.search(text) is not None
    if text[:1] == b"{":
        return _EVENTS.search(text) is not None or _BEFORE_EVENTS.search(text) is not None
    known = (_STEP_STATS, _PLANE, _STEP_STATS_TEXT)
    return content.startswith(MAGIC) or any(each.match(content) for each in known)
