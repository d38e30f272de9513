"""Traces of many ranks, made from one: other clocks, names and speeds, and one that all others wait for.

Each rank works at a speed of its own, a straggler at less, and collectives end on all ranks at one time: so each rank's
time is the template's, stretched between collectives by its speed and within them to where the last rank is done.
"""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray
from zlib_ng import zlib_ng

_COMMUNICATION: Final = re.compile(r"nccl", re.I)
NOISE: Final = 0.005
"""Standard deviation of ranks' speeds."""
SLOW: Final = 1.2
"""How much longer the straggler takes."""
_RANKS_A_HOST: Final = 8
_TRANSFER: Final = 0.5
"""Of a collective of the template: the part that is no waiting."""


class RankMaker:
    """Makes the trace of any rank of a job.

    Args:
        template: a Kineto trace with collectives on a device, as JSON.
        ranks: how many there are.
        straggler: the rank that is slow.
    """

    def __init__(self, template: Mapping[str, Any], ranks: int, straggler: int) -> None:
        self.ranks: Final = ranks
        self.straggler: Final = straggler
        generator = np.random.default_rng(0)
        self._speeds = np.clip(generator.normal(1, NOISE, ranks), 1 - 3 * NOISE, 1 + 3 * NOISE)
        self._speeds[straggler] = SLOW
        self._clocks = generator.integers(0, 10**9, ranks)
        events = [event for event in template["traceEvents"] if isinstance(event.get("ts"), int | float)]
        others = [event for event in template["traceEvents"] if not isinstance(event.get("ts"), int | float)]
        self._ts = np.array([event["ts"] for event in events], np.float64)
        self._base = float(self._ts.min())
        self._ts -= self._base
        self._dur = np.array([event.get("dur", -1) for event in events], np.float64)
        collective = np.array(
            [event.get("cat") == "kernel" and _COMMUNICATION.search(event["name"]) is not None for event in events]
        )
        self._bounds = _merged(self._ts[collective], (self._ts + self._dur)[collective])
        # Everything in an event except its times is encoded once; a rank is numbers between these texts.
        self._texts = [_text(event) for event in events]
        self._others = b",".join(orjson.dumps(event) for event in others)
        self._head = {
            key: value
            for key, value in template.items()
            if key not in ("traceEvents", "distributedInfo", "traceName", "host_name")
        }

    def trace(self, rank: int) -> bytes:
        """Return the trace of a rank as JSON, compressed by gzip."""
        begin, end = self._warped(rank, self._ts), self._warped(rank, self._ts + np.maximum(self._dur, 0))
        clock = self._base + float(self._clocks[rank])
        starts = np.char.mod("%.3f", begin + clock).astype("S").tolist()
        durations = np.char.mod("%.3f", end - begin).astype("S").tolist()
        timed = (self._dur >= 0).tolist()
        parts = [
            text + start + (b',"dur":' + duration if has else b"") + b"}"
            for text, start, duration, has in zip(self._texts, starts, durations, timed, strict=True)
        ]
        about = {"distributedInfo": self._place(rank), "host_name": f"node-{rank // _RANKS_A_HOST:04d}"}
        body = b",".join([*parts, self._others] if self._others else parts)
        # Names of processes and modules differ between ranks of real jobs too.
        body = body.replace(b'"python"', f'"python {rank}"'.encode())
        packer = zlib_ng.compressobj(1, wbits=31)
        begun = orjson.dumps(self._head)[:-1] + (b"," if self._head else b"")
        # With spaces, as Kineto writes it: HolisticTraceAnalysis looks for this exact text.
        whole = begun + json.dumps(about)[1:-1].encode() + b',"traceEvents":[' + body + b"]}"
        return packer.compress(whole) + packer.flush()

    def _place(self, rank: int) -> dict[str, Any]:
        """Return what PyTorch states of a rank of a mesh of two dimensions: hosts beside each other, GPUs of a host."""
        host, place = divmod(rank, _RANKS_A_HOST)
        divided = {
            "mesh_tp": [
                other for other in range(host * _RANKS_A_HOST, (host + 1) * _RANKS_A_HOST) if other < self.ranks
            ],
            "mesh_dp": list(range(place, self.ranks, _RANKS_A_HOST)),
        }
        config = [
            {"pg_name": f"{number}", "pg_desc": description, "pg_size": len(ranks), "ranks": ranks}
            for number, (description, ranks) in enumerate(divided.items(), 1)
        ]
        return {"backend": "nccl", "rank": rank, "world_size": self.ranks, "pg_config": config}

    def _warped(self, rank: int, times: NDArray[np.float64]) -> NDArray[np.float64]:
        starts, ends = self._bounds
        gaps = starts - np.concatenate([[0.0], ends[:-1]])
        transfer = (ends - starts) * _TRANSFER
        slowest = float(self._speeds.max())
        done = np.cumsum(gaps * slowest + transfer)
        arrived = np.concatenate([[0.0], done[:-1]]) + gaps * self._speeds[rank]
        known = np.concatenate([[0.0], np.stack([starts, ends], 1).ravel()])
        new = np.concatenate([[0.0], np.stack([arrived, done], 1).ravel()])
        after = times - known[-1]
        result: NDArray[np.float64] = np.where(
            after > 0, new[-1] + after * self._speeds[rank], np.interp(times, known, new)
        )
        return result


