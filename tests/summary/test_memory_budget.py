import contextlib
import io
import json
import threading
import tracemalloc
import zipfile
from pathlib import Path

import h5py
import numpy as np
import polars as pl
import pytest
from numpy.lib.format import magic

from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.checkpoints.base import CheckpointError
from stepscope.summary.checkpoints.dispatch import open_checkpoint, open_checkpoint_at
from stepscope.summary.checkpoints.pickle_machine import described
from stepscope.summary.memory_budget import MemoryBudget, NoMemoryError, TooLargeError, claim
from stepscope.summary.proto.tensor_bundle_pb2 import BundleEntryProto
from stepscope.summary.table_sizes import declared_bytes
from stepscope.summary.vector_table_rules import VectorTableError
from stepscope.summary.vector_tables import read_vector_table
from tests.summary.bundles import table

MIB = 1 << 20
SPACES = b" " * (16 * MIB)
TABLE = pl.DataFrame({"v": [[1.0, 2.0, 3.0]] * 1000, "t": ["x"] * 1000, "n": range(1000)})


def test_what_is_claimed_counts_until_the_end_of_its_block() -> None:
    budget = MemoryBudget(100 * MIB, longest_wait=0.0)
    claim(1 << 60)  # Nothing bounds this claim.
    with budget.reading():
        claim(60 * MIB)
        claim(30 * MIB)
        assert budget.claimed == 90 * MIB
        with pytest.raises(TooLargeError, match=r"It needs about 101 MiB of memory; the limit is 100 MiB\."):
            claim(11 * MIB)
        with budget.reading(), pytest.raises(NoMemoryError, match=r"about 11 MiB of memory, but only 10 MiB is free"):
            claim(11 * MIB)
        with budget.reading():
            claim(10 * MIB)
        assert budget.claimed == 90 * MIB
    assert budget.claimed == 0


def test_a_claim_waits_for_others_to_end() -> None:
    budget = MemoryBudget(100, longest_wait=3600.0)
    begun, go_on, read = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with budget.reading():
            claim(80)
            begun.set()
            go_on.wait()

    def second() -> None:
        with budget.reading():
            begun.wait()
            claim(30)
            assert budget.claimed == 30
            read.set()

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    begun.wait()
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellable(cancellation), budget.reading(), pytest.raises(Cancelled):
        claim(30)
    assert not read.is_set()
    go_on.set()
    for thread in threads:
        thread.join()
    assert read.is_set()
    assert budget.claimed == 0


def written(frame: pl.DataFrame, method: str, compression: str) -> bytes:
    stream = io.BytesIO()
    getattr(frame, method)(stream, compression=compression)
    return stream.getvalue()


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
@pytest.mark.parametrize("method", ["write_parquet", "write_ipc", "write_ipc_stream"])
def test_tables_say_how_large_they_are(method: str, compression: str) -> None:
    content = written(TABLE, method, compression)
    # About 40 kB; each value is counted with its place.
    assert TABLE.estimated_size() < declared_bytes(content) < 5 * TABLE.estimated_size()
    ones = pl.DataFrame({"x": pl.repeat(1.0, 1_000_000, eager=True)})
    packed = written(ones, method, "zstd")
    assert len(packed) < 20_000
    assert declared_bytes(packed) >= 8_000_000
    rng = np.random.default_rng(0)
    for _ in range(1000):
        damaged = bytearray(content)
        for place in rng.integers(0, len(damaged), 3):
            damaged[place] = rng.integers(256)
        try:
            declared_bytes(bytes(damaged[: rng.integers(len(damaged))] if rng.random() < 0.3 else damaged))
        except ValueError:
            continue


def files_of_a_mebibyte(folder: Path) -> dict[str, Path]:
    """Files that each declare a mebibyte matrix of float32, however few bytes they have."""
    ones = np.ones((1024, 256), np.float32)
    np.save(folder / "a.npy", ones)
    np.save(folder / "columns.npy", np.asfortranarray(ones))
    np.savez_compressed(folder / "a.npz", a=ones)
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("a", ones.shape, np.float32, chunks=(64, 256), fillvalue=1)
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.from_numpy(ones)}, folder / "a.pt")
    torch.save({"a": torch.ones(1, 256).expand(1024, 256)}, folder / "expanded.pt")
    header = json.dumps({"a": {"dtype": "F32", "shape": ones.shape, "data_offsets": [0, ones.nbytes]}}).encode()
    (folder / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + ones.tobytes())
    return {path.name: path for path in folder.iterdir()}


def test_every_format_claims_what_it_declares_before_it_takes_it(tmp_path: Path) -> None:
    files = files_of_a_mebibyte(tmp_path)
    for name, path in files.items():
        checkpoint = open_checkpoint_at(path)
        budget = MemoryBudget(MIB - 1)
        with budget.reading(), pytest.raises(ValueError, match="It needs about"):
            checkpoint.read(checkpoint.tensors[0].name)
        budget = MemoryBudget(4 * MIB)
        with budget.reading():
            points = checkpoint.read(checkpoint.tensors[0].name)
            assert budget.claimed >= points.nbytes == MIB, name


