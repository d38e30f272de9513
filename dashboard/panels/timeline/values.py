"""Values of slices that they can be colored by, one number per slice of a trace."""

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.panels.timeline.details import step_at, steps_of
from stepscope.dashboard.traces.analyzed_traces import Study

Value = Literal["occupancy", "step"]


def values_of(study: Study, value: Value) -> NDArray[np.float32]:
    """Return one number per slice of a trace, float32 ``[n]``, NaN where it is not known."""
    match value:
        case "occupancy":
            return occupancy(study)
        case "step":
            return step_places(study)
        case _:
            assert_never(value)


def step_places(study: Study) -> NDArray[np.float32]:
    """Return the step that each slice belongs to, by its place among the trace's steps in order of time.

    Float32 ``[n]``.

    What ran on a device belongs to the step in which it was launched, where its launch is known; all else to the step
    in which it begins.
    """

    def make() -> NDArray[np.float32]:
        facts = study.facts
        times = facts.trace.start_ns.copy()
        device = facts.every_device_activity
        launched = device.launch >= 0
        times[device.slice[launched]] = facts.trace.start_ns[device.launch[launched]]
        places = step_at(steps_of(facts.trace), times)
        return np.where(places >= 0, places, np.nan).astype(np.float32)

    return study.kept("steps of slices", "steps", make)


def occupancy(study: Study) -> NDArray[np.float32]:
    """Return estimated achieved occupancy of each kernel in percent, NaN where the trace does not say.

    Float32 ``[n]``.
    """

    def make() -> NDArray[np.float32]:
        values = np.full(len(study.facts.trace), np.nan, np.float32)
        device = study.facts.every_device_activity
        values[device.slice] = device.number("est. achieved occupancy %")
        return values

    return study.kept("occupancy of slices", "occupancy", make)
