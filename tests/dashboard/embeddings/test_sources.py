"""The listing of embeddings in a log directory, and the data read from them."""

import threading
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from stepscope.dashboard.embeddings.dataset import Dataset
from stepscope.dashboard.embeddings.file_listing import MOST_SERIES, unlisted_series
from stepscope.dashboard.embeddings.listing import (
    EMBEDDING_PATTERNS,
    EmbeddingCache,
    EmbeddingSource,
    EmbeddingUnavailableError,
    embedding_sources,
    find_embedding_source,
    has_embeddings,
    open_dataset,
)
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from stepscope.summary.projector import CONFIG_PATTERN
from stepscope.summary.snapshot import EMPTY_SNAPSHOT, Snapshot
from tests.summary.bundles import of_arrays, slices_file

POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)
KERAS_NAME = "layer_with_weights-0/embeddings/.ATTRIBUTES/VARIABLE_VALUE"


def snapshot_of(path: Path) -> Snapshot:
    return Logdir(path, companion_patterns=(CONFIG_PATTERN, *EMBEDDING_PATTERNS)).update()


def listed(path: Path) -> list[tuple[object, ...]]:
    sources = embedding_sources(snapshot_of(path))
    return [(s.id, s.label, s.kind, s.steps, s.shape) for s in sources]


def read(path: Path, embedding_id: str, step: int | None = None) -> Dataset:
    return open_dataset(find_embedding_source(snapshot_of(path), embedding_id), step)


def write_config(folder: Path, *embeddings: str, beside: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = "\n".join(f"embeddings {{ {fields} }}" for fields in embeddings)
    (folder / CONFIG_PATTERN).write_text(f"{beside}\n{content}")


def keras_file(path: Path, *layers: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for place, layer in enumerate(layers):
            name = "embedding" if place == 0 else f"embedding_{place}"
            file[f"layers/{name}/vars/0"] = layer
            file[f"layers/{name}/vars"].attrs["name"] = f"words {place}"
        file["optimizer/vars/1"] = layers[0]


def test_nothing_comes_of_nothing(tmp_path: Path) -> None:
    assert not has_embeddings(EMPTY_SNAPSHOT)
    assert embedding_sources(EMPTY_SNAPSHOT) == ()
    with pytest.raises(EmbeddingUnavailableError, match=r"There is no embedding 'a\|config\|b' in the log"):
        find_embedding_source(EMPTY_SNAPSHOT, "a|config|b")


def test_steps_in_names_make_one_embedding(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "run")) as writer:
        for step in (20, 10):
            writer.add_embedding(POINTS + step, ["a", "b", "c", "d"], np.zeros((4, 3, 2, 2)), step, "words")
        writer.add_embedding(POINTS, None, None, 5, "other", tensor_format="float32")
    assert has_embeddings(snapshot_of(tmp_path))
    assert listed(tmp_path) == [
        ("run|config|words", "words", "config", (10, 20), (4, 3)),
        ("run|config|other", "other", "config", (5,), (4, 3)),
    ]
    dataset = read(tmp_path, "run|config|words", 10)
    assert (dataset.step, dataset.run, dataset.label) == (10, "run", "words")
    assert dataset.points.tolist() == (POINTS + 10).tolist()
    assert [(c.name, c.texts) for c in dataset.columns] == [("label", ("a", "b", "c", "d"))]
    assert dataset.sprite is not None
    assert (dataset.sprite.width, dataset.sprite.height, dataset.sprite.across) == (2, 2, 2)
    assert dataset.problems == ()
    assert read(tmp_path, "run|config|words").step == 20
    assert read(tmp_path, "run|config|other").points.tolist() == POINTS.tolist()
    with pytest.raises(EmbeddingUnavailableError, match="has no step 15"):
        read(tmp_path, "run|config|words", 15)


def test_a_name_that_only_looks_like_a_step_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("1\t2\n")
    write_config(tmp_path, *(f'tensor_name: "{name}" tensor_path: "p.tsv"' for name in ("w", "w:00001", "x:12", "y:0")))
    assert [entry[0] for entry in listed(tmp_path)] == [".|config|w", ".|config|w:00001", ".|config|x:12", ".|config|y"]


def test_tensors_of_two_dimensions_are_embeddings_over_steps(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "run")) as writer:
        for step in (1, 2, 3):
            writer.add_tensor("matrix", POINTS * step, step)
            writer.add_tensor("vector", POINTS[0], step)
            writer.add_tensor("complex", POINTS.astype(complex), step)
        writer.add_tensor("matrix", POINTS[0], 4)
    assert listed(tmp_path) == [("run|tensor|matrix", "matrix", "tensor", (1, 2, 3, 4), (4, 3))]
    assert read(tmp_path, "run|tensor|matrix", 2).points.tolist() == (POINTS * 2).tolist()
    with pytest.raises(EmbeddingUnavailableError, match=r"has the shape \[3\] of float32 at step 4"):
        read(tmp_path, "run|tensor|matrix")


