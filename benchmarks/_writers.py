"""The writers of other projects that have the methods of ours."""

from collections.abc import Callable
from typing import Any, TypeAlias

WriterClass: TypeAlias = Callable[[str], Any]
"""Takes the folder."""


def other_writers() -> dict[str, WriterClass]:
    """PyTorch's and tensorboardX's, by name."""
    import tensorboardX
    from torch.utils import tensorboard as torch_tensorboard

    return {"torch": torch_tensorboard.SummaryWriter, "tensorboardX": tensorboardX.SummaryWriter}
