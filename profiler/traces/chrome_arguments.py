"""Arguments of events of a Chrome trace, decoded from the bytes of the file one event at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.traces.chrome_events import Columns
from stepscope.profiler.traces.json_scan import Buffer, count_parts
from stepscope.profiler.traces.json_values import decode_json
from stepscope.profiler.traces.losses import BESIDE, LossTally
from stepscope.summary.bounded_messages import most_parts
from stepscope.summary.kernels import kernel

MOST_ARGUMENT_BYTES: Final = 1 << 20
"""Maximum size of the arguments of a slice."""
MOST_DECODED_BYTES: Final = 64 << 20
"""Maximum size of the JSON of an event with samples or stack frames, and of all JSON beside the events together."""


class JsonArguments:
    """Arguments as concatenated JSON texts, decoded one slice at a time.

    ``offsets`` is int64 ``[slices + 1]``: the text of slice i is ``texts[offsets[i]:offsets[i + 1]]``, which is empty
    for a slice without arguments. ``stack_of`` returns the frames that a slice was called in, outermost first.
    """

    def __init__(
        self, texts: Buffer, offsets: NDArray[np.int64], stack_of: Callable[[int], Sequence[str]] | None = None
    ) -> None:
        self.texts: Final = texts
        self.offsets: Final = offsets
        self._stack_of = stack_of

    @property
    def has_stacks(self) -> bool:
        """Whether slices may have frames in addition to their texts; these are given under the key "stack"."""
        return self._stack_of is not None

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        text = self.texts[int(self.offsets[slice_index]) : int(self.offsets[slice_index + 1])].tobytes()
        arguments = _decoded(text) if text else {}
        if self._stack_of is not None and (stack := self._stack_of(slice_index)):
            arguments.setdefault("stack", list(stack))
        return arguments


class BesideEvents:
    """How much JSON beside the events of a file was decoded, and is kept; what is too much is counted in ``tally``."""

    def __init__(self, tally: LossTally) -> None:
        self._tally = tally
        self._bytes = 0
        self._parts = 0

    def has_room(self, data: bytes, start: int, end: int, what: str) -> bool:
        """Return whether ``data[start:end]`` fits beside all that fitted before."""
        size = self._bytes + end - start
        if size <= MOST_DECODED_BYTES:
            parts = self._parts + count_parts(np.frombuffer(data, np.uint8), start, end)
            if parts <= most_parts(size):
                self._bytes, self._parts = size, parts
                return True
        self._tally.add(BESIDE, 1, f"“{what}”, {end - start:,} bytes")
        return False


@kernel()
def _has_keys(buffer: Buffer, start: int, length: int) -> bool:
    """Return whether a JSON text is an object with at least one key."""
    if start < 0 or length < 2 or buffer[start] != 123 or buffer[start + length - 1] != 125:
        return False
    position = start + 1
    while position < start + length - 1 and buffer[position] <= 32:
        position += 1
    return position < start + length - 1


@kernel()
def _gathered(
    buffer: Buffer,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    more_starts: NDArray[np.int64],
    more_lengths: NDArray[np.int64],
    texts: Buffer,
) -> NDArray[np.int64]:
    """Return the offsets of the slices' texts, and copy the texts if ``texts`` has room for any.

    A slice whose end event also has arguments gets one object with both: the brackets between them become a comma.
    """
    offsets = np.zeros(starts.size + 1, np.int64)
    copies = texts.size > 0
    for index in range(starts.size):
        at = offsets[index]
        start = starts[index]
        length = lengths[index] if start >= 0 else 0
        more = more_starts[index]
        if _has_keys(buffer, more, more_lengths[index]):
            if not _has_keys(buffer, start, length) and (length == 0 or buffer[start] == 123):
                start = more
                length = more_lengths[index]
            elif buffer[start] == 123:
                if copies:
                    # Byte by byte: texts are short, and assigning slices takes longer than the copy.
                    for byte in range(length - 1):
                        texts[at + byte] = buffer[start + byte]
                    texts[at + length - 1] = 44
                at += length
                start = more + 1
                length = more_lengths[index] - 1
        if copies:
            for byte in range(length):
                texts[at + byte] = buffer[start + byte]
        offsets[index + 1] = at + length
    return offsets


def gather_arguments(
    data: bytes,
    columns: Columns,
    event: NDArray[np.int64],
    end_event: NDArray[np.int64],
    stack_of: Callable[[int], Sequence[str]] | None,
) -> JsonArguments:
    """Return the arguments of slices, without the rest of the file, given their begin and end events (-1 for none)."""
    buffer = np.frombuffer(data, np.uint8)
    ending = (end_event >= 0) & (end_event != event)
    # Longer arguments are cut, and shown as the text that remains.
    spans = (
        columns.arguments_start[event],
        np.minimum(columns.arguments_length[event], MOST_ARGUMENT_BYTES),
        np.where(ending, columns.arguments_start[end_event], -1),
        np.where(ending, np.minimum(columns.arguments_length[end_event], MOST_ARGUMENT_BYTES), 0),
    )
    offsets = _gathered(buffer, *spans, np.empty(0, np.uint8))
    texts = np.empty(int(offsets[-1]), np.uint8)
    if texts.size:
        _gathered(buffer, *spans, texts)
    return JsonArguments(texts, offsets, stack_of)


def _decoded(text: bytes) -> dict[str, Any]:
    """Return the value of ``args``; anything but a JSON object is returned under the key "args"."""
    value = decode_json(text)
    if isinstance(value, dict):
        return value
    return {"args": text.decode(errors="replace") if value is None else value}


def arguments_of(data: bytes, columns: Columns, event: int) -> dict[str, Any]:
    """Return the arguments of an event."""
    start = int(columns.arguments_start[event])
    length = min(int(columns.arguments_length[event]), MOST_DECODED_BYTES)
    return {} if start < 0 else _decoded(data[start : start + length])
