import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.embeddings.file_listing import sources_of_file
from stepscope.dashboard.embeddings.listing import EmbeddingCache, EmbeddingSource, open_dataset
from stepscope.dashboard.embeddings.source import FileOrigin
from stepscope.dashboard.embeddings.uploads import Uploads
from stepscope.dashboard.server.dropped_files import NoRoomError, UploadError
from stepscope.summary.snapshot import EMPTY_SNAPSHOT

POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)


def npy(points: np.ndarray = POINTS) -> bytes:
    stream = io.BytesIO()
    np.save(stream, points)
    return stream.getvalue()


def dropped(uploads: Uploads, name: str, content: bytes) -> tuple[EmbeddingSource, ...]:
    upload = uploads.begin(name)
    for begin in range(0, len(content), 50):
        upload.write(content[begin : begin + 50])
    return upload.finish()


def path_of(source: EmbeddingSource) -> Path:
    assert isinstance(source.origin, FileOrigin)
    return Path(source.origin.files[0][1].path)


def test_a_dropped_file_is_an_embedding() -> None:
    uploads = Uploads()
    (source,) = dropped(uploads, "/home/me/points.npy", npy())
    assert (source.id, source.kind, source.label, source.shape) == (
        "|dropped|points.npy",
        "dropped",
        "points.npy",
        (4, 3),
    )
    assert open_dataset(source).points.tolist() == POINTS.tolist()
    (again,) = dropped(uploads, "points.npy", npy(POINTS + 1))
    assert again.id == "|dropped|points (2).npy"
    assert uploads.sources() == (again, source)
    cache = EmbeddingCache()
    assert cache.find(EMPTY_SNAPSHOT, source.id, uploads.sources()) == source
    assert cache.get(again).points.tolist() == (POINTS + 1).tolist()
    uploads.remove(source.id)
    assert not path_of(source).exists()
    folder = path_of(again).parent.parent
    uploads.close()
    assert not folder.exists()
    assert uploads.sources() == ()


def test_each_matrix_of_a_file_is_an_embedding() -> None:
    stream = io.BytesIO()
    np.savez(stream, a=POINTS, b=POINTS[:2], labels=np.arange(4))
    uploads = Uploads()
    sources = dropped(uploads, "all.npz", stream.getvalue())
    assert [source.id for source in sources] == ["|dropped|all.npz|a", "|dropped|all.npz|b"]
    assert [(c.name, c.categories) for c in open_dataset(sources[0]).columns] == [("labels", ("0", "1", "2", "3"))]
    uploads.close()


def test_metadata_and_a_sprite_are_added() -> None:
    uploads = Uploads()
    (source,) = dropped(uploads, "p.tsv", b"1\t2\n3\t4\n")
    for _ in range(2):
        upload = uploads.begin_metadata(source.id, "m.csv")
        upload.write(b"name\na\nb\n")
        (source,) = upload.finish()
    upload = uploads.begin_sprite(source.id, "s.png", (2, 2))
    upload.write(b"no picture")
    (source,) = upload.finish()
    dataset = open_dataset(source)
    assert [(c.name, c.texts) for c in dataset.columns] == [("name", ("a", "b"))]
    assert "sprite" in [problem.kind for problem in dataset.problems]
    assert (
        len([path for path in path_of(source).parent.parent.rglob("*") if path.is_file() and path.name != ".lock"]) == 3
    )
    with pytest.raises(UploadError, match="There is no dropped file"):
        uploads.begin_metadata("|dropped|gone", "m.csv")
    uploads.close()


def test_what_cannot_be_taken_is_said_and_gone() -> None:
    uploads = Uploads(largest=1000)
    with pytest.raises(UploadError, match=r"The file is larger than 1 kB, the limit for dropped files\."):
        dropped(uploads, "large.npy", bytes(1001))
    with pytest.raises(UploadError, match=r"text\.pt is not a supported weight file\..* Drop a TensorFlow"):
        dropped(uploads, "text.pt", b"hello")
    upload = uploads.begin("p.npy")
    upload.write(b"1")
    upload.abort()
    assert uploads.sources() == ()
    (source,) = dropped(uploads, "p.npy", npy())
    assert [path for path in files_of(uploads) if path.is_file()] == [path_of(source)]
    uploads.close()


