"""The flow events of a Chrome trace."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.trace import Lane
from stepscope.profiler.traces import flows as flow_roles
from stepscope.profiler.traces.chrome_events import Columns, Events
from stepscope.profiler.traces.flows import FlowEvents
from stepscope.profiler.traces.json_values import UNREADABLE_TIME
from stepscope.summary.distinct import distinct_rows, numbered

LAUNCH: Final = "ac2g"
"""Kineto's category of arrows from calls to what they launched on a device."""


def flow_marks(columns: Columns) -> NDArray[np.int64]:
    """Return the events that take part in flows; slices with a ``bind_id`` come last."""
    readable = columns.time_ns != UNREADABLE_TIME
    own = np.isin(columns.phase, np.frombuffer(b"stf", np.uint8)) & readable
    bound = (columns.bind_id >= 0) & (columns.flow_in | columns.flow_out) & readable & ~own
    return np.concatenate([np.flatnonzero(own), np.flatnonzero(bound)])


def _slice_written_before(columns: Columns, marks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the event of the slice that each flow event directly follows in the file, else the flow event itself.

    Kineto writes the flow events of a slice after the slice, with its thread and start. Other slices shorter than the
    clock's resolution may have the same time, so a choice by time alone would be arbitrary.
    """
    complete = columns.phase == ord("X")
    latest = np.maximum.accumulate(np.where(complete, np.arange(len(complete)), 0))[marks]
    same = (
        complete[latest]
        & (columns.pid[latest] == columns.pid[marks])
        & (columns.tid[latest] == columns.tid[marks])
        & (columns.time_ns[latest] == columns.time_ns[marks])
    )
    return np.where(same, latest, marks)


def flow_events(
    events: Events,
    marks: NDArray[np.int64],
    thread_lanes: Mapping[tuple[str, str], int],
    slice_of_event: NDArray[np.int64],
    category_id: NDArray[np.int32],
) -> FlowEvents:
    """Return flow events with the slice each is bound to, given the lane of each thread and the slice of each event."""
    columns = events.columns
    phase = columns.phase[marks]
    own = np.isin(phase, np.frombuffer(b"stf", np.uint8))
    bound = slice_of_event[np.where(own, _slice_written_before(columns, marks), marks)]
    role = np.full(len(marks), flow_roles.STEP, np.int8)
    role[(phase == ord("s")) | (~own & ~columns.flow_in[marks])] = flow_roles.START
    role[(phase == ord("f")) | (~own & ~columns.flow_out[marks])] = flow_roles.END
    places = len(events.places)
    threads, _, numbers = numbered(columns.pid[marks].astype(np.int64) * places + columns.tid[marks])
    lanes = [
        thread_lanes.get((events.places[thread // places], events.places[thread % places]), -1)
        for thread in threads.tolist()
    ]
    process = np.where(columns.of_process[marks], columns.pid[marks], -1)
    same = [columns.category[marks], columns.name[marks], columns.id[marks], process]
    identity = distinct_rows(*(column.astype(np.int64) for column in same)).group
    return FlowEvents(
        time_ns=columns.time_ns[marks],
        lane=np.array(lanes, np.int32)[numbers],
        role=role,
        to_next=(phase == ord("f")) & ~columns.to_enclosing[marks],
        bound=bound,
        key=np.where(own, identity, -2 - columns.bind_id[marks].astype(np.int64)),
        category_id=category_id,
    )


def ends_of_no_launch(events: FlowEvents, lanes: Sequence[Lane], categories: Sequence[str]) -> NDArray[np.bool_]:
    """Return which events end a launch but are not on a stream.

    For each call that launches nothing, PyTorch writes such an event without a start, at the call or where it waits for
    a device.
    """
    # The last element is for events whose thread has no slices.
    off_streams = np.array([*(lane.kind in ("host", "device") for lane in lanes), False])
    of_launches = np.array([name == LAUNCH for name in categories] or [False])
    found: NDArray[np.bool_] = off_streams[events.lane] & of_launches[events.category_id]
    found &= events.role == flow_roles.END
    return found
