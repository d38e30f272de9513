"""The methods of `SummaryWriter` for images, sound, text and other media."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.summary.arguments import as_array, checked_tag
from stepscope.summary.embedding import TensorFormat, embedding, write_embedding
from stepscope.summary.kinds.audio import audio
from stepscope.summary.kinds.figure import figures
from stepscope.summary.kinds.image import prepared_images
from stepscope.summary.kinds.mesh import mesh
from stepscope.summary.kinds.text import text
from stepscope.summary.kinds.video import prepared_video
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.writer_base import ValueWriter


class MediaMethods(ValueWriter):
    """Images, figures, video, audio, text, meshes and embeddings."""

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: integers in 0..255, bool, or float in 0..1; see `stepscope.summary.kinds.image.images`."""
        prepared = prepared_images(checked_tag(tag), img_tensor, dataformats, legacy=self._legacy)
        self._add_prepared(prepared, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add several images of one size, kept as separate samples; for a list, ``dataformats`` describes one image."""
        if isinstance(img_tensor, list) and isinstance(dataformats, str) and "N" not in dataformats.upper():
            name = f"the images {tag!r}"
            img_tensor = np.stack([as_array(each, name) for each in img_tensor])
            dataformats = f"N{dataformats}"
        prepared = prepared_images(checked_tag(tag), img_tensor, dataformats, legacy=self._legacy)
        self._add_prepared(prepared, global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """Add an image with boxes [n, 4] of left, top, right, bottom; see `stepscope.summary.kinds.boxes`."""
        from stepscope.summary.kinds.boxes import image_with_boxes

        value = image_with_boxes(checked_tag(tag), img_tensor, box_tensor, rescale, dataformats, labels)
        self.add_value(value, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Add a Matplotlib figure, or a list of figures, as images; ``close`` removes them from ``pyplot``."""
        self.add_value(figures(checked_tag(tag), figure, close), global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
        dataformats: str = "NTCHW",
    ) -> None:
        """Add frames, with pixels as in `add_image`, as an animated GIF; see `stepscope.summary.kinds.video.video`."""
        self._add_prepared(prepared_video(checked_tag(tag), vid_tensor, fps, dataformats), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add mono or stereo audio: int16, or float in -1..1; see `stepscope.summary.kinds.audio.audio`."""
        self.add_value(audio(checked_tag(tag), snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str | Sequence[Any] | NDArray[Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add Markdown, or a table of Markdown given as an array or nested list of strings.

        The series is ``<tag>/text_summary``, as in PyTorch and tensorboardX, so that a scalar may use ``tag`` itself.
        """
        self.add_value(text(f"{checked_tag(tag)}/text_summary", text_string), global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add meshes, or point clouds if there are no faces; see `stepscope.summary.kinds.mesh.mesh`."""
        values = mesh(checked_tag(tag), vertices, colors, faces, config_dict)
        self._add_event(Event(summary=Summary(value=values)), global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
        *,
        tensor_format: TensorFormat = "tsv",
    ) -> None:
        """Write high-dimensional points, with labels and images, to files; see `stepscope.summary.embedding`.

        The run's ``projector_config.pbtxt`` keeps its content, except an entry with the same tag and step.
        """
        step, _ = self._checked(global_step, None)
        encoded = embedding(tag, mat, step, metadata, label_img, metadata_header, tensor_format)
        with self._merge_lock, self._folder.locked():
            write_embedding(self._folder, encoded)