def files_of(uploads: Uploads) -> list[Path]:
    """Everything on disk, folders included."""
    assert uploads._folder is not None
    return [path for path in uploads._folder.path.rglob("*") if not path.name.startswith(".")]


def test_the_oldest_files_make_room() -> None:
    uploads = Uploads(most_files=2, most_bytes=3 * len(npy()))
    sources = [dropped(uploads, f"{name}.npy", npy())[0] for name in "abc"]
    assert uploads.sources() == (sources[2], sources[1])
    (large,) = dropped(uploads, "large.npy", npy(np.zeros((9, 9), np.float32)))
    assert uploads.sources() == (large,)
    assert files_of(uploads) == [path_of(large).parent, path_of(large)]
    uploads.close()


def test_files_on_their_way_count_and_are_not_too_many() -> None:
    uploads = Uploads(most_bytes=1000, most_arriving=3)
    (kept,) = dropped(uploads, "kept.npy", npy())
    first, second, third = (uploads.begin(f"{name}.npy") for name in "abc")
    with pytest.raises(NoRoomError, match=r"3 uploads in progress already\. Drop this file when"):
        uploads.begin("d.npy")
    first.write(bytes(500))
    assert uploads.sources() == (kept,)
    second.write(bytes(400))
    # Together they leave no room for the earlier file.
    assert uploads.sources() == ()
    assert sum(path.stat().st_size for path in files_of(uploads) if path.is_file()) == 900
    with pytest.raises(NoRoomError, match=r"Uploads in progress total 900 B; the limit is 1 kB\. Drop"):
        third.write(bytes(101))
    # That one is gone, and so are those that their senders abandon; then there is room again.
    first.abort()
    first.abort()
    second.abort()
    assert files_of(uploads) == []
    sources = [dropped(uploads, f"{name}.npy", npy())[0] for name in "ab"]
    assert uploads.sources() == tuple(reversed(sources))
    uploads.close()


def test_what_comes_in_place_of_another_counts_once() -> None:
    uploads = Uploads(most_bytes=1000)
    (source,) = dropped(uploads, "p.tsv", b"1\t2\n3\t4\n")
    for _ in range(5):
        upload = uploads.begin_metadata(source.id, "m.tsv")
        upload.write(b"a\n" + b"b" * 400)
        (source,) = upload.finish()
    assert uploads.sources() == (source,)
    uploads.close()


def test_of_two_changes_at_once_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    uploads = Uploads()
    (source,) = dropped(uploads, "p.tsv", b"1\t2\n3\t4\n")
    first, second = (uploads.begin_metadata(source.id, f"{name}.tsv") for name in "ab")
    for upload in (first, second):
        upload.write(b"x\ny\n")

    def listed(*arguments: Any) -> Iterator[EmbeddingSource]:
        # The other upload finishes while this one is examined.
        monkeypatch.undo()
        first.finish()
        return sources_of_file(*arguments)

    monkeypatch.setattr("stepscope.dashboard.embeddings.uploads.sources_of_file", listed)
    with pytest.raises(UploadError, match="The file has changed; try again"):
        second.finish()
    (kept,) = uploads.sources()
    assert isinstance(kept.origin, FileOrigin)
    assert kept.origin.about.metadata_name == "a.tsv"
    assert {path.name for path in files_of(uploads) if path.is_file()} == {"p.tsv", "a.tsv"}
    uploads.close()


@given(st.text(max_size=300))
def test_any_name_is_taken_and_stays_in_the_folder(name: str) -> None:
    uploads = Uploads()
    try:
        (source,) = dropped(uploads, name, npy())
    except UploadError:
        # Its extension marks it as a table.
        return
    finally:
        uploads.close()
    assert "/" not in path_of(source).name
    assert path_of(source).parent.name == "1"
