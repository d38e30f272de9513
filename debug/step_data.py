"""One step as `DebugData`, as it is known while a program runs: what rules and verdicts are asked about at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.catalog import Catalog
from stepscope.summary.debugger.model import Alert, Frame, Observations, SourceFile, WatchedTensor


@dataclass(frozen=True)
class StepData:
    """What was observed in a step, with what the catalog knows."""

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
        """How many observations there are."""
        return len(self.observed)

    def observations(self, begin: int, end: int) -> Observations:
        """Return a stretch of them, in order."""
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
        """None."""
        return ()

    @property
    def problems(self) -> Sequence[str]:
        """None."""
        return ()
