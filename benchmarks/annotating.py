"""Scopes: what one costs while a recording runs and while none does, beside PyTorch's and viztracer's."""

import contextlib
import gc
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from benchmarks._report import Figure, print_figures
from stepscope import profiler

Scopes = Callable[[int], float]
"""Runs so many scopes and returns how many seconds they took."""

ROUNDS = 61
SCOPES_PER_ROUND = 2_000
"""So few that most rounds pass within one turn of the processor, on a busy machine too."""
WARM_UP_SCOPES = 200


def run() -> list[Figure]:
    """Alternates all of them, so that all meet the same weather, and takes medians of nanoseconds per scope."""
    scopes: Mapping[str, Scopes] = {
        "annotate": annotate_while_recording,
        "annotate, idle": annotate_scopes,
        "nullcontext": null_scopes,
        **_peers(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in scopes}
    for number in range(ROUNDS + 1):
        gc.collect()
        for name, each in scopes.items():
            found = each(SCOPES_PER_ROUND)
            # The first round warms everything up.
            if number:
                seconds[name].append(found)
    costs = {name: statistics.median(found) / SCOPES_PER_ROUND * 1e9 for name, found in seconds.items()}
    peers = [name for name in costs if name not in ("annotate", "annotate, idle", "nullcontext")]
    return [
        *(_figure("annotate while recording", costs["annotate"], costs[peer], peer) for peer in peers),
        _figure("annotate while not recording", costs["annotate, idle"], costs["nullcontext"], "an empty scope"),
    ]


def scope_seconds(make: Callable[[str], AbstractContextManager[Any]], count: int) -> float:
    """How long so many empty scopes take."""
    for _ in range(WARM_UP_SCOPES):
        with make("forward"):
            pass
    begin = time.perf_counter()
    for _ in range(count):
        with make("forward"):
            pass
    return time.perf_counter() - begin


def annotate_scopes(count: int) -> float:
    return scope_seconds(profiler.annotate, count)


def annotate_while_recording(count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        profiler.start(folder, collectors=())
        seconds = annotate_scopes(count)
        profiler.stop(save=False)
    return seconds


def null_scopes(count: int) -> float:
    return scope_seconds(contextlib.nullcontext, count)


def record_function_scopes(count: int) -> float:
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]):
        return scope_seconds(record_function, count)


def viztracer_scopes(sparse: bool) -> Scopes:
    """Scopes of viztracer, which also records every function call, unless it is sparse."""
    viztracer: Any = importlib.import_module("viztracer")

    def scopes(count: int) -> float:
        tracer = viztracer.VizTracer(verbose=0, log_sparse=sparse)
        tracer.start()
        seconds = scope_seconds(tracer.log_event, count)
        tracer.stop()
        tracer.clear()
        return seconds

    return scopes


def _peers() -> Mapping[str, Scopes]:
    peers: dict[str, Scopes] = {"torch record_function": record_function_scopes}
    try:
        return peers | {"viztracer": viztracer_scopes(False), "viztracer, sparse": viztracer_scopes(True)}
    except ImportError:
        print("viztracer is not installed, so it is left out: pip install viztracer==1.1.1", file=sys.stderr)
        return peers


def _figure(name: str, ours: float, peer: float, peer_name: str) -> Figure:
    return Figure(name, ours, peer, peer_name, "ns/scope", higher_is_better=False)


if __name__ == "__main__":
    print_figures(run())