def small_archive(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert len(stream.getvalue()) < 20_000
    return stream.getvalue()


@pytest.mark.parametrize(
    "pickle",
    [
        pytest.param(b"(" + b"\x8f" * 100_000 + b"t.", id="a tuple of many empty sets"),
        pytest.param(
            b"}X" + (100_000).to_bytes(4, "little") + b"k" * 100_000 + b"(" + b"N" * 1_000 + b"ls.", id="a key"
        ),
        pytest.param(b"X" + (1 << 24).to_bytes(4, "little") + b"k" * (1 << 24) + b".", id="a long text"),
    ],
)
def test_a_pickle_claims_what_it_describes(pickle: bytes) -> None:
    with MemoryBudget(16 * MIB).reading(), pytest.raises(CheckpointError, match="It needs about"):
        open_checkpoint(lambda _: io.BytesIO(small_archive({"a/data.pkl": pickle})), "a.pt")


@pytest.mark.parametrize(
    ("name", "members"),
    [
        pytest.param("a.npz", {"a.npy": magic(2, 0) + (16 * MIB).to_bytes(4, "little") + SPACES}, id="a header"),
        pytest.param("a.pt", {"a/data.pkl": b"N.", "a/byteorder": SPACES}, id="a byte order"),
    ],
)
def test_what_should_be_small_is_not_unpacked_if_it_is_large(name: str, members: dict[str, bytes]) -> None:
    archive = small_archive(members)
    tracemalloc.start()
    try:
        with contextlib.suppress(CheckpointError):
            open_checkpoint(lambda _: io.BytesIO(archive), name)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_a_header_of_safetensors_claims_what_it_describes() -> None:
    header = b'{"__metadata__":[' + b"[]," * 100_000 + b"0]}"
    content = len(header).to_bytes(8, "little") + header
    # The lists take 7 MB.
    with MemoryBudget(4 * MIB).reading(), pytest.raises(CheckpointError, match="It needs about"):
        open_checkpoint(lambda _: io.BytesIO(content), "a.safetensors")
    with MemoryBudget(16 * MIB).reading():
        assert open_checkpoint(lambda _: io.BytesIO(content), "a.safetensors").tensors == ()


def test_reading_a_pickle_can_be_cancelled() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellable(cancellation), pytest.raises(Cancelled):
        described(b"N.")


def test_keys_that_share_what_they_begin_with_are_counted_for_each() -> None:
    entry = BundleEntryProto(dtype="DT_FLOAT").SerializeToString()
    index = table([(b"k" * (10 * size), entry) for size in range(1, 1_000)], per_block=1_000, restart_every=1_000)
    assert len(index) < 40_000
    # The keys take 5 MB.
    with MemoryBudget(4 * MIB).reading(), pytest.raises(CheckpointError, match="It needs about"):
        open_checkpoint(lambda _: io.BytesIO(index), "a.index")
    with MemoryBudget(16 * MIB).reading():
        assert len(open_checkpoint(lambda _: io.BytesIO(index), "a.index").tensors) == 999


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "csv", "tsv", "txt"])
def test_every_table_claims_what_it_takes(ending: str) -> None:
    frame = pl.DataFrame({"a": np.arange(20_000.0), "b": np.ones(20_000), "label": ["x"] * 20_000})
    content = {
        "parquet": lambda: written(frame, "write_parquet", "zstd"),
        "arrow": lambda: written(frame, "write_ipc", "zstd"),
        "jsonl": lambda: frame.write_ndjson().encode(),
    }.get(ending, lambda: frame.write_csv(separator="," if ending == "csv" else "\t").encode())()
    with MemoryBudget(100_000).reading(), pytest.raises(VectorTableError, match="It needs about"):
        read_vector_table(io.BytesIO(content), f"a.{ending}")
    with MemoryBudget(30 * MIB).reading():
        assert read_vector_table(io.BytesIO(content), f"a.{ending}").points.shape == (20_000, 2)


def test_one_text_for_many_rows_is_counted_for_each() -> None:
    frame = pl.DataFrame(
        {"x": np.arange(2_000.0), "y": np.ones(2_000), "t": pl.repeat("x" * 100_000, 2_000, eager=True)}
    )
    content = written(frame, "write_parquet", "zstd")
    assert len(content) < MIB
    # As Python strings, these take 200 MB.
    with MemoryBudget(100 * MIB).reading(), pytest.raises(VectorTableError, match="It needs about"):
        read_vector_table(io.BytesIO(content), "a.parquet")


def test_what_was_never_written_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("a", (1 << 16, 512), np.float32, chunks=(32, 512), fillvalue=1)
        dataset[:10] = 2
        file.create_dataset("dense", (1 << 16, 512), np.float32, data=np.zeros((1 << 16, 512)), compression=9)
    checkpoint = open_checkpoint_at(path)
    with pytest.raises(ValueError, match=r"would have 134,217,728 bytes, of which the file stores 65,536") as reported:
        checkpoint.read("a")
    assert "most of it was never written" in str(reported.value)
    assert checkpoint.read("dense").sum() == 0
