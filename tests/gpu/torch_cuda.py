"""A PyTorch training loop on a GPU, recorded by the collector "torch": torch_cuda.py LOGDIR."""

import sys
from pathlib import Path

import torch

from stepscope import profiler

STEPS = 3
BATCH = (256, 512)


def main(logdir: str) -> None:
    """Trains a small network."""
    device = torch.device("cuda")
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.ones(BATCH).pin_memory()
    model(batch.to(device)).sum().backward()
    torch.cuda.synchronize()
    with profiler.Profile(logdir, collectors=["torch"]) as profile:
        for _ in range(STEPS):
            with profiler.annotate("upload"):
                on_device = batch.to(device, non_blocking=True)
            with profiler.annotate("forward"):
                loss = model(on_device).sum()
            with profiler.annotate("backward"):
                loss.backward()
            with profiler.annotate("update"):
                optimizer.step()
                optimizer.zero_grad()
            with profiler.annotate("duplicate"):
                on_device.clone()
            with profiler.annotate("download"):
                loss.item()
            profiler.step()
    assert profile.recording is not None
    Path(logdir, "step_1.pb").write_bytes(profile.recording.run_metadata[1].step_stats.SerializeToString())
    print(profile.recording.trace_path, *profile.recording.notes, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
