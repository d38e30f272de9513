"""Losses of readers in words: the reasons, what each means, and the first example of each."""

import re
from collections.abc import Mapping
from typing import Final

from stepscope.profiler.trace import Losses

OVERLAP: Final = "overlaps its neighbor"
NEGATIVE_DURATION: Final = "negative duration"
REPEATED: Final = "stored twice, shown once"
TIME_RANGE: Final = "time out of range"
BACKWARDS: Final = "arrow back in time"
INTERNAL: Final = "internal event of the profiler"
DROPPED: Final = "dropped while recording"
TEXT: Final = "text truncated"
ARGUMENTS: Final = "arguments truncated"
BESIDE: Final = "non-event data left out"
NO_EVENT: Final = "object that is not an event"
MEMORY: Final = "left out for lack of memory"
FURTHER: Final = "lost for another reason"
MOST_REASONS: Final = 100
"""Maximum number of reasons for one trace; further ones, such as names of metadata events, are counted together."""
MOST_EXAMPLE: Final = 500
"""Maximum number of characters of an example or a reason."""

_EXPLANATIONS: Final[Mapping[str, str]] = {
    OVERLAP: "It begins within another slice of its thread and ends after it, so it is shown in a separate row. "
    "Clocks of low resolution and rounded times cause this.",
    NEGATIVE_DURATION: "It ends before it begins; it is shown with the duration 0 where it begins.",
    REPEATED: "TensorFlow's tracers store what ran on a stream again under “stream:all” and “memcpy”. Only the "
    "stream's is kept, so that sums over lanes count it once.",
    TIME_RANGE: "Its time or duration is too large to be valid, so it cannot be shown.",
    BACKWARDS: "The target of an arrow began before its source, such as a kernel before its launch: the clocks of "
    "host and device differ.",
    INTERNAL: "TensorFlow marks it as internal; xprof does not show it either.",
    DROPPED: "The profiler's buffer was full: these were never stored.",
    TEXT: "A name of more than 16,384 characters. It is shown up to there, with its length and a checksum.",
    ARGUMENTS: "The arguments of an event have more than a megabyte. They are kept as text up to there.",
    BESIDE: "The data beside the events of the file is more than 64 MiB in all, or has millions of parts of a few "
    "bytes each: what exceeds this is left out.",
    NO_EVENT: "An element of the array of events with neither “ph” nor “name” nor “ts”.",
    MEMORY: "These events or samples at the end of the file were left out because there was not enough memory.",
    FURTHER: "Further reasons, counted together.",
    "flow end without a start": "An arrow ends here, but the file has no beginning of the same category, name and id.",
    "flow start without an end": "An arrow begins here, but nothing of the same category, name and id follows.",
    "flow event on no slice": "An arrow begins or ends at a time when nothing runs on that thread.",
    "flow from a slice to itself": "Both ends of an arrow are in one slice.",
    "begin without an end": "A B event that no E event closes; it is shown up to the end of the trace.",
    "end without a begin": "An E event on a thread where nothing is open; its begin was before the recording.",
    "end with a different name than its begin": "An E event closed a B event of another name: the innermost one.",
    "asynchronous begin without an end": "Nothing ends the operation of this category and id; it is shown up to "
    "the end of the trace.",
    "asynchronous end without a begin": "The operation of this category and id began before the recording.",
    "context without an end": "Nothing leaves the context of this id; it is shown up to the end.",
    "context left without being entered": "The context of this id was entered before the recording.",
    "object without an end": "Nothing deletes the object of this category and id; it is shown up to the end.",
    "object deleted without being created": "The object of this category and id was created before the recording.",
    "event without a readable time": "Its “ts” is missing or not a number of microseconds, so it cannot be placed.",
    "complete event without a readable duration": "Its “dur” is missing or not a number; it is shown with duration 0.",
    "event without a phase": "It has no “ph” of one letter, so its meaning is unknown.",
    "unreadable event": "An element of the array of events that is damaged or not an object.",
    "counter value that is not a number": "A counter's argument is a string, a structure, or not a finite number.",
    "sample without a stack": "A sample names a stack frame that the file does not have.",
    "stack frame that is its own parent": "Stacks that lead to it are cut there.",
    "event without a time": "It stands for many occurrences, of which only the number is known.",
    "unreadable part": "A part of the file that is damaged.",
}
_EXPLANATIONS_OF_KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("event of phase ", "No reader of this format gives this phase a meaning."),
    ("metadata event ", "It describes a process or thread in a way that is not supported here."),
)


