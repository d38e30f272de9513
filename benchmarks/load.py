"""What a team costs the server: many pages open over runs that grow, each asking again at every revision.

Each client does what an open page does: it listens to the event stream, and at each revision sends the requests of the
Scalars panel, as Chromium sends them: two callbacks of the frame, and the curves that are on the screen.
``python -m benchmarks.load`` takes the numbers of clients and runs.
"""

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np

from stepscope.dashboard.server.binary import unpack

_GROW: Final = """
import sys, time
from pathlib import Path
from stepscope.summary import SummaryWriter
writers = [SummaryWriter(Path(sys.argv[1]) / f"run_{number:03d}") for number in range(int(sys.argv[2]))]
tags = ["loss/train", "loss/val", "accuracy/train", "accuracy/val", "lr"]
for step in range(800):
    for writer in writers:
        for tag in tags:
            writer.add_scalar(tag, 1 / (step + 1), step)
print("growing", flush=True)
while True:
    step += 1
    for writer in writers:
        for tag in tags:
            writer.add_scalar(tag, 1 / (step + 1), step)
        writer.flush()
    time.sleep(1)
"""
_CHARTS: Final = ("loss/train", "loss/val", "accuracy/train", "accuracy/val", "lr")
_VIEW: Final = "?tab=scalars"
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass
class Times:
    """Seconds that requests took, by kind."""

    by_kind: dict[str, list[float]] = field(default_factory=dict)
    failed: int = 0

    def add(self, kind: str, seconds: float) -> None:
        self.by_kind.setdefault(kind, []).append(seconds)


@contextlib.contextmanager
def growing(folder: Path, runs: int) -> Iterator[None]:
    """Runs that grow once a second, in another process."""
    with subprocess.Popen([sys.executable, "-c", _GROW, str(folder), str(runs)], stdout=subprocess.PIPE) as writing:
        try:
            assert writing.stdout is not None
            writing.stdout.readline()
            yield
        finally:
            writing.kill()


