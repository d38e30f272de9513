"""Logs in an object store: 10,000 runs in a bucket, and what ``stepscope index`` asks the store for.

The store is moto's S3, a process of its own whose own log is what is counted: all requests, to the logs and to the
index, which is in the store too. The mark is a request for each page of the listing (1,000 files), and two for each
file that changed, or one for each file at first. Of the runs that changed, half have grown and half are new. Seconds
are those of the whole command, its imports among them; they say little of a store that is far away, where each request
takes ten times as long as here.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import urlopen

import fsspec

from benchmarks._report import Figure, print_figures
from benchmarks.browser import write_logs
from stepscope.dashboard.cli.index import REQUESTS_A_FILE
from stepscope.summary.records import FOOTER_BYTES, HEADER_BYTES

RUNS: Final = 10_000
TAGS: Final = 2
STEPS: Final = 10
CHANGED: Final = 10
PAGE_FILES: Final = 1_000
"""What a page of a listing has, at most."""
PATIENCE: Final = 60.0
BUCKET: Final = "sweeps"
ENVIRONMENT: Final = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
_REQUEST: Final = re.compile(r'"[A-Z]+ /')
_READ_BEFORE: Final = re.compile(r"([\d,]+) files? had been read before")


@dataclass(frozen=True)
class Asked:
    """One run of `stepscope index`."""

    seconds: float
    requests: int
    taken: int
    """Files that it did not read, as an earlier run had."""


class Store:
    """A server of S3 in another process, and its log."""

    def __init__(self, address: str, log: Path) -> None:
        self.address: Final = address
        self._log: Final = log
        self._environment: Final = {**os.environ, **ENVIRONMENT, "AWS_ENDPOINT_URL": address}

    def requests(self) -> int:
        """How many it has answered so far."""
        return sum(bool(_REQUEST.search(line)) for line in self._log.read_text().splitlines())

    def file_system(self) -> Any:
        """Return the store's files, as this process reaches them."""
        return fsspec.filesystem("s3", key="a", secret="b", endpoint_url=self.address, use_listings_cache=False)

    def index(self) -> Asked:
        """Bring the index of all runs up to date."""
        command = [sys.executable, "-m", "stepscope", "index", f"s3://{BUCKET}/logs", "--to", f"s3://{BUCKET}/index"]
        before, begin = self.requests(), time.perf_counter()
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begin
        said = _READ_BEFORE.search(done.stderr)
        if said is None:
            raise AssertionError(f"stepscope index said {done.stderr!r}")
        return Asked(seconds, self.requests() - before, int(said[1].replace(",", "")))


@contextmanager
def running_store(folder: Path) -> Iterator[Store]:
    """An empty store."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "store.log"
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as stream, subprocess.Popen(command, stdout=stream, stderr=stream) as process:
        try:
            store = Store(f"http://127.0.0.1:{port}", log)
            _wait_for(store.address)
            store.file_system().mkdir(BUCKET)
            yield store
        finally:
            process.terminate()


def _wait_for(address: str) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            urlopen(f"{address}/moto-api/").close()
        except (URLError, ConnectionError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def put(store: Store, files: Sequence[tuple[str, bytes]]) -> None:
    """Put files of runs into the store."""
    file_system = store.file_system()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda file: file_system.pipe(f"{BUCKET}/logs/{file[0]}", file[1]), files))


def run() -> list[Figure]:
    """One first start, one restart when some runs changed, and one when none did."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "logs"
        half = CHANGED // 2
        write_logs(folder, RUNS + half, TAGS, 2 * STEPS)
        files = [(str(path.relative_to(folder)), path.read_bytes()) for path in sorted(folder.rglob("*tfevents*"))]
        with running_store(Path(name)) as store:
            put(store, [(path, _beginning(content)) for path, content in files[:RUNS]])
            first = store.index()
            grown = files[: RUNS : RUNS // half][:half]
            put(store, grown + files[RUNS:])
            changed = store.index()
            unchanged = store.index()
    there = RUNS + half
    expected = [0, RUNS - len(grown), there]
    if (taken := [first.taken, changed.taken, unchanged.taken]) != expected:
        raise AssertionError(f"{taken} files were taken from the index, not {expected}")
    pages = -(-there // PAGE_FILES)

    def figure(name: str, ours: float, theirs: float, peer: str = "the mark", unit: str = "") -> Figure:
        return Figure(f"{RUNS:,} runs, {name}", ours, theirs, peer, unit, higher_is_better=False)

    return [
        figure("first index, requests", first.requests, RUNS // PAGE_FILES + RUNS),
        figure(f"{CHANGED} changed, requests", changed.requests, pages + CHANGED * REQUESTS_A_FILE),
        figure("none changed, requests", unchanged.requests, pages),
        figure(f"{CHANGED} changed", changed.seconds, first.seconds, "the first index", "s"),
    ]


def _beginning(content: bytes) -> bytes:
    """Return an event file as it was when a run had half of its steps."""
    end = 0
    for _ in range(1 + TAGS * STEPS):
        end += HEADER_BYTES + int.from_bytes(content[end : end + 8], "little") + FOOTER_BYTES
    return content[:end]


if __name__ == "__main__":
    print_figures(run())
