"""Arrays of a running program at one point in time, and what viewers of them request."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from stepscope.debug.pictures import Plane

MOST_FRAME_BYTES: Final = 4 << 20
"""Maximum size of the pixels of a frame."""
MOST_TENSORS: Final = 2_000
"""Maximum number of arrays of a frame."""

Scaling = Literal["tensor", "section", "fixed"]


class LiveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request of a viewer: the body of ``POST /live`` as JSON."""

    viewer: Annotated[str, Meta(max_length=64)] = ""
    """Tells viewers apart: each has its own names, rate and window."""
    names: Annotated[str, Meta(max_length=500)] = "*"
    """Which arrays: names in which * and ? stand for any characters, separated by commas."""
    rate: Annotated[float, Meta(ge=0, le=30)] = 5.0
    """Maximum number of frames per second; 0 for none."""
    scaling: Scaling = "tensor"
    """The range of the color scale: the extremes of each array, of its section, or `lowest` and `highest`."""
    lowest: float = -1.0
    highest: float = 1.0
    show: Literal["value", "variance"] = "value"
    """Whether to show the values, or how much each has changed in the last `window` frames."""
    window: Annotated[int, Meta(ge=2, le=64)] = 8
    most_bytes: Annotated[int, Meta(ge=1 << 10, le=MOST_FRAME_BYTES)] = 1 << 20
    """Maximum size of the pixels of a frame; arrays that do not fit are counted."""
    after: int = -1
    """Number of the frame that the viewer has."""
    wait_ms: Annotated[int, Meta(ge=0, le=5_000)] = 1_000
    """How long the response waits for another frame."""


@dataclass(frozen=True)
class ShownTensor:
    """An array at one point in time."""

    name: str
    section: str
    plane: Plane


@dataclass(frozen=True)
class Frame:
    """The arrays shown in one step."""

    number: int
    """Counts from 0: what viewers see in a process, or the steps since there are sinks."""
    step: int | None
    wall_time: float
    tensors: tuple[ShownTensor, ...]
    left_out: int
    """Number of arrays for which there was no room."""

    @property
    def bytes_of_values(self) -> int:
        """Size of the arrays in memory."""
        return sum(tensor.plane.values.nbytes for tensor in self.tensors)


class Collection:
    """The arrays that one sink or viewer gets of the running step.

    Args:
        most_bytes: maximum size of their pixels.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes: Final = most_bytes
        self.tensors: dict[str, ShownTensor] = {}
        self.left_out = 0
        """Number of arrays for which there was no room."""
        self._promised = 0
        self._used_bytes = 0

    def makes_room(self) -> bool:
        """Take up the place of one array, which `add` then gets, or count it as left out."""
        if self._promised >= MOST_TENSORS or self._used_bytes >= self.most_bytes:
            self.left_out += 1
            return False
        self._promised += 1
        return True

    def add(self, tensor: ShownTensor) -> None:
        """Add an array for which there is room."""
        self._used_bytes += tensor.plane.values.size
        self.tensors[tensor.name] = tensor


def matches(name: str, patterns: str) -> bool:
    """Return whether a name matches patterns like those of `LiveRequest.names`."""
    return any(fnmatchcase(name, pattern.strip()) for pattern in patterns.split(",") if pattern.strip())
