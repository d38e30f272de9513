from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from PIL import Image

from stepscope.summary import SummaryWriter
from stepscope.summary.embedding import embedding
from stepscope.summary.proto.projector_pb2 import ProjectorConfig

POINTS = np.array([[1.0, 0.1], [-2.5, np.nan]], np.float32)


def config(folder: Path) -> ProjectorConfig:
    return text_format.Parse((folder / "projector_config.pbtxt").read_text(), ProjectorConfig())


def files(folder: Path) -> dict[str, bytes]:
    """Everything below the folder except event files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "tfevents" not in path.name
    }


def test_an_embedding_with_labels(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(POINTS, ["a\tb", "c\nd"])
    assert files(tmp_path) == {
        "00000/default/tensors.tsv": b"1.0\t0.1\n-2.5\tnan\n",
        "00000/default/metadata.tsv": b"a b\nc d\n",
        "projector_config.pbtxt": (
            b'embeddings {\n  tensor_name: "default:00000"\n  metadata_path: "00000/default/metadata.tsv"\n'
            b'  tensor_shape: 2\n  tensor_shape: 2\n  tensor_path: "00000/default/tensors.tsv"\n}\n'
        ),
    }


@pytest.mark.parametrize(
    ("metadata", "header", "written"),
    [
        ([1, "ä"], None, "1\nä\n"),
        (np.array([3, 4]), None, "3\n4\n"),
        ([["a", 1], ("b", 2)], ["name", "n"], "name\tn\na\t1\nb\t2\n"),
        ([["a"], ["b"]], ["name"], "a\nb\n"),
    ],
)
def test_labels(metadata: Any, header: Any, written: str) -> None:
    encoded = embedding("e", POINTS, 3, metadata, None, header)
    assert encoded.files["00003/e/metadata.tsv"].decode() == written


def test_raw_numbers() -> None:
    encoded = embedding("e", [[1, 2, 3]], 0, tensor_format="float32")
    assert encoded.files == {"00000/e/tensors.bytes": np.array([1, 2, 3], "<f4").tobytes()}
    assert encoded.info.tensor_path == "00000/e/tensors.bytes"
    assert list(encoded.info.tensor_shape) == [1, 3]


def test_booleans_are_numbers() -> None:
    encoded = embedding("e", [[True, False]], 0)
    assert encoded.files == {"00000/e/tensors.tsv": b"1\t0\n"}


def test_pictures_are_a_square_grid() -> None:
    pictures = np.array([10, 20, 30], np.uint8).reshape(3, 1, 1, 1) * np.ones((1, 1, 1, 2), np.uint8)
    encoded = embedding("e", np.zeros((3, 2)), 0, label_img=pictures)
    sprite = np.asarray(Image.open(BytesIO(encoded.files["00000/e/sprite.png"])))
    assert sprite.tolist() == [[10, 10, 20, 20], [30, 30, 0, 0]]
    assert encoded.info.sprite.image_path == "00000/e/sprite.png"
    assert encoded.info.sprite.single_image_dim == [2, 1]


def test_what_the_configuration_has_stays(tmp_path: Path) -> None:
    (tmp_path / "projector_config.pbtxt").write_text(
        '# mine\nmodel_checkpoint_path: "model.ckpt"\nembeddings { tensor_name: "theirs" bookmarks_path: "b.json" }\n'
    )
    for values in ([[1.0]], [[2.0, 3.0]]):
        with SummaryWriter(tmp_path) as writer:
            writer.add_embedding(values, tag="a/b", global_step=7)
    read = config(tmp_path)
    assert read.model_checkpoint_path == "model.ckpt"
    assert [(info.tensor_name, info.bookmarks_path, list(info.tensor_shape)) for info in read.embeddings] == [
        ("theirs", "b.json", []),
        ("a/b:00007", "", [1, 2]),
    ]
    assert read.embeddings[1].tensor_path == "00007/a%2fb/tensors.tsv"
    assert files(tmp_path)["00007/a%2fb/tensors.tsv"] == b"2.0\t3.0\n"


def test_several_threads_lose_no_entry(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: writer.add_embedding([[n]], tag=str(n)), range(20)))
    assert sorted(info.tensor_name for info in config(tmp_path).embeddings) == sorted(f"{n}:00000" for n in range(20))


@pytest.mark.parametrize("broken", [b"embeddings {", b"unknown_field: 3", b"\xff"])
def test_a_configuration_that_cannot_be_read_is_left_alone(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "projector_config.pbtxt").write_bytes(broken)
    with (
        SummaryWriter(tmp_path) as writer,
        pytest.raises(
            ValueError, match=r"projector_config.pbtxt must be a projector configuration; correct it or move"
        ),
    ):
        writer.add_embedding([[1.0]])
    assert files(tmp_path) == {"projector_config.pbtxt": broken}


@pytest.mark.parametrize("tag", ["..", ".", "a\\b%c/d", "ä" * 5000, "nul\0", "../../x"])
def test_odd_tags_stay_in_the_folder(tmp_path: Path, tag: str) -> None:
    inner = tmp_path / "run"
    with SummaryWriter(inner) as writer:
        writer.add_embedding([[1.0]], tag=tag)
    (info,) = config(inner).embeddings
    assert info.tensor_name == f"{tag}:00000"
    assert len(Path(info.tensor_path).parts) == 3
    assert (inner / info.tensor_path).read_bytes() == b"1.0\n"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0],), ValueError, r"\[points, dimensions\], got \(1,\)"),
        ((np.zeros((0, 3)),), ValueError, r"got \(0, 3\)"),
        (([["a"]],), TypeError, "must be real numbers"),
        (([[1.0]], ["a", "b"]), ValueError, "one label per point, got 2 for 1 point"),
        (([[1.0]], [["a"]], None, 0, "t", ["x", "y"]), ValueError, r"each of \['x', 'y'\], got \['a'\]"),
        (([[1.0]], None, np.zeros((2, 3, 4, 4))), ValueError, "one image per point, got 2 for 1 point"),
        (([[1.0]], None, np.zeros((3, 4, 4))), ValueError, r"4 axes for 'NCHW', got shape \(3, 4, 4\)"),
        (([[1.0]], None, np.zeros((1, 1, 1, 8193))), ValueError, "8192 x 8192 pixels together, got 1 x 1 of 8193 x 1"),
        (([[1.0]], None, None, np.nan), ValueError, "a step must be a whole number"),
    ],
)
def test_embeddings_refuse(tmp_path: Path, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(error, match=message):
        writer.add_embedding(*arguments)
    assert files(tmp_path) == {}