def test_checkpoints_by_step_are_one_embedding(tmp_path: Path) -> None:
    for step in (2, 10, 9):
        of_arrays(emb=POINTS * step, bias=POINTS[0]).write(tmp_path / f"ckpt-{step}")
    np.save(tmp_path / "points.npy", POINTS)
    (tmp_path / "checkpoint-500").mkdir()
    np.save(tmp_path / "checkpoint-500" / "w.npy", POINTS)
    (tmp_path / "no weights.pt").write_text("hello")
    np.save(tmp_path / "vector.npy", POINTS[0])
    assert listed(tmp_path) == [
        (".|file|checkpoint-*/w.npy|w.npy", "w.npy", "checkpoint", (500,), (4, 3)),
        (".|file|ckpt-*.index|emb", "emb (ckpt-*.index)", "checkpoint", (2, 9, 10), (4, 3)),
        (".|file|points.npy|points.npy", "points.npy", "checkpoint", (), (4, 3)),
    ]
    assert read(tmp_path, ".|file|ckpt-*.index|emb").points.tolist() == (POINTS * 10).tolist()
    assert read(tmp_path, ".|file|ckpt-*.index|emb", 2).points.tolist() == (POINTS * 2).tolist()


def test_a_damaged_checkpoint_is_said_and_one_that_is_still_written_waits(tmp_path: Path) -> None:
    (tmp_path / "broken.pt").write_bytes(b"PK\x03\x04")
    of_arrays(emb=POINTS).write(tmp_path / "ckpt-1")
    (tmp_path / "ckpt-2.index").write_bytes((tmp_path / "ckpt-1.index").read_bytes()[20:])
    broken, written = embedding_sources(snapshot_of(tmp_path))
    assert (broken.id, broken.label) == (".|file|broken.pt|", "broken.pt")
    with pytest.raises(EmbeddingUnavailableError, match=r"broken\.pt cannot be read"):
        open_dataset(broken)
    assert (written.id, written.steps) == (".|file|ckpt-*.index|emb", (1, 2))
    assert open_dataset(written, 1).points.tolist() == POINTS.tolist()
    with pytest.raises(EmbeddingUnavailableError, match=r"The block at 0 is damaged|names a block"):
        open_dataset(written)


def test_too_many_checkpoints_are_counted(tmp_path: Path) -> None:
    for letter in range(MOST_SERIES + 2):
        np.save(tmp_path / f"{chr(200 + letter)}.npy", POINTS)
    assert len(embedding_sources(snapshot_of(tmp_path))) == MOST_SERIES
    assert unlisted_series(snapshot_of(tmp_path)) == 2