def explain(reason: str) -> str:
    """Return what a reason in `Losses.counts` means, in a sentence or two; "" if there is no explanation."""
    if reason in _EXPLANATIONS:
        return _EXPLANATIONS[reason]
    return next((text for start, text in _EXPLANATIONS_OF_KINDS if reason.startswith(start)), "")


_COUNTED: Final[Mapping[str, tuple[str, str]]] = {
    OVERLAP: ("overlapping slice", "overlapping slices"),
    NEGATIVE_DURATION: ("negative duration", "negative durations"),
    REPEATED: ("slice stored twice, shown once", "slices stored twice, shown once"),
    TIME_RANGE: ("time out of range", "times out of range"),
    BACKWARDS: ("arrow back in time", "arrows back in time"),
    "flow end without a start": ("arrow without a start", "arrows without a start"),
    "flow start without an end": ("arrow without an end", "arrows without an end"),
    "flow event on no slice": ("arrow to or from no slice", "arrows to or from no slice"),
    "flow from a slice to itself": ("arrow from a slice to itself", "arrows from a slice to itself"),
}


def counted_reason(reason: str, count: int) -> str:
    """Return a reason with its count, such as "3,551 overlapping slices"."""
    one, several = _COUNTED.get(reason, (f"× {reason}", f"× {reason}"))
    return f"{count:,} {one if count == 1 else several}"


_ARROW: Final = re.compile(r"^flow |^arrow ")
_MOMENT: Final = re.compile(r"“[^”]*”|(?<= at )(-?)([0-9]{1,13})\.([0-9]{6}) ms")
"""Matches what `moment` wrote into an example, and skips quoted names, which may contain similar text."""


def arrows_with_one_end(losses: Losses) -> int:
    """Return how many arrows could not be drawn. These are remarks, as nothing that ran is missing because of them."""
    return sum(count for reason, count in losses.counts.items() if _ARROW.match(reason))


def events_not_as_stored(losses: Losses) -> dict[str, int]:
    """Return how many events were left out or could not be shown as stored, by reason, most frequent first."""
    found = {reason: count for reason, count in losses.counts.items() if count and not _ARROW.match(reason)}
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def examples_since(losses: Losses, start_ns: int) -> dict[str, str]:
    """Return the examples with times since ``start_ns``, as in the Timeline, instead of the trace's own clock."""

    def since(found: re.Match[str]) -> str:
        if found[2] is None:
            return found[0]
        own = int(found[2]) * 10**6 + int(found[3])
        return moment((-own if found[1] else own) - start_ns)

    return {reason: _MOMENT.sub(since, example) for reason, example in losses.examples.items()}


class LossTally:
    """Counts of the losses that a reader finds."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, str] = {}
        self.notes: list[str] = []

    def add(self, reason: str, count: int = 1, example: str = "") -> None:
        """Add to the count of a reason, and keep the first example of it."""
        if not count:
            return
        reason = reason[:MOST_EXAMPLE]
        if reason not in self._counts and len(self._counts) >= MOST_REASONS:
            reason = FURTHER
        self._counts[reason] = self._counts.get(reason, 0) + count
        if example:
            self._examples.setdefault(reason, example[:MOST_EXAMPLE])

    def losses(self) -> Losses:
        """Return everything counted so far."""
        return Losses(dict(self._counts), tuple(self.notes), dict(self._examples))


def merged(*parts: Losses) -> Losses:
    """Merge the losses of several stages of reading: counts add up, and the first example of each reason is kept."""
    counts: dict[str, int] = {}
    examples: dict[str, str] = {}
    for part in parts:
        for reason, count in part.counts.items():
            if count:
                counts[reason] = counts.get(reason, 0) + count
        for reason, example in part.examples.items():
            examples.setdefault(reason, example)
    return Losses(counts, tuple(note for part in parts for note in part.notes), examples)


def moment(time_ns: int) -> str:
    """Format a time for an example."""
    sign = "-" if time_ns < 0 else ""
    return f"{sign}{abs(time_ns) // 10**6}.{abs(time_ns) % 10**6:06d} ms"
