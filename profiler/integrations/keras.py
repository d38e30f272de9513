"""`StepscopeCallback`: Keras 3's ``TensorBoard`` callback without TensorFlow, on every backend.

    import keras  # type: ignore[import-untyped]
    from stepscope.profiler.integrations.keras import StepscopeCallback

    model.fit(images, labels, validation_split=0.1, callbacks=[StepscopeCallback("logs", profile_batch=(10, 15))])

Arguments, runs, tags and steps are the same as in ``keras.callbacks.TensorBoard``.
"""

import logging
import os
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any, ClassVar, Final, Literal

import numpy as np
from google.protobuf import text_format
from numpy.typing import NDArray

from stepscope.profiler.process import _process, annotate, start, step, stop
from stepscope.summary.errors import UserError
from stepscope.summary.kinds.histogram import histogram_of_equal_buckets
from stepscope.summary.proto.projector_pb2 import ProjectorConfig
from stepscope.summary.storage import Folder, folder_at
from stepscope.summary.writer import SummaryWriter

try:
    import keras  # type: ignore[import-untyped]
except ImportError as error:
    raise ImportError(
        "stepscope.profiler.integrations.keras needs Keras 3 and one of its backends: pip install 'keras>=3' and "
        f"torch, jax or tensorflow, and name the backend in the environment variable KERAS_BACKEND ({error})"
    ) from error
if int(keras.__version__.split(".")[0]) < 3:
    raise ImportError(
        f"stepscope.profiler.integrations.keras needs Keras 3, got {keras.__version__}: pip install 'keras>=3'"
    )

_logger: Final = logging.getLogger(__name__)

_MOST_PICTURES: Final = 3
"""Maximum number of images of a weight that is a stack of images, as in TensorFlow's image summaries."""
_MOST_NUMBERS_AS_TEXT: Final = 1_000_000
"""Larger embeddings are written as raw numbers, which TensorBoard distinguishes from text by their bytes alone."""
_CHECKPOINT_TENSOR: Final = "layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE"

Run = Literal["train", "validation"]


class StepscopeCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Writes the training of a Keras model into the runs ``train`` and ``validation`` of ``log_dir``.

    Epochs are counted from 0. Batches are counted from 1, through all epochs of a `fit`.

    Args:
        log_dir: the folder of the runs, created if it does not exist.
        histogram_freq: interval, in epochs, at which a histogram of each weight is written, under
            ``<layer>/<weight>/histogram``; 0 for never.
        write_graph: write the layers of a Functional or Sequential model, under ``keras``.
        write_images: whenever histograms are written, also write each weight of up to three dimensions as an image,
            under ``<layer>/<weight>/image``; only the first three of a stack.
        write_steps_per_second: write the number of batches trained per second, under ``epoch_steps_per_second`` and
            ``batch_steps_per_second``.
        update_freq: "batch", or the interval, in batches, between two points of ``batch_<metric>``; "epoch" for none.
        profile_batch: the batch that is recorded by `profiler`, or the first and the last one, as a pair or as the
            string "first,last"; 0 for none.
        embeddings_freq: interval, in epochs, at which the weights of the model's Embedding layers are written; 0 for
            never.
        embeddings_metadata: path of a file of labels, relative to ``log_dir``, for all Embedding layers, or a path for
            each by the layer's name.
        clock: returns seconds; replaced only in tests.

    Raises:
        TypeError, ValueError: an argument is invalid; the message states what was expected.
    """

    _recorded: ClassVar["_RecordedFit | None"] = None
    """The `fit` whose callback started the last recording; an interrupted one leaves it running."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: int | Literal["batch", "epoch"] = "epoch",
        profile_batch: int | str | Sequence[int] = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: str | Mapping[str, str] | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__()
        if embeddings_metadata is not None and not isinstance(embeddings_metadata, str | Mapping):
            raise TypeError(
                "embeddings_metadata must be a path, or paths by layer name, got "
                f"{type(embeddings_metadata).__name__} {embeddings_metadata!r}"
            )
        self.log_dir: Final = os.fspath(log_dir)
        self._histogram_freq: Final = _checked_frequency("histogram_freq", histogram_freq)
        self._embeddings_freq: Final = _checked_frequency("embeddings_freq", embeddings_freq)
        self._update_freq: Final = _batches_between_points(update_freq)
        self._profiled: Final = profiled_batches(profile_batch)
        self._embeddings_metadata: Final = embeddings_metadata
        self._write_graph: Final = write_graph
        self._write_images: Final = write_images
        self._write_steps_per_second: Final = write_steps_per_second
        self._clock: Final = clock
        self._writers: Final[dict[Run, SummaryWriter]] = {}
        self._batch = 0
        self._fitting = False
        self._batch_scope: annotate | None = None
        self._batch_began = self._epoch_began = 0.0
        self._iterations_before_epoch = 0

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """Write the graph and the projector's configuration; stop the recording of a `fit` that was interrupted."""
        recorded = StepscopeCallback._recorded
        if recorded is not None and (recorded.callback() is self or not recorded.runs()):
            recorded.stop()
        self._batch_scope = None
        self._batch = 0
        self._fitting = True
        if self._embeddings_freq:
            self._write_projector_config()
        if self._write_graph:
            self._add_graph()

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Close the event files, and stop a recording whose last batch was not reached."""
        self._fitting = False
        self._stop_recording()
        for writer in self._writers.values():
            writer.close()

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Write ``evaluation_<metric>_vs_iterations`` at the optimizer's step."""
        iterations = _iterations(self.model)
        if iterations is not None and logs:
            values = {f"evaluation_{name}_vs_iterations": value for name, value in logs.items()}
            self._add_scalars("validation", values, iterations)
        if not self._fitting:
            for writer in self._writers.values():
                writer.close()

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Start timing the epoch."""
        if self._write_steps_per_second:
            self._iterations_before_epoch = _iterations(self.model) or 0
            self._epoch_began = self._clock()

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Write metrics and learning rates, and weights and embeddings if they are due."""
        if logs:
            self._add_epoch_metrics(epoch, logs)
        if self._histogram_freq and epoch % self._histogram_freq == 0:
            self._add_weights(epoch)
        if self._embeddings_freq and epoch % self._embeddings_freq == 0:
            self._add_embeddings(epoch)

    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Start a recording if it is due, and begin a step of a recording."""
        self._batch += 1
        if self._profiled is not None and self._batch == self._profiled[0]:
            self._start_recording()
        elif self._records():
            step(self._batch)
        if self._records():
            self._batch_scope = annotate("train batch", batch=self._batch)
            self._batch_scope.__enter__()
        self._batch_began = self._clock()

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Write the batch's metrics if they are due, and end a recording after its last batch."""
        seconds = self._clock() - self._batch_began
        if self._batch_scope is not None:
            self._batch_scope.__exit__(None, None, None)
            self._batch_scope = None
        if self._records() and self._profiled is not None and self._batch >= self._profiled[1]:
            step()  # so that the batch's step is not left unfinished
            self._stop_recording()
        if self._update_freq is None or self._batch % self._update_freq:
            return
        values = {f"batch_{name}": value for name, value in logs.items()} if isinstance(logs, Mapping) else {}
        if self._write_steps_per_second and seconds > 0:
            values["batch_steps_per_second"] = 1 / seconds
        self._add_scalars("train", values, self._batch)

    def _writer(self, run: Run) -> SummaryWriter:
        if run not in self._writers:
            self._writers[run] = SummaryWriter(os.path.join(self.log_dir, run))
        return self._writers[run]

    def _add_scalars(self, run: Run, values: Mapping[str, Any], at_step: int) -> None:
        for tag, value in values.items():
            array = np.asarray(keras.ops.convert_to_numpy(value))
            if array.size == 1:
                self._writer(run).add_scalar(tag, array, at_step)
                continue
            for index, element in enumerate(array.reshape(-1)):  # a metric with a number per class
                self._writer(run).add_scalar(f"{tag}/{index}", element, at_step)

    def _add_epoch_metrics(self, epoch: int, logs: Mapping[str, Any]) -> None:
        train = {name: value for name, value in logs.items() if not name.startswith("val_")}
        train.update(_learning_rates(self.model.optimizer))
        if self._write_steps_per_second:
            seconds = self._clock() - self._epoch_began
            steps = (_iterations(self.model) or 0) - self._iterations_before_epoch
            if seconds > 0:
                train["steps_per_second"] = steps / seconds
        validation = {name[len("val_") :]: value for name, value in logs.items() if name.startswith("val_")}
        self._add_scalars("train", {f"epoch_{name}": value for name, value in train.items()}, epoch)
        self._add_scalars("validation", {f"epoch_{name}": value for name, value in validation.items()}, epoch)

    def _add_graph(self) -> None:
        if type(self.model).__name__ not in ("Functional", "Sequential"):
            return
        try:
            self._writer("train").add_graph(self.model)
        except Exception as error:  # the layers' own code creates the configuration, and may raise anything
            warnings.warn(f"the graph of the model {self.model.name!r} is left out: {error}", stacklevel=2)

    def _add_weights(self, epoch: int) -> None:
        writer = self._writer("train")
        for layer in self.model.layers:
            for weight in layer.weights:
                array = keras.ops.convert_to_numpy(weight)
                name = weight.path.replace(":", "_")
                if array.size:
                    writer.add_value(histogram_of_equal_buckets(f"{name}/histogram", array), epoch)
                if self._write_images:
                    pictures = weight_pictures(array, channels_last=keras.config.image_data_format() == "channels_last")
                    if pictures is not None:
                        writer.add_images(f"{name}/image", pictures, epoch, dataformats="NHWC")
        writer.flush()

    def _embedding_layers(self) -> list[Any]:
        return [layer for layer in self.model.layers if isinstance(layer, keras.layers.Embedding)]

    def _metadata_path(self, layer: Any) -> str | None:
        if isinstance(self._embeddings_metadata, Mapping):
            return self._embeddings_metadata.get(layer.name)
        return self._embeddings_metadata

    def _write_projector_config(self) -> None:
        """Write the configuration that Keras writes, of the checkpoints beside the tensors."""
        layers = self._embedding_layers()
        if isinstance(self._embeddings_metadata, Mapping):
            names = [layer.name for layer in layers]
            unknown = sorted(self._embeddings_metadata.keys() - set(names))
            if unknown:
                raise ValueError(
                    f"embeddings_metadata must have keys among the Embedding layers {names}, got {unknown}"
                )
        config = ProjectorConfig()
        for layer in layers:
            config.embeddings.add(tensor_name=_CHECKPOINT_TENSOR, metadata_path=self._metadata_path(layer))
        content = text_format.MessageToString(config).encode()
        folder_at(self.log_dir).replace("projector_config.pbtxt", content)

    def _add_embeddings(self, epoch: int) -> None:
        writer = self._writer("train")
        folder = folder_at(self.log_dir)
        with TemporaryDirectory() as place:
            name = f"keras_embedding.ckpt-{epoch}.weights.h5"
            self.model.save_weights(Path(place, name))
            folder.replace(f"train/{name}", Path(place, name).read_bytes())
        for layer in self._embedding_layers():
            rows = keras.ops.convert_to_numpy(layer.embeddings)
            path = self._metadata_path(layer)
            header, labels = (None, None) if path is None else _labels(folder, path, len(rows))
            tensor_format: Literal["tsv", "float32"] = "tsv" if rows.size <= _MOST_NUMBERS_AS_TEXT else "float32"
            writer.add_embedding(
                rows, labels, global_step=epoch, tag=layer.name, metadata_header=header, tensor_format=tensor_format
            )

    def _records(self) -> bool:
        recorded = StepscopeCallback._recorded
        return recorded is not None and recorded.callback() is self and recorded.is_recording()

    def _start_recording(self) -> None:
        try:
            start(os.path.join(self.log_dir, "train"), first_step=self._batch)
        except (UserError, OSError) as error:
            _logger.error("batch %d is not recorded: %s", self._batch, error)
        else:
            StepscopeCallback._recorded = _RecordedFit(self, *_fit_around(sys._getframe(1)), self._batch)

    def _stop_recording(self) -> None:
        recorded = StepscopeCallback._recorded
        if recorded is not None and recorded.callback() is self:
            recorded.stop()


