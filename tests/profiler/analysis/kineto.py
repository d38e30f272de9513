"""Tiny Kineto traces, in microseconds."""

import json
from typing import Any

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces import read_trace

Event = dict[str, Any]


def event(category: str, name: str, start: float, duration: float, tid: Any = 1, **arguments: Any) -> Event:
    """A slice of the host's process."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 100,
        "tid": tid,
        "ts": start,
        "dur": duration,
        "args": {key.replace("_", " ") if key != "correlation" else key: value for key, value in arguments.items()},
    }


def operator(name: str, start: float, duration: float, tid: Any = 1, **arguments: Any) -> Event:
    return event("cpu_op", name, start, duration, tid, **arguments)


def launch(start: float, duration: float, correlation: int, name: str = "cudaLaunchKernel", tid: Any = 1) -> Event:
    return event("cuda_runtime", name, start, duration, tid, correlation=correlation)


def activity(
    name: str,
    start: float,
    duration: float,
    correlation: int,
    *,
    stream: int = 7,
    device: int = 0,
    category: str = "kernel",
    more: dict[str, Any] | None = None,
    **arguments: Any,
) -> Event:
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": device,
        "tid": stream,
        "ts": start,
        "dur": duration,
        "args": {"device": device, "stream": stream, "correlation": correlation, **arguments, **(more or {})},
    }


def step(number: int, start: float, duration: float) -> Event:
    return event("user_annotation", f"ProfilerStep#{number}", start, duration)


def trace(*events: Event, **top: Any) -> Trace:
    return read_trace(json.dumps({"schemaVersion": 1, "traceEvents": events, **top}).encode(), name="tiny")
