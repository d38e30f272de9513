"""Values by which slices can be colored, one number per slice of a trace."""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.timeline.details import step_at, steps_of
from stepscope.dashboard.traces.analyzed_traces import AnalyzedTrace

Value = Literal["occupancy", "step"]


def values_of(analyzed: AnalyzedTrace, value: Value) -> NDArray[np.float32]:
    """Return one number per slice of a trace, float32 ``[n]``; NaN where unknown."""
    match value:
        case "occupancy":
            return occupancy(analyzed)
        case "step":
            return step_places(analyzed)
        case _:
            assert_never(value)


def step_places(analyzed: AnalyzedTrace) -> NDArray[np.float32]:
    """Return the step that each slice belongs to, as an index into the trace's steps in chronological order.

    Float32 ``[n]``.

    Slices on a device belong to the step in which they were launched, if the launch is known; all others belong to the
    step in which they begin.
    """

    def make() -> NDArray[np.float32]:
        facts = analyzed.facts
        times = facts.trace.start_ns.copy()
        device = facts.every_device_activity
        launched = device.launch >= 0
        times[device.slice[launched]] = facts.trace.start_ns[device.launch[launched]]
        places = step_at(steps_of(facts.trace), times)
        return np.where(places >= 0, places, np.nan).astype(np.float32)

    return analyzed.kept("steps of slices", "steps", make)


def occupancy(analyzed: AnalyzedTrace) -> NDArray[np.float32]:
    """Return the estimated achieved occupancy of each kernel in percent; NaN where the trace does not have it.

    Float32 ``[n]``.
    """

    def make() -> NDArray[np.float32]:
        values = np.full(len(analyzed.facts.trace), np.nan, np.float32)
        device = analyzed.facts.every_device_activity
        values[device.slice] = device.number("est. achieved occupancy %")
        return values

    return analyzed.kept("occupancy of slices", "occupancy", make)
