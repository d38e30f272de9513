"""What a plugin of TensorBoard is here: a name in its listing of plugins, and routes."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter

from stepscope.dashboard.server.live import Live
from stepscope.summary.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class TensorboardPlugin:
    """Routes that TensorBoard has for one or several kinds of summaries."""

    name: str
    """TensorBoard's name of the plugin, which is in the paths of its routes: ``/data/plugin/<name>/...``."""
    tab: str
    """TensorBoard's title of its tab."""
    kinds: tuple[str, ...]
    """The kinds of summaries of which any run must have one for the plugin to be active."""
    router: Callable[[Live], APIRouter] | None
    """Makes the routes, over the latest snapshot; None where another plugin of the same module has them."""
    has_data: Callable[[Snapshot], bool] | None = None
    """Whether a log directory has data for it, where `kinds` do not say that."""
    reloads: bool = True
    """Whether TensorBoard's page may ask for its data again by itself."""

    def is_active(self, snapshot: Snapshot) -> bool:
        """Return whether the log directory has data for it."""
        if self.has_data is not None:
            return self.has_data(snapshot)
        return not snapshot.kinds.isdisjoint(self.kinds)
