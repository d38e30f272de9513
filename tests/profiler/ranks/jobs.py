"""A small job's traces as files."""

from pathlib import Path

from benchmarks._rank_traces import RankMaker, made_template, write_ranks

STRAGGLER = 2


def write_job(folder: Path, ranks: int, steps: int = 3) -> list[str]:
    """Write the traces of a job with one slow rank, and return their paths."""
    return write_ranks(folder, RankMaker(made_template(steps), ranks, STRAGGLER))
