"""Files written by PyTorch, Keras, NumPy and safetensors, read without them."""

import os
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import orjson
import pytest
import torch
from torch import nn

os.environ.setdefault("KERAS_BACKEND", "torch")

from stepscope.summary.checkpoints.base import CheckpointError
from stepscope.summary.checkpoints.dispatch import open_checkpoint_at
from stepscope.summary.checkpoints.hdf5 import KERAS_WEIGHTS, MAGIC
from stepscope.summary.checkpoints.numpy_files import NumpyArchive

MATRIX = np.arange(21, dtype=np.float32).reshape(7, 3) / 8 - 1


def names_of(path: Path) -> list[str]:
    return [tensor.name for tensor in open_checkpoint_at(path).tensors]


class Words(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(5, 3)
        self.last = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self.last(self.words(x))
        return seen


def test_a_torch_checkpoint_with_all_that_trainings_keep(tmp_path: Path) -> None:
    model = Words()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.arange(5)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "path": tmp_path, "m": model}
    torch.save(state, tmp_path / "all.pt")
    checkpoint = open_checkpoint_at(tmp_path / "all.pt")
    found = {tensor.name: tensor for tensor in checkpoint.tensors}
    assert list(found)[:3] == ["model.words.weight", "model.last.weight", "model.last.bias"]
    assert found["optimizer.state.0.exp_avg"].shape == (5, 3)
    assert found["m._modules.words._parameters.weight"].label == "m.words.weight"
    for name, tensor in model.state_dict().items():
        assert checkpoint.read(f"model.{name}").tolist() == tensor.tolist()
    assert checkpoint.read("m._modules.words._parameters.weight").tolist() == model.words.weight.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t,
        lambda t: t.t(),
        lambda t: t[2:5, 1:],
        lambda t: t[::2],
        lambda t: t[:1].expand(4, 3),
        lambda t: t.half(),
        lambda t: t.double(),
        lambda t: t.bfloat16(),
        lambda t: t.to(torch.float8_e4m3fn),
        lambda t: t.to(torch.float8_e5m2),
        lambda t: t.to(torch.int16),
        lambda t: t.to(torch.uint8),
        lambda t: t.to(torch.uint16),
        lambda t: t > 0,
        nn.Parameter,
        lambda t: t[:0],
    ],
)
def test_tensors_of_all_types_and_strides(tmp_path: Path, make: Any) -> None:
    tensor = make(torch.tensor(MATRIX).abs())
    torch.save(tensor, tmp_path / "t.pt")
    checkpoint = open_checkpoint_at(tmp_path / "t.pt")
    (info,) = checkpoint.tensors
    assert (info.name, info.shape) == ("tensor", tuple(tensor.shape))
    assert checkpoint.read("tensor").tolist() == tensor.float().tolist()
    assert checkpoint.read("tensor", rows=2).tolist() == tensor.float()[:2].tolist()


def test_torchscript_and_lists(tmp_path: Path) -> None:
    model = Words()
    torch.jit.script(model).save(tmp_path / "script.pt")
    assert names_of(tmp_path / "script.pt") == ["words.weight", "last.weight", "last.bias"]
    torch.save([torch.ones(2, 2), (torch.zeros(1),)], tmp_path / "list.pt")
    assert names_of(tmp_path / "list.pt") == ["0", "1.0"]


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("made_by_the_pickle",)


def test_nothing_of_a_pickle_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"evil": Evil(), "good": torch.ones(2, 2)}, "evil.pt")
    assert names_of(Path("evil.pt")) == ["good"]
    assert not Path("made_by_the_pickle").exists()
    torch.save({"a": torch.ones(1)}, "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(CheckpointError, match=r"as PyTorch wrote files before version 1\.6"):
        open_checkpoint_at("old.pt")


def test_a_tensor_that_reaches_beyond_its_storage_is_refused(tmp_path: Path) -> None:
    torch.save(torch.ones(4, 4), tmp_path / "t.pt")
    with zipfile.ZipFile(tmp_path / "t.pt") as archive, zipfile.ZipFile(tmp_path / "cut.pt", "w") as cut:
        for member in archive.namelist():
            content = archive.read(member)
            cut.writestr(member, content[:-4] if member.endswith("data/0") else content)
    with pytest.raises(CheckpointError, match="The file ends 4 bytes before"):
        open_checkpoint_at(tmp_path / "cut.pt").read("tensor")


@pytest.fixture(scope="module")
def keras_model() -> Any:
    import keras  # type: ignore[import-untyped]

    layers = keras.layers
    model = keras.Sequential(
        [layers.Input((4,)), layers.Embedding(11, 5, name="words"), layers.Flatten(), layers.Dense(3, name="last")]
    )
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4)), np.ones((2, 3)), verbose=0)
    return model


