"""TensorBoard's plugins that have routes here, in TensorBoard's order."""

from typing import Final

from stepscope.dashboard.tensorboard import (
    audio,
    custom_scalars,
    debugger,
    graphs,
    histograms,
    images,
    mesh,
    pr_curves,
    projector,
    scalars,
    text,
    timeseries,
)
from stepscope.dashboard.tensorboard.hparams import routes as hparams
from stepscope.dashboard.tensorboard.plugin import TensorboardPlugin

PLUGINS: Final[tuple[TensorboardPlugin, ...]] = (
    timeseries.PLUGIN,
    scalars.PLUGIN,
    custom_scalars.PLUGIN,
    images.PLUGIN,
    audio.PLUGIN,
    debugger.PLUGIN,
    graphs.PLUGIN,
    histograms.DISTRIBUTIONS,
    histograms.PLUGIN,
    text.PLUGIN,
    pr_curves.PLUGIN,
    hparams.PLUGIN,
    mesh.PLUGIN,
    projector.PLUGIN,
)
"""Kinds that belong to none of them use the routes of `stepscope.dashboard.tensorboard.other_kinds`."""