def test_the_embeddings_of_keras_callback(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("a\nb\nc\nd\n")
    entry = f'tensor_name: "{KERAS_NAME}" metadata_path: "words.tsv"'
    write_config(tmp_path, entry, f'tensor_name: "{KERAS_NAME}"')
    for epoch in (0, 1):
        keras_file(tmp_path / "train" / f"keras_embedding.ckpt-{epoch}.weights.h5", POINTS + epoch, POINTS[:2] - epoch)
    assert listed(tmp_path)[:2] == [
        (f".|config|{KERAS_NAME}", "layers/words 0/0", "config", (0, 1), (4, 3)),
        (f".|config|{KERAS_NAME} (2)", "layers/words 1/0", "config", (0, 1), (2, 3)),
    ]
    first = read(tmp_path, f".|config|{KERAS_NAME}", 0)
    assert (first.points.tolist(), first.columns[0].texts) == (POINTS.tolist(), ("a", "b", "c", "d"))
    assert read(tmp_path, f".|config|{KERAS_NAME} (2)").points.tolist() == (POINTS[:2] - 1).tolist()


@pytest.mark.parametrize(
    "beside",
    [
        'model_checkpoint_path: "below/ckpt-7"',
        'model_checkpoint_dir: "below"',
        'model_checkpoint_dir: "{logdir}/below"',
    ],
)
def test_a_configuration_that_names_a_checkpoint(tmp_path: Path, beside: str) -> None:
    (tmp_path / "below").mkdir()
    of_arrays(emb=POINTS, other=POINTS + 1, bias=POINTS[0]).write(tmp_path / "below" / "ckpt-7")
    beside = beside.format(logdir=tmp_path)
    write_config(tmp_path, 'tensor_name: "other:0"', 'tensor_name: "gone"', beside=beside)
    assert [entry for entry in listed(tmp_path) if entry[2] == "config"] == [
        (".|config|other", "other", "config", (7,), (4, 3)),
        (".|config|gone", "gone", "config", (7,), None),
    ]
    assert read(tmp_path, ".|config|other").points.tolist() == (POINTS + 1).tolist()
    with pytest.raises(EmbeddingUnavailableError, match=r"has no matrix 'gone'; it has emb, other"):
        read(tmp_path, ".|config|gone")
    write_config(tmp_path, beside=beside)
    assert [entry[0] for entry in listed(tmp_path) if entry[2] == "config"] == [".|config|emb", ".|config|other"]


@pytest.mark.parametrize("path", ["../secret", "{outside}/secret", "link", "folder/secret"])
def test_no_path_leads_out_of_the_log_directory(tmp_path: Path, path: str) -> None:
    logdir = tmp_path / "logs"
    logdir.mkdir()
    of_arrays(x=POINTS).write(tmp_path / "secret")
    np.save(tmp_path / "secret.npy", POINTS)
    for ending in (".index", ".data-00000-of-00001", ".npy"):
        (logdir / f"link{ending}").symlink_to(tmp_path / f"secret{ending}")
    (logdir / "folder").symlink_to(tmp_path)
    write_config(logdir, 'tensor_name: "x"', beside=f'model_checkpoint_path: "{path.format(outside=tmp_path)}"')
    with pytest.raises(EmbeddingUnavailableError, match=r"lies outside the log directory|There is no file 'link'"):
        read(logdir, ".|config|x")
    for name in ("link.index", "link.npy"):
        with pytest.raises(EmbeddingUnavailableError, match="lies outside the log directory"):
            read(logdir, f".|file|{name}|")


def test_bad_files_beside_points_are_said_and_the_points_are_shown(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("1\t2\n3\n5\tnan\n7\t8\n0\t0\n")
    (tmp_path / "m.tsv").write_text("a\nb\nc\n")
    (tmp_path / "s.png").write_text("no picture")
    fields = 'bookmarks_path: "gone.json" metadata_path: "m.tsv" sprite { image_path: "s.png" single_image_dim: 2 }'
    write_config(tmp_path, f'tensor_name: "e" tensor_path: "p.tsv" tensor_shape: 9 tensor_shape: 2 {fields}')
    dataset = read(tmp_path, ".|config|e")
    assert dataset.points.tolist() == [[1, 2], [7, 8], [0, 0]]
    assert dataset.rows.tolist() == [0, 3, 4]
    assert dataset.columns[0].texts == ("a", "", "")
    assert [(p.kind, p.count) for p in dataset.problems] == [
        ("unequal rows", 1),
        ("shape", 1),
        ("metadata length", 2),
        ("sprite", 1),
        ("bookmarks", 1),
        ("not finite", 1),
    ]
    (tmp_path / "p.tsv").write_text("words\n")
    with pytest.raises(EmbeddingUnavailableError, match=r"'p\.tsv' has neither lines of numbers"):
        read(tmp_path, ".|config|e")
    (tmp_path / "p.tsv").unlink()
    with pytest.raises(EmbeddingUnavailableError, match=r"There is no file 'p\.tsv'"):
        read(tmp_path, ".|config|e")


def test_a_file_of_raw_floats_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "p.bytes").write_bytes(POINTS.tobytes()[:-5])
    write_config(tmp_path, 'tensor_name: "e" tensor_path: "p.bytes" tensor_shape: 4 tensor_shape: 3')
    dataset = read(tmp_path, ".|config|e")
    assert dataset.points.tolist() == POINTS[:3].tolist()
    said = "The configuration says that there are 4 points of 3 dimensions; the file has 3 of 3."
    assert [(p.kind, p.message) for p in dataset.problems] == [("shape", said)]
    (tmp_path / "p.bytes").write_bytes(POINTS.tobytes()[:11])
    with pytest.raises(EmbeddingUnavailableError, match=r"nor raw float32 of shape \[4, 3\]"):
        read(tmp_path, ".|config|e")
    # Under another file name, it is damaged text.
    (tmp_path / "p.tsv").write_bytes(POINTS.tobytes()[:-5])
    write_config(tmp_path, 'tensor_name: "e" tensor_path: "p.tsv" tensor_shape: 4 tensor_shape: 3')
    with pytest.raises(EmbeddingUnavailableError, match=r"nor raw float32 of shape \[4, 3\]"):
        read(tmp_path, ".|config|e")


def test_an_empty_configuration_is_no_embedding(tmp_path: Path) -> None:
    # Keras writes one whenever it is given no embeddings.
    (tmp_path / CONFIG_PATTERN).touch()
    assert not has_embeddings(snapshot_of(tmp_path))
    (tmp_path / CONFIG_PATTERN).write_text("embeddings {")
    assert has_embeddings(snapshot_of(tmp_path))


def test_a_checkpoint_of_the_first_version_is_shown_with_all_its_matrices(tmp_path: Path) -> None:
    arrays = {"emb": POINTS, "other": POINTS * 2, "w/.OPTIMIZER_SLOT/m": POINTS, "flat": POINTS[0]}
    (tmp_path / "model.ckpt-7").write_bytes(slices_file(arrays))
    write_config(tmp_path, 'tensor_name: "emb:0"', beside='model_checkpoint_path: "model.ckpt-7"')
    assert [entry[0] for entry in listed(tmp_path)] == [".|config|emb", ".|config|other"]
    assert read(tmp_path, ".|config|other").points.tolist() == (POINTS * 2).tolist()


def test_a_configuration_that_cannot_be_read_is_listed_and_says_why(tmp_path: Path) -> None:
    (tmp_path / CONFIG_PATTERN).write_text("embeddings {")
    (source,) = embedding_sources(snapshot_of(tmp_path))
    assert source.id == ".|config|"
    with pytest.raises(EmbeddingUnavailableError, match="is not a readable projector configuration"):
        open_dataset(source)


def counting(opened: list[int | None]) -> Callable[[EmbeddingSource, int | None], Dataset]:
    def open_one(source: EmbeddingSource, step: int | None) -> Dataset:
        opened.append(step)
        return open_dataset(source, step)

    return open_one


def test_the_cache_reads_each_step_once_and_what_changed_anew(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("1\t2\n")
    write_config(tmp_path, *(f'tensor_name: "e:0000{step}" tensor_path: "p.tsv"' for step in (1, 2)))
    opened: list[int | None] = []
    cache = EmbeddingCache(open_one=counting(opened))
    snapshot = snapshot_of(tmp_path)
    source = cache.find(snapshot, ".|config|e")
    assert cache.sources(snapshot) == (source,)
    assert cache.peek(source) is None
    first = cache.get(source)
    assert cache.get(source, 2) is cache.get(source) is cache.peek(source) is first
    cache.get(source, 1)
    assert opened == [2, 1]
    (tmp_path / "p.tsv").write_text("1\t2\n3\t4\n")
    assert len(cache.get(source).points) == 2
    (tmp_path / "p.tsv").unlink()
    for _ in range(2):
        with pytest.raises(EmbeddingUnavailableError, match="There is no file"):
            cache.get(source)
    assert opened == [2, 1, 2, 2]


def test_a_dataset_that_many_ask_for_is_read_once(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    opened: list[int | None] = []
    cache = EmbeddingCache(open_one=counting(opened))
    source = cache.find(snapshot_of(tmp_path), ".|file|p.npy|p.npy")
    threads = [threading.Thread(target=cache.get, args=(source,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == [None]
