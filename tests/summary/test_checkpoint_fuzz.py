"""Weight readers take any bytes: they give tensors of the shapes that they list, or their one error."""

import io
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, BinaryIO

import h5py
import numpy as np
import orjson
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.summary.checkpoints.base import CheckpointError
from stepscope.summary.checkpoints.dispatch import open_checkpoint
from stepscope.summary.checkpoints.pickle_machine import described
from stepscope.summary.checkpoints.table import Table
from tests.summary.bundles import Bundle, block, slices_file

MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3)


def saved(write: Callable[[BinaryIO], Any]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def hdf5(stream: BinaryIO) -> None:
    with h5py.File(stream, "w") as file:
        file["layers/embedding/vars/0"] = MATRIX
        file.create_dataset("packed", data=MATRIX, chunks=(2, 3), compression="gzip")


def keras_archive(stream: BinaryIO) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("model.weights.h5", saved(hdf5))


def safetensors(stream: BinaryIO) -> None:
    header = orjson.dumps({"x": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]}})
    stream.write(struct.pack("<Q", len(header)) + header + MATRIX.tobytes())


@cache
def bundle() -> dict[str, bytes]:
    import tempfile
    from pathlib import Path

    made = Bundle(shards=2)
    made.add(b"a", MATRIX)
    made.add(b"abc", MATRIX, shard=1)
    made.add_in_pieces("w", MATRIX, [1, 4])
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder, "x"))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@cache
def whole(kind: str) -> dict[str, bytes]:
    """The files of a kind, by name; "x..." is the first."""
    match kind:
        case "torch":
            return {"x": saved(lambda s: torch.save({"a": torch.ones(4, 3), "b": torch.eye(3).t()}, s))}
        case "npy":
            return {"x": saved(lambda s: np.save(s, MATRIX))}
        case "npz":
            return {"x": saved(lambda s: np.savez_compressed(s, a=MATRIX, t=np.array(["ä", "b"])))}
        case "safetensors":
            return {"x": saved(safetensors)}
        case "hdf5":
            return {"x": saved(hdf5)}
        case "keras":
            return {"x": saved(keras_archive)}
        case "slices":
            return {"x": slices_file({"a": MATRIX, "w": MATRIX}, {"w": [1, 4]})}
        case _:
            return bundle()


def read_all(files: dict[str, bytes], name: str) -> None:
    def open_file(requested: str) -> BinaryIO:
        if requested not in files:
            raise FileNotFoundError(2, "no such file", requested)
        return io.BytesIO(files[requested])

    try:
        checkpoint = open_checkpoint(open_file, name)
    except CheckpointError:
        return
    for tensor in checkpoint.tensors[:20]:
        for rows in (None, 1):
            try:
                array = checkpoint.read(tensor.name, rows)
            except CheckpointError:
                continue
            first = tuple(size if rows is None else min(rows, size) for size in tensor.shape[:1])
            shape = (*first, *tensor.shape[1:])
            assert (array.shape, array.dtype.name, array.flags.c_contiguous) == (shape, "float32", True)


KINDS = ["torch", "npy", "npz", "safetensors", "hdf5", "keras", "slices", "bundle"]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150)
@given(data=st.data())
def test_changed_files_give_tensors_or_the_error(kind: str, data: st.DataObject) -> None:
    files = dict(whole(kind))
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    files[name] = bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, len(content) - 1]))])
    read_all(files, "x.index" if kind == "bundle" else "x")


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_end_anywhere_give_tensors_or_the_error(kind: str) -> None:
    for name, content in whole(kind).items():
        for end in range(0, len(content), max(1, len(content) // 60)):
            read_all({**whole(kind), name: content[:end]}, "x.index" if kind == "bundle" else "x")


@given(st.binary(max_size=400), st.sampled_from([b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"\x89HDF\r\n\x1a\n"]))
def test_any_bytes_give_tensors_or_the_error(content: bytes, head: bytes) -> None:
    read_all({"x": head + content}, "x")


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_pickle_is_described_or_refused(content: bytes) -> None:
    with suppress(CheckpointError):
        described(b"\x80\x02" + content + b".")


VALUES = st.sampled_from([b"}", b"]", b")", b"(", b"N", b"\x88", b"K\x01", b"X\x01\0\0\0a", b"q\0", b"h\0", b"ca\nb\n"])
CALLS = st.sampled_from([b"R", b"\x81", b"b", b"s", b"u", b"a", b"e", b"t", b"\x85", b"\x86", b"Q", b"0", b"1", b"2"])


@settings(max_examples=500)
@given(st.lists(VALUES | CALLS, max_size=60))
def test_any_instructions_are_carried_out_or_refused(instructions: list[bytes]) -> None:
    with suppress(CheckpointError):
        described(b"\x80\x02" + b"".join(instructions) + b".")


def test_values_that_hold_each_other_a_billion_times_are_no_burden() -> None:
    # ((((x, x), (...)) and so on: 60 levels, each of which contains the one below twice.
    nested = b"\x80\x02K\x01" + b"".join(b"q%c0h%ch%c\x86" % (i, i, i) for i in range(60)) + b"q\x7f0}h\x7fN\x73."
    described(nested)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x/data.pkl", nested)
    read_all({"x": stream.getvalue()}, "x")


def test_a_name_of_values_that_hold_each_other_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"The pickle is damaged: a name is not a string\."):
        described(b"\x80\x04)" + b"2\x86" * 16 + b"\x8c\x01x\x93.")


@given(st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9))), st.integers(1, 4))
def test_what_a_block_holds_is_read_back(entries: list[tuple[bytes, bytes]], restart_every: int) -> None:
    from stepscope.summary.checkpoints.table import _block_entries

    assert list(_block_entries(memoryview(block(entries, restart_every)[:-5]))) == entries


@given(st.binary(max_size=300))
def test_any_table_is_read_or_refused(content: bytes) -> None:
    with suppress(CheckpointError):
        list(Table(io.BytesIO(content + (0xDB4775248B80FB57).to_bytes(8, "little"))).entries())
