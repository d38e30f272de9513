"""A trace of `torch.profiler` of three training steps on the CPU, beside PyTorch's own totals of the same recording.

    python torch_profiles.py FOLDER

``key_averages.json`` has, by operator, calls and nanoseconds as `torch.profiler`'s events add up to them; what
`torch.autograd.profiler_util` works out is not read from the trace. Needs torch.
"""

import json
import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def main(folder: Path) -> None:
    """Write ``torch_profiler`` below a folder."""
    folder = folder / "torch_profiler"
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recording = profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=3),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    )
    with recording:
        for _ in range(5):
            with record_function("forward"):
                loss = model(torch.ones(8, 16)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recording.step()
    recording.export_chrome_trace(str(folder / "cpu.pt.trace.json.gz"))
    totals = {
        event.key: {"calls": event.count, "total_us": event.cpu_time_total, "self_us": event.self_cpu_time_total}
        for event in recording.key_averages()
    }
    (folder / "cpu.key_averages.json").write_text(json.dumps(totals, indent=0, sort_keys=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
