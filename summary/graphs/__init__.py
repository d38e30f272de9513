"""Graphs of models as GraphDef: one module per source."""

from stepscope.summary.graphs.dispatch import graph_of
from stepscope.summary.graphs.from_keras import keras_json_of

__all__ = ["graph_of", "keras_json_of"]
