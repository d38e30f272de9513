"""`StepscopeOutput`: an output of Stable-Baselines3's logger, in place of TensorBoard's writer.

from stable_baselines3.common.logger import Logger
from stepscope.summary.integrations.stable_baselines3 import StepscopeOutput

model.set_logger(Logger("runs/ppo", [StepscopeOutput("runs/ppo")]))
model.learn(100_000)
"""

import os
from collections.abc import Mapping
from typing import Any, Final

from stepscope.summary.integrations.sessions import begin_session, end_session
from stepscope.summary.writer import SummaryWriter

try:
    from stable_baselines3.common.logger import Figure, HParam, Image, KVWriter, Video
except ImportError as error:
    raise ImportError(
        "stepscope.summary.integrations.stable_baselines3 needs Stable-Baselines3: pip install stable-baselines3 "
        f"({error})"
    ) from error


class StepscopeOutput(KVWriter):  # type: ignore[misc]
    """Writes logged values under the tags of Stable-Baselines3's own TensorBoard output.

    Values that ``logger.record`` excludes from ``tensorboard`` are excluded here, too.

    Args:
        log_dir: the run's folder.
    """

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        self._writer: Final = SummaryWriter(log_dir)

    def write(
        self, key_values: Mapping[str, Any], key_excluded: Mapping[str, tuple[str, ...] | None], step: int = 0
    ) -> None:
        """Write numbers, text, histograms, images, videos, figures and hyperparameters, each as its own kind."""
        for tag, value in key_values.items():
            excluded = key_excluded.get(tag) or ()
            if not {"tensorboard", "stepscope"} & set(excluded):
                self._write(tag, value, step)
        self._writer.flush()

    def _write(self, tag: str, value: Any, step: int) -> None:
        writer = self._writer
        match value:
            case Video():
                writer.add_video(tag, value.frames, step, value.fps)
            case Figure():
                writer.add_figure(tag, value.figure, step, close=value.close)
            case Image():
                writer.add_image(tag, value.image, step, dataformats=value.dataformats)
            case HParam():
                begin_session(writer, value.hparam_dict, value.metric_dict)
                end_session(writer)
            case str():
                writer.add_text(tag, value, step)
            case _ if getattr(value, "ndim", 0):
                writer.add_histogram(tag, value, step)
            case _:
                writer.add_scalar(tag, value, step)

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
