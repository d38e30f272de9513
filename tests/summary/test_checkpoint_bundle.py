from pathlib import Path

import numpy as np
import pytest

from stepscope.summary.checkpoints.base import CheckpointError
from stepscope.summary.checkpoints.dispatch import open_checkpoint_at
from stepscope.summary.checkpoints.ordered_code import slice_key
from tests.summary.bundles import Bundle, of_arrays, slices_file, table

MATRIX = np.arange(21, dtype=np.float32).reshape(7, 3) / 8


def test_tensors_of_several_types_and_blocks(tmp_path: Path) -> None:
    bundle = Bundle()
    for name, dtype in {"a/double": "f8", "a/half": "f2", "a/long": "i8", "a/single": "f4", "b": "f4"}.items():
        bundle.add(name.encode(), MATRIX.astype(dtype))
    bfloat16 = (MATRIX.view(np.uint32) >> 16).astype(np.uint16)
    bundle.add(b"c/bfloat16", bfloat16, dtype="DT_BFLOAT16")
    bundle.add(b"d/text", np.zeros(3, np.uint8), dtype="DT_STRING")
    bundle.write(tmp_path / "ckpt-3")
    checkpoint = open_checkpoint_at(tmp_path / "ckpt-3.index")
    assert [(t.name, t.shape, t.dtype) for t in checkpoint.tensors] == [
        ("a/double", (7, 3), "float64"),
        ("a/half", (7, 3), "float16"),
        ("a/long", (7, 3), "int64"),
        ("a/single", (7, 3), "float32"),
        ("b", (7, 3), "float32"),
        ("c/bfloat16", (7, 3), "bfloat16"),
    ]
    for tensor in checkpoint.tensors:
        expected = np.trunc(MATRIX) if tensor.name == "a/long" else MATRIX
        assert checkpoint.read(tensor.name).tolist() == expected.tolist(), tensor.name
        assert checkpoint.read(tensor.name, rows=2).tolist() == expected[:2].tolist(), tensor.name


@pytest.mark.parametrize("name", ["ckpt", "ckpt.index", "ckpt.data-00001-of-00002"])
def test_any_of_its_files_names_a_checkpoint(tmp_path: Path, name: str) -> None:
    bundle = Bundle(shards=2, big_endian=True)
    bundle.add(b"x", MATRIX, shard=1)
    bundle.write(tmp_path / "ckpt")
    assert open_checkpoint_at(tmp_path / name).read("x").tolist() == MATRIX.tolist()


def test_a_partitioned_variable_is_put_together(tmp_path: Path) -> None:
    rows = np.arange(600, dtype=np.float32).reshape(300, 2)
    bundle = Bundle(shards=3)
    bundle.add_in_pieces("part/w", rows, [100, 250, 300])
    bundle.write(tmp_path / "ckpt")
    checkpoint = open_checkpoint_at(tmp_path / "ckpt.index")
    assert [t.name for t in checkpoint.tensors] == ["part/w"]
    assert checkpoint.read("part/w").tolist() == rows.tolist()
    assert checkpoint.read("part/w", rows=101).tolist() == rows[:101].tolist()


def test_the_keys_of_pieces_are_as_tensorflow_has_them() -> None:
    # As TensorFlow 2.20 wrote them for a variable p/w of shape [300, 2] in three parts.
    assert slice_key("p/w", [(0, 100), (0, 2)]) == b"\x00p/w\x00\x01\x01\x02\x80\xc0d\x80\x82"
    assert slice_key("p/w", [(200, 100), (0, 2)]) == b"\x00p/w\x00\x01\x01\x02\xc0\xc8\xc0d\x80\x82"


def test_keys_of_pieces_with_what_is_rare() -> None:
    # By the rules of ordered_code.cc: NUL is escaped, -1 takes one byte, and large numbers follow their length.
    assert slice_key("w", [(0, -1)]) == b"\x00w\x00\x01\x01\x01\x80\x7f"
    assert slice_key("\0", []) == b"\x00\x00\xff\x00\x01\x00"
    assert slice_key("a", [(1 << 40, 8192)]) == b"\x00a\x00\x01\x01\x01\xfd\x00\x00\x00\x00\x00\xe0\x20\x00"