def write_ranks(folder: Path, maker: RankMaker) -> list[str]:
    """Write the traces of all ranks and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank in range(maker.ranks):
        path = folder / f"rank{rank:05d}.pt.trace.json.gz"
        path.write_bytes(maker.trace(rank))
        paths.append(str(path))
    return paths


def real_template(path: Path, slices: int) -> dict[str, Any]:
    """Return the beginning of a real trace, of about so many slices."""
    whole: dict[str, Any] = orjson.loads(gzip.decompress(path.read_bytes()))
    timed = sorted(event["ts"] for event in whole["traceEvents"] if event.get("ph") == "X")
    last = timed[min(slices, len(timed)) - 1]
    whole["traceEvents"] = [event for event in whole["traceEvents"] if not event.get("ts", 0) > last]
    return whole


def made_template(steps: int = 3, layers: int = 4) -> dict[str, Any]:
    """Return a small job's trace as Kineto writes it: in each step a kernel a layer, then their collectives."""
    events: list[dict[str, Any]] = []
    correlation = 0

    def slice_of(category: str, name: str, ts: float, dur: float, tid: int, **args: Any) -> None:
        pid = 0 if category == "kernel" else 1
        events.append(
            {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
        )

    for step in range(steps):
        begin = 10_000.0 * step
        slice_of("user_annotation", f"ProfilerStep#{step}", begin, 9_900, 1)
        at = begin + 1_000
        for layer in range(2 * layers):
            correlation += 1
            reduces = layer >= layers
            name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if reduces else f"sgemm_{layer}"
            slice_of("cpu_op", "c10d::allreduce_" if reduces else "aten::mm", begin + 100 * layer, 90, 1)
            slice_of("cuda_runtime", "cudaLaunchKernel", begin + 100 * layer + 20, 30, 1, correlation=correlation)
            more = {"Collective name": "allreduce", "Process Group Name": "0"} if reduces else {}
            stream = 20 if reduces else 7
            slice_of("kernel", name, at, 900, stream, correlation=correlation, stream=stream, device=0, **more)
            at += 1_000
    names = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    return {"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000 * 10**9, "traceEvents": [*events, names]}


def _merged(starts: NDArray[np.float64], ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals in order without those that begin in an earlier one."""
    order = np.argsort(starts)
    kept: list[tuple[float, float]] = []
    for start, end in zip(starts[order].tolist(), ends[order].tolist(), strict=True):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return np.array([start for start, _ in kept]), np.array([end for _, end in kept])


def _text(event: Mapping[str, Any]) -> bytes:
    rest = {key: value for key, value in event.items() if key not in ("ts", "dur")}
    return orjson.dumps(rest)[:-1] + b',"ts":'


def largest(paths: Sequence[str]) -> int:
    """Return the bytes of the largest of some files."""
    return max(Path(path).stat().st_size for path in paths)