@pytest.mark.parametrize("name", ["model.weights.h5", "model.keras"])
def test_keras_files_have_the_layers_before_the_optimizer(tmp_path: Path, keras_model: Any, name: str) -> None:
    path = tmp_path / name
    (keras_model.save_weights if name.endswith("h5") else keras_model.save)(path)
    checkpoint = open_checkpoint_at(path)
    found = [(t.name, t.label, t.shape) for t in checkpoint.tensors]
    assert found[:3] == [
        ("layers/dense/vars/0", "layers/last/0", (20, 3)),
        ("layers/dense/vars/1", "layers/last/1", (3,)),
        ("layers/embedding/vars/0", "layers/words/0", (11, 5)),
    ]
    assert {name.split("/")[0] for name, _, _ in found[3:]} == {"optimizer"}
    expected = keras_model.layers[0].get_weights()[0]
    assert checkpoint.read("layers/embedding/vars/0").tolist() == expected.tolist()
    assert checkpoint.read("layers/embedding/vars/0", rows=2).tolist() == expected[:2].tolist()


def test_a_compressed_keras_archive_is_unpacked(tmp_path: Path, keras_model: Any) -> None:
    keras_model.save(tmp_path / "model.keras")
    with (
        zipfile.ZipFile(tmp_path / "model.keras") as archive,
        zipfile.ZipFile(tmp_path / "small.keras", "w", zipfile.ZIP_DEFLATED) as small,
    ):
        for member in archive.namelist():
            small.writestr(member, archive.read(member))
    expected = keras_model.layers[0].get_weights()[0]
    assert open_checkpoint_at(tmp_path / "small.keras").read("layers/embedding/vars/0").tolist() == expected.tolist()


def test_without_h5py_hdf5_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "m.weights.h5").write_bytes(MAGIC)
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr(KERAS_WEIGHTS, MAGIC)
    for name in ("m.weights.h5", "m.keras"):
        with pytest.raises(CheckpointError) as error:
            open_checkpoint_at(tmp_path / name)
        assert str(error.value) == f"Reading {name} needs h5py. Run: pip install 'stepscope-core[hdf5]'"