@contextlib.contextmanager
def served(folder: Path, port: int) -> Iterator[int]:
    """A dashboard over the folder; its process id."""
    command = [sys.executable, "-m", "stepscope", "--logdir", str(folder), "--port", str(port), "--no-cache"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            while "event file" not in server.stdout.readline():
                pass
            yield server.pid
        finally:
            server.terminate()


def cpu_seconds(pid: int) -> float:
    """What a process has used so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Client:
    """One open page."""

    def __init__(self, http: httpx.AsyncClient, times: Times) -> None:
        self._http = http
        self._times = times
        self._keys: dict[str, str] = {}
        self._versions = dict.fromkeys(_CHARTS, "")

    async def follow(self) -> None:
        """Answers every revision with the requests of a page, until it is canceled."""
        await self._timed("page", self._http.get("/"))
        async for revision in self._revisions():
            begin = time.monotonic()
            await asyncio.gather(self._frame(revision), self._progress(revision), self._curves())
            self._times.add("refresh", time.monotonic() - begin)

    async def _revisions(self) -> AsyncIterator[int]:
        latest = asyncio.Queue[int](1)

        async def listen() -> None:
            async with self._http.stream("GET", "/api/revision", timeout=None) as events:
                async for line in events.aiter_lines():
                    if line.startswith("id: "):
                        # Like the page: while it is busy, only the latest revision counts.
                        if latest.full():
                            latest.get_nowait()
                        latest.put_nowait(int(line[4:]))

        listening = asyncio.ensure_future(listen())
        try:
            while True:
                yield await latest.get()
        finally:
            listening.cancel()

    async def _timed(self, kind: str, request: Any) -> httpx.Response | None:
        begin = time.monotonic()
        try:
            answer: httpx.Response = await request
        except httpx.HTTPError:
            self._times.failed += 1
            return None
        self._times.add(kind, time.monotonic() - begin)
        self._times.failed += answer.status_code >= 400
        return answer

    async def _callback(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._timed(kind, self._http.post("/_dash-update-component", json=body))
        return answer.json().get("response", {}) if answer is not None and answer.status_code == 200 else {}

    async def _frame(self, revision: int) -> None:
        search = '{"name":"run_filter","type":"setting"}'
        outputs = [
            ("runs-listing", "data"), ("run-count", "children"), (search, "error"), ("tabs", "children"),
            ("tabs", "value"), ("panel-name", "data"), ("health", "children"), ("panel", "children"),
            ("frame-key", "data"),
        ]  # fmt: skip
        state: list[dict[str, Any]] = [
            {"id": "frame-key", "property": "data", "value": self._keys},
            {"id": "scheme", "property": "data", "value": "light"},
            {"id": "tabs", "property": "value", "value": "scalars"},
        ]
        inputs: list[dict[str, Any]] = [
            {"id": "view", "property": "data", "value": _VIEW},
            {"id": "revision", "property": "data", "value": revision},
            {"id": "runs-wanted", "property": "data", "value": 0},
        ]
        found = await self._callback("frame", callback_body(outputs, inputs, state, ["revision.data"]))
        self._keys = found.get("frame-key", {}).get("data", self._keys)

    async def _progress(self, revision: int) -> None:
        inputs: list[dict[str, Any]] = [{"id": "revision", "property": "data", "value": revision}]
        state: list[dict[str, Any]] = [{"id": "reading", "property": "children", "value": []}]
        await self._callback("progress", callback_body([("reading", "children")], inputs, state, ["revision.data"]))

    async def _curves(self) -> None:
        charts = [{"key": key, "points": 500, "version": version} for key, version in self._versions.items()]
        body = {"view": _VIEW, "charts": charts}
        answer = await self._timed("curves", self._http.post("/api/scalars/curves", json=body))
        if answer is not None and answer.status_code == 200:
            head, _ = unpack(answer.content)
            self._versions |= {key: chart["version"] for key, chart in head["charts"].items()}


def callback_body(
    outputs: list[tuple[str, str]], inputs: list[dict[str, Any]], state: list[dict[str, Any]], changed: list[str]
) -> dict[str, Any]:
    """A request as Dash's page makes it."""
    known = [{"id": json.loads(name) if name.startswith("{") else name, "property": of} for name, of in outputs]
    names = [f"{name.replace('.', chr(92) + '.')}.{of}" for name, of in outputs]
    joined = names[0] if len(names) == 1 else f"..{'...'.join(names)}.."
    return {
        "output": joined,
        "outputs": known[0] if len(known) == 1 else known,
        "inputs": inputs,
        "changedPropIds": changed,
        "state": state,
    }


async def watched(port: int, clients: int, seconds: float) -> Times:
    """What the requests of so many pages took."""
    times = Times()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=f"http://localhost:{port}", limits=limits, timeout=60) as http:
        following = [asyncio.ensure_future(Client(http, times).follow()) for _ in range(clients)]

        async def probe() -> None:
            while True:
                begin = time.monotonic()
                await http.get("/data/environment")
                times.add("environment", time.monotonic() - begin)
                await asyncio.sleep(0.25)

        probing = asyncio.ensure_future(probe())
        await asyncio.sleep(seconds)
        for task in (*following, probing):
            task.cancel()
        for found in await asyncio.gather(*following, probing, return_exceptions=True):
            if isinstance(found, Exception):
                print(f"a client failed: {type(found).__name__}: {found}")
    return times


def main() -> None:
    """Prints how long the requests took, and what they cost the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=100, help="(%(default)s)")
    parser.add_argument("--runs", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="(%(default)s)")
    parser.add_argument("--port", type=int, default=6106, help="(%(default)s)")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        growing(Path(folder), options.runs),
        served(Path(folder), options.port) as pid,
    ):
        before = cpu_seconds(pid)
        times = asyncio.run(watched(options.port, options.clients, options.seconds))
        used = cpu_seconds(pid) - before
    for kind, seconds in times.by_kind.items():
        middle, late = np.quantile(seconds, [0.5, 0.95])
        print(f"{kind:12} {len(seconds):6,} times, {1e3 * middle:7,.0f} ms at the median, {1e3 * late:7,.0f} ms p95")
    refreshes = max(1, len(times.by_kind.get("refresh", ())))
    print(f"{times.failed} failed; {used:.1f} s of CPU in the server, {1e3 * used / refreshes:.1f} ms a refresh")


if __name__ == "__main__":
    main()
