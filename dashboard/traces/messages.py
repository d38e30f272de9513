"""What pages are told of traces and of recording them, as JSON; the page's types of it are made from these."""

from typing import Final, Literal, NotRequired, TypedDict

Joined = Literal["step", "time", "marked"]
"""How a trace's steps were found on the curves: their numbers are those that were logged at their time; by what was
logged at their time; or by their numbers alone, where nothing was logged then or the trace does not say when it was."""
State = Literal["ready", "waiting", "large", "unreadable", "none"]
"""Of a trace: its steps are known; it has not been read yet; it is read only when opened; it is
damaged; it has no step markers."""
SentStep = tuple[int, int | None, int | None, int, float | None, float | None]
"""Step on the curve, start and duration in the trace in ns (None: all of it), the trace's number, wall times of
beginning and end in s or None."""


class StepsOfTrace(TypedDict):
    """Which steps of its runs a trace covers.

    A step is its number on the curve, its start and duration in the trace in ns (null: all of it), the trace's number,
    and wall times of its beginning and end in s.
    """

    id: str
    run: str
    label: str
    kind: str
    state: State
    problem: str
    runs: list[str]
    """Whose curves it belongs to."""
    joined: Joined
    steps: list[SentStep]
    left_out: int
    """Steps that are not listed."""
    range: tuple[int, int] | None
    """Least and greatest step on the curve."""
    wall: tuple[float, float] | None
    """Earliest and latest time."""


class StepsNews(TypedDict):
    """Steps of all traces that are known so far, unless they are those of the version that the page has."""

    revision: int
    version: str
    pending: bool
    """Whether there are more to come."""
    traces: NotRequired[list[StepsOfTrace]]


class CaptureRules(TypedDict):
    """What can be recorded, by whom, and into which runs; if nothing can, why not."""

    why_not: str
    loopback: bool
    addresses: list[str]
    usual: str
    """The address that is usually meant."""
    runs: list[str]
    collectors: list[str]


class Captured(TypedDict):
    """A recording that has ended well, with its trace's id where that is listed already."""

    trace: str | None
    file: str
    address: str
    host: str
    pid: int
    steps: int
    first_step: int | None
    last_step: int | None
    records: int
    unfinished: int
    notes: list[str]


class CaptureProblem(TypedDict):
    """Why a program cannot be recorded: what kind of problem it is, and a sentence."""

    problem: str
    message: str


class LiveTensor(TypedDict):
    """An array of a running program as a picture."""

    name: str
    layout: Literal["bars", "plane", "tiles", "colors"]
    shape: list[int]
    dtype: str
    width: int
    height: int
    shown: int
    """How many of the array's elements are shown."""
    not_finite: int
    """How many of these are NaN or infinite."""
    mean: float | None
    lowest: float
    """What the least color stands for; so is the next of the greatest."""
    highest: float
    change: float
    """Mean variance over the last frames as a share of the values' own."""
    pixels: str
    """In base64, a byte each (colors: three): 0 is not finite, 1 a line between tiles, 2 to 255 the scale."""


class LiveSection(TypedDict):
    """Arrays that belong together."""

    name: str
    change: float
    tensors: list[LiveTensor]


class LiveFrame(TypedDict):
    """What a program shows of one step; sections that change most come first."""

    number: int
    step: int | None
    wall_time: float
    left_out: int
    """Arrays for which there was no room."""
    sections: list[LiveSection]


class NoLiveFrame(TypedDict):
    """There is nothing newer than what the page has."""

    number: int
    tensors: None


class DroppedTrace(TypedDict):
    """The id of a trace that was taken."""

    id: str


MESSAGES: Final = (CaptureRules, Captured, CaptureProblem, LiveFrame, NoLiveFrame, DroppedTrace)
"""Of the page itself; steps are told to curves."""
