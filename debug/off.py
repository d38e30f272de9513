"""A watcher that is off: write the program once, and turn watching on when needed."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from stepscope.debug.watcher import Watcher
from stepscope.summary.debugger.model import Alert


class OffWatcher(Watcher):
    """Does nothing; a step function that is called through it is called unchanged.

    Args:
        model: the model that would be watched.
    """

    def __init__(self, model: Any) -> None:
        self._model: Final = model
        self._step = 0
        self._is_open = False
        self.repeatable = None

    should_stop = False
    alerts: tuple[Alert, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step."""
        return self._model(*args, **kwargs)

    def log(self, scalars: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Write nothing."""

    def labels(self, labels: Any, names: Sequence[str] | None = None) -> None:
        """Count nothing."""

    def dump(self) -> int:
        """Write nothing; return 0."""
        return 0

    def step(self, **scalars: Any) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def _let_go(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass
