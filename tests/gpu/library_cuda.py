"""A library's program on a GPU, recorded by a collector: library_cuda.py LOGDIR LIBRARY COLLECTOR."""

import sys
from collections.abc import Callable
from pathlib import Path

from stepscope import profiler

STEPS = 3


def jax_step() -> Callable[[], object]:
    """Returns a compiled function of two products and a sum."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones((512, 512))
    compiled = jax.jit(lambda x: jnp.tanh(x @ x) @ x + 1)
    return lambda: compiled(x).block_until_ready()


def cupy_step() -> Callable[[], object]:
    """Returns a product and a sum that is brought to the host."""
    import cupy

    x = cupy.ones((512, 512), cupy.float32)
    return lambda: float((x @ x).sum())


def triton_step() -> Callable[[], object]:
    """Returns a function that PyTorch compiles with Triton."""
    import torch

    x = torch.ones(512, 512, device="cuda")
    compiled = torch.compile(lambda x: torch.sin(x) * 2 + torch.cos(x))
    return lambda: (compiled(x), torch.cuda.synchronize())


def graph_step() -> Callable[[], object]:
    """Returns the replay of a captured CUDA graph of several kernels."""
    import torch

    x, weight = torch.ones(256, 256, device="cuda"), torch.ones(256, 256, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.relu(x @ weight).sum()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.relu(x @ weight).sum()
    return lambda: (graph.replay(), torch.cuda.synchronize())


LIBRARIES = {"jax": jax_step, "cupy": cupy_step, "triton": triton_step, "graph": graph_step}


def main(logdir: str, library: str, collector: str) -> None:
    """Runs a few steps."""
    run = LIBRARIES[library]()
    run()
    with profiler.Profile(logdir, collectors=[collector]) as profile:
        for _ in range(STEPS):
            with profiler.annotate("run it"):
                run()
            profiler.step()
    assert profile.recording is not None
    Path(logdir, "step_1.pb").write_bytes(profile.recording.run_metadata[1].step_stats.SerializeToString())
    print(profile.recording.trace_path, *profile.recording.notes, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