class _RecordedFit:
    """A `fit` that is recorded; keeps nothing of it alive, as it may be interrupted."""

    def __init__(self, callback: StepscopeCallback, callbacks: Any, code: CodeType | None, first_batch: int) -> None:
        session = _process.session
        self.callback: Final = weakref.ref(callback)
        self._callbacks: Final = None if callbacks is None else weakref.ref(callbacks)
        self._code: Final = code
        self._session: Final = None if session is None else weakref.ref(session)
        self._first_batch: Final = first_batch

    def runs(self) -> bool:
        """Return whether `fit` is on the stack of any thread; others may run beside it, or in its callbacks."""
        callbacks = self._callbacks and self._callbacks()
        if callbacks is None:
            return False
        frames = (frame for top in sys._current_frames().values() for frame, _ in walk_stack(top))
        return any(
            value is callbacks
            for frame in frames
            if frame.f_code is self._code
            for value in list(frame.f_locals.values())
        )

    def is_recording(self) -> bool:
        """Return whether the recording has not been stopped."""
        session = self._session and self._session()
        return session is not None and session is _process.session

    def stop(self) -> None:
        """Stop the recording, unless it was stopped by others."""
        StepscopeCallback._recorded = None
        try:
            if self.is_recording():
                stop()
        except (UserError, OSError) as error:
            _logger.error("the recording that began with batch %d is lost: %s", self._first_batch, error)


