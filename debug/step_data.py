"""One step as `DebugData`, while a program runs: what rules and verdicts examine immediately."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.catalog import Catalog
from stepscope.summary.debugger.model import Alert, Frame, Observations, SourceFile, WatchedTensor


@dataclass(frozen=True)
class StepData:
    """The observations of a step, with what the catalog knows."""

    catalog: Catalog
    observed: Observations

    @property
    def source(self) -> str:
        """What records, in words."""
        return "stepscope.debug"

    @property
    def tensors(self) -> Sequence[WatchedTensor]:
        """All tensors."""
        return self.catalog.tensors

    @property
    def observation_count(self) -> int:
        """Number of observations."""
        return len(self.observed)

    def observations(self, begin: int, end: int) -> Observations:
        """Return a range of the observations, in order."""
        piece = slice(max(begin, 0), max(end, 0))
        observed = self.observed
        return Observations(
            observed.tensors[piece], observed.steps[piece], observed.wall_times[piece], observed.figures[piece]
        )

    def value(self, number: int) -> NDArray[np.generic] | None:
        """Return None: values are not kept."""
        return None

    def stack(self, number: int) -> Sequence[Frame]:
        """Return a stack, outermost call first."""
        return self.catalog.frames(number)

    @property
    def sources(self) -> Sequence[SourceFile]:
        """No files: these are on the disk."""
        return ()

    @property
    def alerts(self) -> Sequence[Alert]:
        """No alerts."""
        return ()

    @property
    def problems(self) -> Sequence[str]:
        """No problems."""
        return ()
