"""``*.xplane.pb``: the files that the profilers of TensorFlow, JAX and PyTorch/XLA write (XSpace).

A plane is a host or a device; a line is one of its threads or streams. Events refer to their names and arguments
("stats") by number; the texts are in the plane. Planes and lines are located in the bytes themselves, and events become
columns without an object for each, so that reading a file takes about as much memory as its size.

The result is what OpenXLA's xprof shows (``xplane_to_trace_container.cc`` and its preprocessing): display names, the
regions of threads between their start and stop marks, no internal events; but all of them, not just the first million.
"""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.build import (
    LATEST_NS,
)
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.losses import LossTally
from stepscope.profiler.traces.reader import TraceReader
from stepscope.profiler.traces.wire import (
    LENGTH,
    fields_of,
)
from stepscope.profiler.traces.xplane_planes import line_of, planes_of
from stepscope.profiler.traces.xplane_slices import XPlaneSlices
from stepscope.summary.cancellation import check_cancelled

_FIRST_PLANE: Final = re.compile(
    rb"\n" + LENGTH + rb"(?:\x08" + LENGTH + rb")?\x12[\x01-\x7f](?:/(?:host|device):|Task Environment)", re.DOTALL
)


def looks_like_xplane(data: bytes) -> bool:
    """Return whether the bytes begin with an XPlane, as an XSpace does."""
    buffer = np.frombuffer(data, np.uint8)
    try:
        first = next(fields_of(buffer, 0, len(data)), None)
    except ValueError:
        return False
    if first is None or first.wire_type != 2 or first.number != 1:
        return False
    try:
        plane = [found.number for found, _ in zip(fields_of(buffer, first.start, min(first.end, len(data))), range(50))]  # noqa: B905
    except ValueError:
        return False
    # A plane has a number or a name before its lines; DeviceStepStats, which begin alike, have their name in field 1.
    return bool(plane) and plane[0] in (1, 2, 3) and _named(data, buffer, first.start, first.end)


def _named(data: bytes, buffer: NDArray[np.uint8], start: int, end: int) -> bool:
    for found in fields_of(buffer, start, min(end, len(data))):
        if found.number == 1:
            if found.wire_type != 0:
                return False
        elif found.number == 2 and found.wire_type == 2:
            text = data[found.start : found.end]
            return text.decode(errors="replace").isprintable() and bool(text)
        else:
            return False
    return False


def read_xplane(data: bytes, *, name: str, notes: tuple[str, ...] = (), most_events: int = 1 << 62) -> Trace:
    """Read an XSpace; ``name`` is used in messages. Damaged or truncated parts are left out and counted.

    So are events beyond ``most_events``.

    Raises:
        TraceError: none of its planes can be read.
    """
    tally = LossTally()
    buffer = np.frombuffer(data, np.uint8)
    planes, remarks, hosts = planes_of(data, buffer, tally)
    if not planes:
        raise TraceError(f"{name} holds no plane that can be read. Expected an XSpace, as TensorFlow and JAX write.")
    epoch_ns = next(
        (stats[key] for stats in (plane.stats for plane in planes) if (key := "profile_start_time") in stats), None
    )
    collected = XPlaneSlices(data, tally)
    for number, plane in enumerate(planes):
        for start, end in plane.lines:
            check_cancelled()
            line = line_of(data, buffer, plane, start, end, tally, most_events - collected.slices)
            collected.add_line(plane, number, line)
        collected.end_plane(plane, number)
    return collected.trace(
        notes=(*notes, *remarks),
        metadata={"hostnames": hosts} | {plane.name: plane.stats for plane in planes if plane.stats},
        epoch_ns=epoch_ns if isinstance(epoch_ns, int) and 0 < epoch_ns <= LATEST_NS else None,
    )


READER: Final = TraceReader(
    name="xplane",
    about="an .xplane.pb",
    sniff=lambda beginning: _FIRST_PLANE.match(beginning) is not None,
    read=lambda data, name, notes, limits: read_xplane(data, name=name, notes=notes, most_events=limits.events),
    suffixes=(".xplane.pb",),
    endings=(".pb", ".pb.gz", ".pb.zst"),
    accepts=looks_like_xplane,
)