def _fit_around(frame: FrameType) -> tuple[Any, CodeType | None]:
    """Return the list of callbacks of the innermost `fit` on a stack, and the code of `fit`; None if there is none."""
    callbacks = None
    for caller, _ in walk_stack(frame):
        owner = caller.f_locals.get("self")
        if callbacks is not None and owner is not callbacks:
            return callbacks, caller.f_code
        if callbacks is None and isinstance(owner, keras.callbacks.CallbackList):
            callbacks = owner
    return callbacks, None


def profiled_batches(profile_batch: int | str | Sequence[int]) -> tuple[int, int] | None:
    """Return the first and the last batch to record, or None; see `StepscopeCallback`.

    Raises:
        ValueError: the argument is neither a batch nor a pair of batches.
    """
    parts: Sequence[Any] = profile_batch.split(",") if isinstance(profile_batch, str) else _as_sequence(profile_batch)
    try:
        batches = [int(part) if isinstance(profile_batch, str) else part for part in parts]
    except ValueError:
        batches = []
    whole = all(isinstance(batch, int) for batch in batches)
    if not whole or not 1 <= len(batches) <= 2 or not 0 <= batches[0] <= batches[-1]:
        raise ValueError(
            "profile_batch must be a batch counted from 1, or the first and the last of several, or 0, "
            f"got {profile_batch!r}"
        )
    return None if batches[-1] == 0 else (batches[0], batches[-1])


def weight_pictures(weight: NDArray[Any], *, channels_last: bool) -> NDArray[Any] | None:
    """Return a weight as gray or color images [n, height, width, channels], or None if there are none.

    Dimensions of size 1 are ignored. A vector is one column, and a matrix one image, wider than high. With three
    dimensions, the last one indexes the images if ``channels_last``, otherwise the first. Weights that are not floats,
    are empty, or have other numbers of channels or dimensions have no images.
    """
    array = np.squeeze(weight)
    if array.dtype.kind in "iub" or array.size == 0:
        return None
    match array.ndim:
        case 1:
            pictures = array[None, :, None, None]
        case 2:
            pictures = (array.T if array.shape[0] > array.shape[1] else array)[None, :, :, None]
        case 3:
            pictures = (array.transpose(2, 0, 1) if channels_last else array)[..., None]
        case 4:
            pictures = array
        case _:
            return None
    return pictures[:_MOST_PICTURES] if pictures.shape[-1] in (1, 3, 4) else None


def _as_sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _checked_frequency(name: str, epochs: object) -> int:
    if not isinstance(epochs, int) or epochs < 0:
        raise ValueError(f"{name} must be a number of epochs, or 0 for never, got {epochs!r}")
    return int(epochs)


def _batches_between_points(update_freq: object) -> int | None:
    match update_freq:
        case "epoch":
            return None
        case "batch":
            return 1
        case int() if update_freq > 0:
            return update_freq
        case _:
            raise ValueError(f"update_freq must be 'batch', 'epoch' or a number of batches, got {update_freq!r}")


def _iterations(model: Any) -> int | None:
    iterations = getattr(model.optimizer, "iterations", None)
    return None if iterations is None else int(keras.ops.convert_to_numpy(iterations))


def _learning_rates(optimizer: Any) -> dict[str, Any]:
    """Return learning rates by their names in Keras's tags: one, or one per part of a MultiOptimizer."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # a LossScaleOptimizer has one
    if hasattr(inner, "optimizers"):
        return {f"learning_rate_{part.name}": part.learning_rate for part in inner.optimizers}
    return {"learning_rate": inner.learning_rate} if isinstance(inner, keras.optimizers.Optimizer) else {}


def _labels(folder: Folder, path: str, rows: int) -> tuple[list[str] | None, list[Any] | None]:
    """Return the header and the labels of a file: one line per row, or one more with tab-separated column names."""
    try:
        lines = folder.read(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        warnings.warn(f"the labels of the embedding are left out: {path} cannot be read: {error}", stacklevel=2)
        return None, None
    if len(lines) == rows:
        return None, lines
    if len(lines) == rows + 1 and "\t" in lines[0]:
        header, *table = [line.split("\t") for line in lines]
        if all(len(line) == len(header) for line in table):
            return header, table
    warnings.warn(
        f"the labels of the embedding are left out: {path} must have {rows} lines of one label each, or a "
        f"line of column names and {rows} lines of as many labels, separated by tabs; it has {len(lines)} lines",
        stacklevel=2,
    )
    return None, None
