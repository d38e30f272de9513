"""The methods of `SummaryWriter` for model graphs."""

import os
from typing import Any

from stepscope.summary.arguments import checked_name
from stepscope.summary.writer_base import ValueWriter, optional_wall_time


class GraphMethods(ValueWriter):
    """Graphs of PyTorch, Keras, TensorFlow, ONNX and OpenVINO models."""

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
        *,
        tag: str = "keras",
        walltime: float | None = None,
    ) -> None:
        """Add the graph of a model: its operations, or the layers of a Keras model.

        Args:
            model: a PyTorch module, script or exported program; a Keras model; an ONNX model; a GraphDef, MetaGraphDef
                or SavedModel message of any package's class; a ``tf.Graph``; or the path of a file that holds one of
                these.
            input_to_model: the input for tracing a PyTorch module: a tensor, a tuple or list of arguments, or a dict,
                whose keys are keyword arguments if ``forward`` has parameters with all these names.
            verbose: print the traced graph.
            use_strict_trace: as ``strict`` of ``torch.jit.trace``; False lets a module return lists and dicts.
            tag: the tag of a Keras model. Other graphs belong to the run and have no tag.
            walltime: seconds since the epoch; by default the current time.

        Raises:
            TypeError: the model is none of these, or is a PyTorch module without inputs.
            ValueError: the model cannot be traced or read; the cause is chained.
            UserError: a file holds no graph.
        """
        # File readers import modules that programs without graphs should not wait for.
        from stepscope.summary.graphs.dispatch import graph_of, keras_json_of_file
        from stepscope.summary.graphs.from_keras import keras_json_of
        from stepscope.summary.kinds.graph import graph, keras_model

        checked_name(tag)
        optional_wall_time(walltime)
        is_path = isinstance(model, str | os.PathLike)
        model_json = keras_json_of_file(model) if is_path else keras_json_of(model)
        if model_json is not None:
            self.add_value(keras_model(tag, model_json), None, walltime)
            return
        found = graph_of(model, input_to_model, verbose=verbose, use_strict_trace=use_strict_trace)
        self._add_event(graph(found), None, walltime)

    def add_onnx_graph(
        self,
        prototxt: str | os.PathLike[str] | bytes | Any = None,
        *,
        onnx_model_file: str | os.PathLike[str] | bytes | Any = None,
    ) -> None:
        """Add the graph of an ONNX model, given as a file, its bytes or a ModelProto; see `graph_from_onnx`.

        ``prototxt`` is PyTorch's name for the model, and ``onnx_model_file`` is tensorboardX's.

        Raises:
            TypeError: neither or both are given.
        """
        from stepscope.summary.graphs.from_onnx import graph_from_onnx
        from stepscope.summary.kinds.graph import graph

        if (prototxt is None) == (onnx_model_file is None):
            raise TypeError("add_onnx_graph needs one model, as prototxt or as onnx_model_file")
        model = onnx_model_file if prototxt is None else prototxt
        self._add_event(graph(graph_from_onnx(model)), None, None)

    def add_openvino_graph(self, xmlname: str | os.PathLike[str]) -> None:
        """Add the graph of an OpenVINO model, given as its ``.xml`` file; see `graph_from_openvino`."""
        from stepscope.summary.graphs.from_openvino import graph_from_openvino
        from stepscope.summary.kinds.graph import graph

        self._add_event(graph(graph_from_openvino(xmlname)), None, None)