def test_damage_is_found_by_checksums(tmp_path: Path) -> None:
    of_arrays(x=MATRIX, y=MATRIX).write(tmp_path / "ckpt")
    data = tmp_path / "ckpt.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[5] ^= 1
    data.write_bytes(content)
    checkpoint = open_checkpoint_at(tmp_path / "ckpt.index")
    with pytest.raises(CheckpointError, match="its checksum does not match"):
        checkpoint.read("x")
    assert checkpoint.read("y").tolist() == MATRIX.tolist()
    index = tmp_path / "ckpt.index"
    content = bytearray(index.read_bytes())
    content[3] ^= 1
    index.write_bytes(content)
    with pytest.raises(CheckpointError, match="The block at 0 is damaged"):
        open_checkpoint_at(index)


def test_what_is_missing_or_not_read_is_said(tmp_path: Path) -> None:
    of_arrays(x=MATRIX).write(tmp_path / "ckpt")
    checkpoint = open_checkpoint_at(tmp_path / "ckpt.index")
    with pytest.raises(CheckpointError, match="There is no tensor 'z'"):
        checkpoint.read("z")
    data = tmp_path / "ckpt.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-10])
    with pytest.raises(CheckpointError, match="The file ends 10 bytes before the tensor's end"):
        checkpoint.read("x")
    data.unlink()
    with pytest.raises(CheckpointError, match="does not exist"):
        checkpoint.read("x")
    (tmp_path / "snappy.index").write_bytes(table([(b"", b"")], compression=1))
    with pytest.raises(CheckpointError, match="compressed with Snappy, which is not supported"):
        open_checkpoint_at(tmp_path / "snappy.index")


def test_a_missing_piece_is_said(tmp_path: Path) -> None:
    bundle = Bundle()
    bundle.add_in_pieces("w", MATRIX, [3, 7])
    del bundle.entries[slice_key("w", [(3, 4), (0, -1)])]
    bundle.write(tmp_path / "ckpt")
    with pytest.raises(CheckpointError, match="one of its pieces is missing"):
        open_checkpoint_at(tmp_path / "ckpt.index").read("w")


def test_a_checkpoint_of_the_first_version_is_one_file(tmp_path: Path) -> None:
    arrays = {name: MATRIX.astype(name) for name in ("float16", "float32", "float64", "int64")}
    arrays |= {"bool": MATRIX > 1, "scalar": np.full((), 3.5, np.float32), "parts": MATRIX * 2}
    path = tmp_path / "model.ckpt-7"
    path.write_bytes(slices_file(arrays, {"parts": [2, 6, 7]}))
    checkpoint = open_checkpoint_at(path)
    assert [(t.name, t.shape, t.dtype) for t in checkpoint.tensors] == sorted(
        (name, array.shape, array.dtype.name) for name, array in arrays.items()
    )
    for name, array in arrays.items():
        assert checkpoint.read(name).tolist() == array.astype(np.float32).tolist(), name
    assert checkpoint.read("parts", rows=3).tolist() == (MATRIX[:3] * 2).tolist()


def test_damage_of_a_checkpoint_of_the_first_version_is_said(tmp_path: Path) -> None:
    path = tmp_path / "model.ckpt"
    path.write_bytes(table([(b"a", b"b")]))
    with pytest.raises(
        CheckpointError, match="a table without a list of tensors, so it is not a TensorFlow checkpoint"
    ):
        open_checkpoint_at(path)
    content = slices_file({"a": MATRIX, "b": MATRIX})
    # The piece of "b" has a different name in the table than in the list.
    path.write_bytes(slices_file({"a": MATRIX})[:-48] + content[-48:])
    with pytest.raises(CheckpointError):
        open_checkpoint_at(path).read("a")
    path.write_bytes(table([(b"", b"\x0a\x0f\x0a\x0d\x0a\x01a\x12\x04\x12\x02\x08\x02\x18\x01\x22\x00")]))
    with pytest.raises(CheckpointError, match="one of its pieces has a different number of dimensions"):
        open_checkpoint_at(path).read("a")
