"""A TensorBoard plugin as it exists here: a name in the list of plugins, and routes."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import APIRouter

from stepscope.dashboard.server.live import Live
from stepscope.summary.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class TensorboardPlugin:
    """TensorBoard's routes for one or several kinds of summaries."""

    name: str
    """TensorBoard's name of the plugin, used in the paths of its routes: ``/data/plugin/<name>/...``."""
    tab: str
    """TensorBoard's title of the plugin's tab."""
    kinds: tuple[str, ...]
    """Kinds of summaries; the plugin is active if any run has one of them."""
    router: Callable[[Live], APIRouter] | None
    """Makes the routes, over the latest snapshot; None if another plugin of the same module has them."""
    has_data: Callable[[Snapshot], bool] | None = None
    """Whether a log directory has data for the plugin, if `kinds` do not tell."""
    reloads: bool = True
    """Whether TensorBoard's page may request the plugin's data again automatically."""

    def is_active(self, snapshot: Snapshot) -> bool:
        """Return whether the log directory has data for the plugin."""
        if self.has_data is not None:
            return self.has_data(snapshot)
        return not snapshot.kinds.isdisjoint(self.kinds)
