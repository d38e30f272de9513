"""JSON messages about traces and recording them; the page's types are generated from these classes."""

from typing import Final, Literal, NotRequired, TypedDict

Joined = Literal["step", "time", "marked"]
"""How a trace's steps were found on the curves.

"step": their numbers are those logged at the same time; "time": by what was logged at the same time; "marked": by
their numbers alone, because nothing was logged then or the trace does not record its time.
"""
State = Literal["ready", "waiting", "large", "unreadable", "none"]
"""State of a trace.

"ready": its steps are known; "waiting": not read yet; "large": read only when opened; "unreadable": damaged; "none": no
step markers.
"""
SentStep = tuple[int, int | None, int | None, int, float | None, float | None]
"""Step on the curve, start and duration in the trace in ns (None: the whole trace), number in the trace, and wall times
of the beginning and end in s or None."""


class StepsOfTrace(TypedDict):
    """Steps of its runs that a trace covers.

    A step consists of its number on the curve, its start and duration in the trace in ns (null: the whole trace), its
    number in the trace, and the wall times of its beginning and end in s.
    """

    id: str
    run: str
    label: str
    kind: str
    state: State
    problem: str
    runs: list[str]
    """Runs whose curves the trace belongs to."""
    joined: Joined
    steps: list[SentStep]
    left_out: int
    """Number of steps that are not listed."""
    range: tuple[int, int] | None
    """Minimum and maximum step on the curve."""
    wall: tuple[float, float] | None
    """Earliest and latest wall time."""


class StepsNews(TypedDict):
    """Steps of all traces, as far as known; left out if the page already has this version."""

    revision: int
    version: str
    pending: bool
    """Whether more are to come."""
    traces: NotRequired[list[StepsOfTrace]]


class CaptureRules(TypedDict):
    """Programs that can be recorded, available collectors, and target runs; if nothing can be recorded, why not."""

    why_not: str
    loopback: bool
    addresses: list[str]
    usual: str
    """Default address."""
    runs: list[str]
    collectors: list[str]


class Captured(TypedDict):
    """A successful recording, with the id of its trace if that is already listed."""

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
    """Why a program cannot be recorded: the kind of problem, and a sentence."""

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
    """Number of the array's elements that are shown."""
    axes: list[tuple[int, int]]
    """The array's dimensions in layout order: tiles first, then the rows and columns of a tile; each with the step
    with which its elements are shown."""
    not_finite: int
    """Number of shown elements that are NaN or infinite."""
    mean: float | None
    lowest: float
    """Value of the lowest color; ``highest`` is the value of the highest color."""
    highest: float
    change: float
    """Mean variance over the last frames, as a share of the values' own variance."""
    pixels: str
    """In base64, one byte per pixel (colors: three): 0 is not finite, 1 a line between tiles, 2 to 255 the scale."""


class LiveSection(TypedDict):
    """Arrays that belong together."""

    name: str
    change: float
    tensors: list[LiveTensor]


class LiveFrame(TypedDict):
    """Arrays that a program shows of one step; the sections that change most come first."""

    number: int
    step: int | None
    wall_time: float
    left_out: int
    """Number of arrays left out for lack of room."""
    sections: list[LiveSection]


class NoLiveFrame(TypedDict):
    """The page already has the newest frame."""

    number: int
    tensors: None


class DroppedTrace(TypedDict):
    """Id of a dropped trace that was accepted."""

    id: str


MESSAGES: Final = (CaptureRules, Captured, CaptureProblem, LiveFrame, NoLiveFrame, DroppedTrace)
"""Messages to the page itself; steps are sent to curves."""
