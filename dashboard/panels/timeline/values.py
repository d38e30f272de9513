"""Values of slices that they can be coloured by, one number per slice of a trace."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dashboard.traces.studies import Study

Value = Literal["occupancy"]


def occupancy(study: Study) -> NDArray[np.float32]:
    """Estimated achieved occupancy of each kernel in percent, NaN where the trace does not say; float32 ``[n]``."""

    def make() -> NDArray[np.float32]:
        values = np.full(len(study.facts.trace), np.nan, np.float32)
        device = study.facts.every_device_activity
        values[device.slice] = device.number("est. achieved occupancy %")
        return values

    return study.kept("occupancy of slices", "occupancy", make)
