"""Traces of two ranks on GPUs in the form of PyTorch's profiler, for the tools that work figures out of such traces.

    python kineto_traces.py FOLDER

They are made up, as a GPU is needed to record one: three steps each, with two threads, three streams, copies,
communication beside computation, and a wait. What HolisticTraceAnalysis and torch-tb-profiler make of them is theirs
(``hta_answers.py``, ``tb_profiler_answers.py``). Needs nothing.
"""

import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

START = 1_700_000_000_000_000
STEP = 1000
HOST, BACKWARD = 4200, 4201
COMPUTE, COMMUNICATION = 7, 20
DEVICE: dict[str, Any] = {
    "id": 0,
    "name": "NVIDIA A100-SXM4-40GB",
    "totalGlobalMem": 42_297_524_224,
    "computeMajor": 8,
    "computeMinor": 0,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "warpSize": 32,
    "sharedMemPerBlock": 49152,
    "numSms": 108,
}


class Recording:
    """Events of a rank, put down as they happen."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.events: list[dict[str, Any]] = []
        self.random = random.Random(rank)
        self.next_id = 1
        self.free_at = {COMPUTE: START, COMMUNICATION: START}

    def slice(self, category: str, name: str, place: tuple[int, int], start: int, took: int, **args: Any) -> None:
        """Put down what ran at a place, a process and a thread of it."""
        process, thread = place
        event = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start, "dur": took}
        self.events.append({**event, "args": args})

    def operator(self, name: str, thread: int, start: int, took: int) -> int:
        """Put down a call of an operator, and return its number."""
        self.next_id += 1
        inputs = {"Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"]}
        self.slice("cpu_op", name, (HOST, thread), start, took, **{"External id": self.next_id}, **inputs)
        return self.next_id

    def launch(self, call: str, thread: int, start: int, of: int, stream: int, took: int, **what: Any) -> None:
        """Put down a call of the runtime, and what it starts on a stream as soon as that is free."""
        self.next_id += 1
        number = self.next_id
        self.slice(
            "cuda_runtime", call, (HOST, thread), start, 8, **{"External id": of, "cbid": 211, "correlation": number}
        )
        begin = max(start + 12, self.free_at[stream] + 1)
        self.free_at[stream] = begin + took
        args = {"External id": of, "device": 0, "context": 1, "stream": stream, "correlation": number, **what["args"]}
        self.slice(what["category"], what["name"], (0, stream), begin, took, **args)
        arrow = {"cat": "ac2g", "name": "ac2g", "id": number}
        self.events.append({"ph": "s", "pid": HOST, "tid": thread, "ts": start, **arrow})
        self.events.append({"ph": "f", "bp": "e", "pid": 0, "tid": stream, "ts": begin, **arrow})

    def kernel(self, name: str, thread: int, start: int, of: int, took: int, stream: int = COMPUTE) -> None:
        """Put down the launch of a kernel, and the kernel."""
        blocks = self.random.choice((32, 108, 432))
        args = {
            "queued": 0,
            "registers per thread": 32,
            "shared memory": 0,
            "blocks per SM": blocks / DEVICE["numSms"],
            "warps per SM": 8 * blocks / DEVICE["numSms"],
            "grid": [blocks, 1, 1],
            "block": [256, 1, 1],
            "est. achieved occupancy %": min(100, blocks // 5),
        }
        self.launch("cudaLaunchKernel", thread, start, of, stream, took, category="kernel", name=name, args=args)

    def copy(self, name: str, category: str, start: int, of: int, took: int, size: int) -> None:
        """Put down a copy, or a memset, with its call."""
        args = {"bytes": size, "memory bandwidth (GB/s)": size / took / 1000}
        call = "cudaMemsetAsync" if category == "gpu_memset" else "cudaMemcpyAsync"
        self.launch(call, HOST, start, of, COMPUTE, took, category=category, name=name, args=args)

    def step(self, number: int) -> None:
        """Put down a step of training: data, forward, backward with communication, and a wait for the device."""
        at, took = START + number * STEP, self.random.randint
        loading = took(60, 110)
        self.slice("user_annotation", f"ProfilerStep#{number}", (HOST, HOST), at, STEP - 20)
        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        self.slice("user_annotation", name, (HOST, HOST), at + 5, loading)
        copy = self.operator("aten::copy_", HOST, at + 120, 30)
        self.copy("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", at + 125, copy, took(10, 40), 1 << took(16, 19))
        self.operator("aten::linear", HOST, at + 160, 90)
        product = self.operator("aten::addmm", HOST, at + 165, 80)
        self.kernel("ampere_sgemm_128x64_nn", HOST, at + 180, product, took(100, 240))
        relu = self.operator("aten::relu", HOST, at + 260, 40)
        self.kernel("void at::native::elementwise_kernel<128, 4>(int)", HOST, at + 270, relu, took(10, 30))
        zeros = self.operator("aten::zero_", HOST, at + 310, 30)
        self.copy("Memset (Device)", "gpu_memset", at + 315, zeros, 3, 4096)
        node = self.operator("autograd::engine::evaluate_function: AddmmBackward0", BACKWARD, at + 350, 150)
        product = self.operator("aten::mm", BACKWARD, at + 360, 60)
        self.kernel("sm80_xmma_gemm_f16f16_f16f32_f32_nn_n", BACKWARD, at + 370, product, took(50, 120))
        reduce = self.operator("nccl:all_reduce", BACKWARD, at + 430, 40)
        self.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", BACKWARD, at + 440, reduce, took(80, 200), COMMUNICATION)
        self.kernel("void at::native::elementwise_kernel<128, 4>(int)", BACKWARD, at + 480, node, took(10, 30))
        self.operator("Optimizer.step#SGD.step", HOST, at + 520, 100)
        for place in range(3):
            add = self.operator("aten::add_", HOST, at + 530 + 30 * place, 25)
            self.kernel("multi_tensor_apply_kernel", HOST, at + 535 + 30 * place, add, took(1, 12))
        item = self.operator("aten::_local_scalar_dense", HOST, at + 640, 300)
        self.copy("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", at + 650, item, 4, 8)
        self.next_id += 1
        args = {"External id": item, "cbid": 131, "correlation": self.next_id}
        self.slice("cuda_runtime", "cudaStreamSynchronize", (HOST, HOST), at + 670, 260, **args)

    def trace(self) -> dict[str, Any]:
        """Return the trace as PyTorch writes one."""
        names = [(HOST, "python"), (0, "python")]
        labels = [(HOST, "CPU"), (0, "GPU 0")]
        about = [("process_name", pid, {"name": name}) for pid, name in names]
        about += [("process_labels", pid, {"labels": label}) for pid, label in labels]
        metadata = [
            {"ph": "M", "name": name, "pid": pid, "tid": 0, "ts": START, "args": args} for name, pid, args in about
        ]
        return {
            "schemaVersion": 1,
            "deviceProperties": [DEVICE],
            "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": 2},
            "traceEvents": [*metadata, *sorted(self.events, key=lambda event: event["ts"])],
            "traceName": f"rank-{self.rank}.json",
        }


def main(folder: Path) -> None:
    """Write ``kineto`` below a folder."""
    folder = folder / "kineto"
    folder.mkdir(parents=True, exist_ok=True)
    for rank in (0, 1):
        recording = Recording(rank)
        for number in (5, 6, 7):
            recording.step(number)
        # No timestamp in the header, so that the same trace gives the same file.
        text = json.dumps(recording.trace(), separators=(",", ":")).encode()
        (folder / f"rank-{rank}.json.gz").write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