def test_hdf5_leads_to_no_other_file(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as secret:
        secret["x"] = MATRIX
    (tmp_path / "secret.raw").write_bytes(MATRIX.tobytes())
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file["own"] = MATRIX
        file["group/half"] = MATRIX.astype("f2")
        file["group/again"] = file["group"]
        file["outside"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "x")
        file["soft"] = h5py.SoftLink("/own")
        file.create_dataset("raw", (7, 3), "f4", external=[(str(tmp_path / "secret.raw"), 0, 84)])
        layout = h5py.VirtualLayout((7, 3), "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "x", (7, 3))
        file.create_virtual_dataset("virtual", layout)
        file["text"] = "no number"
        file["packed"] = np.zeros(3, [("a", "f4")])
    checkpoint = open_checkpoint_at(tmp_path / "all.h5")
    assert [t.name for t in checkpoint.tensors] == ["group/half", "own"]
    assert checkpoint.read("own").tolist() == MATRIX.tolist()


def safetensors(header: dict[str, Any], data: bytes) -> bytes:
    text = orjson.dumps(header)
    return struct.pack("<Q", len(text)) + text + data


def test_safetensors(tmp_path: Path) -> None:
    data = MATRIX.tobytes() + MATRIX.astype("f8").tobytes()
    header = {
        "__metadata__": {"format": "pt"},
        "emb": {"dtype": "F32", "shape": [7, 3], "data_offsets": [0, 84]},
        "double": {"dtype": "F64", "shape": [7, 3], "data_offsets": [84, 252]},
        "wrong size": {"dtype": "F32", "shape": [7, 4], "data_offsets": [0, 84]},
        "unknown": {"dtype": "X9", "shape": [7, 3], "data_offsets": [0, 84]},
        "negative": {"dtype": "F32", "shape": [-7, -3], "data_offsets": [0, 84]},
    }
    (tmp_path / "model.safetensors").write_bytes(safetensors(header, data))
    checkpoint = open_checkpoint_at(tmp_path / "model.safetensors")
    assert [(t.name, t.shape, t.dtype) for t in checkpoint.tensors] == [
        ("emb", (7, 3), "float32"),
        ("double", (7, 3), "float64"),
    ]
    assert checkpoint.read("emb").tolist() == checkpoint.read("double").tolist() == MATRIX.tolist()
    (tmp_path / "short.safetensors").write_bytes(safetensors(header, data[:-8]))
    with pytest.raises(CheckpointError, match="The file ends 8 bytes before"):
        open_checkpoint_at(tmp_path / "short.safetensors").read("double")


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2", "<i8", "?", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path: Path, dtype: str, order: Any) -> None:
    array = np.asarray(np.abs(MATRIX).astype(dtype), order=order)
    np.save(tmp_path / "a.npy", array)
    checkpoint = open_checkpoint_at(tmp_path / "a.npy")
    assert checkpoint.tensors[0].shape == (7, 3)
    assert checkpoint.read("a.npy").tolist() == array.astype(np.float32).tolist()
    assert checkpoint.read("a.npy", rows=2).tolist() == array[:2].astype(np.float32).tolist()


@pytest.mark.parametrize("compressed", [False, True])
def test_npz_with_texts(tmp_path: Path, compressed: bool) -> None:
    (np.savez_compressed if compressed else np.savez)(
        tmp_path / "a.npz",
        x=MATRIX,
        y=np.arange(7),
        names=np.array(["a", "bé", "", "d", "e", "f", "g"]),
        o=np.array({}),
    )
    checkpoint = open_checkpoint_at(tmp_path / "a.npz")
    assert [t.name for t in checkpoint.tensors] == ["x", "y"]
    assert checkpoint.read("x").tolist() == MATRIX.tolist()
    assert isinstance(checkpoint, NumpyArchive)
    assert checkpoint.text_columns == {"names": 7}
    assert checkpoint.read_texts("names") == ["a", "bé", "", "d", "e", "f", "g"]


def test_arrays_of_objects_are_never_read(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([Evil()], object), allow_pickle=True)
    with pytest.raises(
        CheckpointError, match="holds Python objects, which can only be read by executing code from the file"
    ):
        open_checkpoint_at(tmp_path / "o.npy")
    np.save(tmp_path / "c.npy", MATRIX.astype(complex))
    with pytest.raises(CheckpointError, match="expected real numbers"):
        open_checkpoint_at(tmp_path / "c.npy")


def test_a_tensor_too_large_to_be_read_is_said(tmp_path: Path) -> None:
    header = np.lib.format.magic(1, 0)
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }".ljust(117) + b"\n"
    (tmp_path / "large.npy").write_bytes(header + struct.pack("<H", len(text)) + text)
    with pytest.raises(CheckpointError, match="has 1,000,000,000,000 numbers"):
        open_checkpoint_at(tmp_path / "large.npy").read("large.npy")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(CheckpointError, match=r"text\.pt is not a supported weight file\. Expected a"):
        open_checkpoint_at(tmp_path / "text.pt")
    with zipfile.ZipFile(tmp_path / "empty.pt", "w") as archive:
        archive.writestr("readme", "")
    with pytest.raises(CheckpointError, match=r"empty\.pt is a ZIP archive without weights"):
        open_checkpoint_at(tmp_path / "empty.pt")
    with pytest.raises(CheckpointError, match="does not exist"):
        open_checkpoint_at(tmp_path / "gone.pt")
