"""A trace of `torch.profiler` of four steps of training on an NVIDIA GPU, as ``gpu/training.json.gz``.

    python gpu_training.py FOLDER

A transformer learns to repeat what it reads. Small batches, of which the host sets the pace, and large ones, of which
the GPU does, come in turn from pinned memory on a stream of their own, which the computing one waits for by events; the
loss is read back in each step. Needs torch with CUDA, and a GPU. The name of the host is left out.
"""

import gzip
import json
import sys
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch._C._profiler import _ExperimentalConfig
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, schedule

LAYERS, WIDTH, HEADS, WORDS = 12, 512, 8, 512
BATCHES, LENGTH = (8, 1024), 128
BEFORE, RECORDED = 4, 4


class Block(torch.nn.Module):  # type: ignore[misc]
    """Attention, then two layers that are wider, each added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention = torch.nn.LayerNorm(WIDTH)
        self.to_heads = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.from_heads = torch.nn.Linear(WIDTH, WIDTH)
        self.wider = torch.nn.Sequential(
            torch.nn.LayerNorm(WIDTH),
            torch.nn.Linear(WIDTH, 4 * WIDTH),
            torch.nn.GELU(),
            torch.nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return as many vectors as came in: [batch, length, width]."""
        heads = self.to_heads(self.before_attention(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        x = x + self.from_heads(attended.transpose(1, 2).flatten(2))
        return x + self.wider(x)


class Batches:
    """The next batch, copied to the GPU while the one before it is computed."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream()
        self.copied = torch.cuda.Event()
        self.sizes = cycle(BATCHES)
        self.fetch()

    def fetch(self) -> None:
        """Start the copy of a batch."""
        words = torch.randint(WORDS, (next(self.sizes), LENGTH)).pin_memory()
        with torch.cuda.stream(self.stream):
            self.waiting = words.to(self.device, non_blocking=True)
            self.copied.record()

    def next(self) -> torch.Tensor:
        """Return a batch, and start the copy of the next one."""
        torch.cuda.current_stream().wait_event(self.copied)
        batch = self.waiting
        batch.record_stream(torch.cuda.current_stream())
        self.fetch()
        return batch


def record(target: Path) -> None:
    """Train, and write the trace."""
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = torch.nn.Sequential(
        torch.nn.Embedding(WORDS, WIDTH), *(Block() for _ in range(LAYERS)), torch.nn.Linear(WIDTH, WORDS)
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = Batches(device)
    recording = profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
        schedule=schedule(wait=BEFORE - 2, warmup=2, active=RECORDED, repeat=1),
        record_shapes=True,
        experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True),
    )
    with recording:
        for _ in range(BEFORE + RECORDED):
            words = batches.next()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
            recording.step()
    recording.export_chrome_trace(str(target))


def main(folder: Path) -> None:
    """Write ``gpu`` below a folder."""
    with TemporaryDirectory() as temporary:
        raw = Path(temporary, "trace.json")
        record(raw)
        trace = json.loads(raw.read_bytes())
    trace["traceName"] = "training.json"
    trace.pop("host_name", None)
    target = folder / "gpu" / "training.json.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(json.dumps(trace, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
