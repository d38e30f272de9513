"""What a writer stores of tensors on an NVIDIA GPU is what it stores of the same tensors on the host."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from stepscope import SummaryWriter
from tests.summary.test_writer import events

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here")

Write = Callable[[SummaryWriter, Callable[[torch.Tensor], torch.Tensor]], None]

NUMBERS = torch.tensor([[0.5, -2.0, 3.25], [1e-3, 7.0, 0.0]])
IMAGES = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).to(torch.uint8)
LABELS, PREDICTIONS = torch.tensor([True, False, True, True]), torch.tensor([0.9, 0.4, 0.35, 0.8])
POINTS = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])

WRITES: dict[str, Write] = {
    "scalar": lambda writer, on: writer.add_scalar("t", on(NUMBERS)[0, 2].requires_grad_()),
    "scalar of bfloat16": lambda writer, on: writer.add_scalar("t", on(NUMBERS)[0, 2].bfloat16()),
    "scalars": lambda writer, on: writer.add_scalars("t", {"a": on(NUMBERS)[0, 0], "b": on(NUMBERS)[0, 1]}),
    "batch": lambda writer, on: writer.add_scalar_batch("t", on(NUMBERS)[0], on(torch.arange(3))),
    "histogram": lambda writer, on: writer.add_histogram("t", on(NUMBERS)),
    "histogram of bfloat16": lambda writer, on: writer.add_histogram("t", on(NUMBERS).bfloat16()),
    "histogram of float8": lambda writer, on: writer.add_histogram("t", on(NUMBERS).to(torch.float8_e4m3fn)),
    "tensor": lambda writer, on: writer.add_tensor("t", on(NUMBERS).T),
    "complex tensor": lambda writer, on: writer.add_tensor("t", torch.complex(on(NUMBERS), on(NUMBERS)).conj()),
    "image": lambda writer, on: writer.add_image("t", on(IMAGES)[0]),
    "images": lambda writer, on: writer.add_images("t", on(IMAGES)),
    "list of images": lambda writer, on: writer.add_images("t", list(on(IMAGES)), dataformats="CHW"),
    "boxes": lambda writer, on: writer.add_image_with_boxes("t", on(IMAGES)[0], on(torch.tensor([[0, 0, 2, 3]]))),
    "video": lambda writer, on: writer.add_video("t", on(IMAGES)[None]),
    "audio": lambda writer, on: writer.add_audio("t", on(NUMBERS)[0].clamp(-1, 1)),
    "mesh": lambda writer, on: writer.add_mesh("t", on(POINTS), faces=on(torch.tensor([[[0, 1, 2]]]))),
    "pr curve": lambda writer, on: writer.add_pr_curve("t", on(LABELS), on(PREDICTIONS), weights=on(PREDICTIONS)),
    "hparams": lambda writer, on: writer.add_hparams({"lr": on(NUMBERS)[0, 0]}, {"loss": on(NUMBERS)[0, 1]}),
    "a step": lambda writer, on: writer.add_scalar("t", 1.0, on(torch.tensor(7))),
}


def written(folder: Path, write: Write, on: Callable[[torch.Tensor], torch.Tensor]) -> list[bytes]:
    with SummaryWriter(folder) as writer:
        write(writer, on)
    found = []
    for file in sorted(folder.rglob("*tfevents*")):
        for event in events(file.parent):
            event.ClearField("wall_time")
            found.append(event.SerializeToString(deterministic=True))
    return found


@pytest.mark.parametrize("name", WRITES)
def test_tensors_on_a_gpu_are_written_as_those_on_the_host(tmp_path: Path, name: str) -> None:
    on_gpu = written(tmp_path / "gpu", WRITES[name], lambda tensor: tensor.cuda())
    on_host = written(tmp_path / "host", WRITES[name], lambda tensor: tensor.clone())
    assert on_gpu
    assert on_gpu == on_host


def test_an_embedding_on_a_gpu_is_written_as_one_on_the_host(tmp_path: Path) -> None:
    def files(folder: Path, **arguments: Any) -> dict[str, bytes]:
        with SummaryWriter(folder) as writer:
            writer.add_embedding(**arguments, metadata=["a", "b"], tag="t")
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and "tfevents" not in path.name
        }

    pictures = IMAGES.float() / 255
    on_gpu = files(tmp_path / "gpu", mat=NUMBERS.cuda(), label_img=pictures.cuda())
    assert on_gpu
    assert on_gpu == files(tmp_path / "host", mat=NUMBERS, label_img=pictures)
