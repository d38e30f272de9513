"""Reductions of kept facts from other tools' traces, compared with plain sums over the whole traces."""

import gzip
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import orjson
import pytest

from benchmarks._rank_traces import RankMaker, write_ranks
from stepscope.profiler.analysis.communication import communication, work_of_rank
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.idle import idle_time
from stepscope.profiler.analysis.memcpys import memcpys
from stepscope.profiler.analysis.memory import memory_peaks
from stepscope.profiler.analysis.operators import operator_calls
from stepscope.profiler.analysis.rank_facts import MOST_CHARACTERS
from stepscope.profiler.analysis.rank_outliers import rank_kernels, rank_operators, rank_resources, rank_steps
from stepscope.profiler.analysis.ranks import collectives, rank_summary, stragglers
from stepscope.profiler.analysis.steps import step_windows
from stepscope.profiler.ranks.collection import CollectedRanks, gather
from stepscope.profiler.ranks.store import FactStore
from stepscope.profiler.traces import load_trace
from tests.peers.test_traces_on_peers import CHROME, OF_GENERATIONS, OF_TRAINING

pytestmark = pytest.mark.peers
TRACES = [*CHROME, *OF_TRAINING, *OF_GENERATIONS]
PAIRS = [
    ["hta/sampled_rank-0.json.gz", "hta/sampled_rank-1.json.gz"],
    ["pack/kineto/rank-0.json.gz", "pack/kineto/rank-1.json.gz"],
]
Whole = Mapping[int, Facts]


@cache
def whole(path: str) -> Facts:
    return Facts(load_trace(path))


def plain_collectives(ranks: Whole) -> list[tuple[Any, ...]]:
    """Joined by step, kind, sequence number and place; kept if all ranks that could take part did."""
    members: dict[str, set[int]] = defaultdict(set)
    found: dict[tuple[Any, ...], dict[int, int]] = defaultdict(dict)
    for rank, facts in ranks.items():
        for row in communication(facts).iter_rows(named=True):
            members[row["group"]].add(rank)
            key = (row["step"], row["collective"], row["sequence"], row["number"], row["group"])
            found[key][rank] = row["duration_ns"]
    members[""] = set(ranks)
    kept = {key[:-1]: took for key, took in sorted(found.items()) if took.keys() == members[key[-1]]}
    rows: list[tuple[Any, ...]] = []
    for (step, collective), keys in groupby(sorted(kept), key=lambda key: key[:2]):
        for number, key in enumerate(keys):
            least = min(kept[key].values())
            rows += [(step, number, collective, rank, took, least, took - least) for rank, took in kept[key].items()]
    return sorted(rows, key=lambda row: (row[0], row[2], row[1], row[3]))


def plain_stragglers(ranks: Whole) -> list[tuple[int, int, int, int]]:
    last, caused, own = Counter[int](), Counter[int](), Counter[int]()
    for _, group in groupby(plain_collectives(ranks), key=lambda row: (row[0], row[2], row[1])):
        waits = {row[3]: row[6] for row in group}
        worst = min(rank for rank, wait in waits.items() if wait == 0)
        last[worst] += 1
        caused[worst] += sum(waits.values())
        own.update(waits)
    return sorted(((rank, last[rank], caused[rank], own[rank]) for rank in ranks), key=lambda row: (-row[2], row[0]))


def plain_summary(ranks: Whole) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for rank, facts in sorted(ranks.items()):
        windows = step_windows(facts)
        count = max(1, len(windows.start))
        computing, communicating = work_of_rank(facts)
        took = int((windows.end - windows.start).sum())
        work = [
            int(each.lengths_within(windows.start, windows.end).sum())
            for each in (computing, communicating, computing & communicating)
        ]
        here = [row for row in plain_collectives(ranks) if row[3] == rank and row[0] in set(windows.number)]
        sums = [took, *work, took + work[2] - work[0] - work[1]]
        sums += [sum(row[6] for row in here), sum(row[5] for row in here)]
        rows.append((rank, len(windows.start), *(each / count for each in sums)))
    return rows


def plain_steps(ranks: Whole) -> list[tuple[Any, ...]]:
    waits = Counter[tuple[int, int]]()
    for row in plain_collectives(ranks):
        waits[row[3], row[0]] += row[6]
    steps: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for rank, facts in ranks.items():
        windows = step_windows(facts)
        for number, took in zip(windows.number, (windows.end - windows.start).tolist(), strict=True):
            before = steps[number].get(rank, (0, 0))[0]
            steps[number][rank] = (before + took, max(0, before + took - waits[rank, number]))
    rows = []
    for number, took in sorted(steps.items()):
        own = {rank: each for rank, (_, each) in took.items()}
        slowest = min(own, key=lambda rank: (-own[rank], rank))
        totals = [total for total, _ in took.values()]
        rows.append(
            (number, len(took), median(totals), max(totals), slowest, own[slowest], median(own.values())),
        )
    return rows


def by_name(found: Mapping[str, Mapping[int, tuple[int, int]]]) -> list[tuple[Any, ...]]:
    """From the count and total time that each rank has for each name."""
    rows = []
    for name, ranks in found.items():
        took = {rank: each for rank, (_, each) in ranks.items()}
        slowest = min(took, key=lambda rank: (-took[rank], rank))
        middle = median(took.values())
        count = sum(each for each, _ in ranks.values())
        rows.append((name, len(ranks), count, middle, took[slowest], slowest, took[slowest] - middle))
    return sorted(rows, key=lambda row: (-row[-1], row[0]))


def plain_kernels(ranks: Whole) -> list[tuple[Any, ...]]:
    found: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for rank, facts in ranks.items():
        device = facts.every_device_activity
        device = device.where(device.of("kernel", "communication"))
        for name, took in zip(facts.names_of(device.slice), device.duration.tolist(), strict=True):
            count, total = found[name[:MOST_CHARACTERS]].get(rank, (0, 0))
            found[name[:MOST_CHARACTERS]][rank] = (count + 1, total + took)
    return by_name(found)


def plain_operators(ranks: Whole) -> list[tuple[Any, ...]]:
    found: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for rank, facts in ranks.items():
        calls = operator_calls(facts)
        mine = calls.is_operator
        for name, took in zip(facts.names_of(calls.slice[mine]), calls.host_self[mine].tolist(), strict=True):
            count, total = found[name[:MOST_CHARACTERS]].get(rank, (0, 0))
            found[name[:MOST_CHARACTERS]][rank] = (count + 1, total + took)
    return by_name(found)


def plain_resources(ranks: Whole) -> list[tuple[Any, ...]]:
    rows = []
    for rank, facts in sorted(ranks.items()):
        idle = Counter[str]()
        for row in idle_time(facts).iter_rows(named=True):
            idle[row["cause"]] += row["idle_ns"]
        copies = memcpys(facts)
        peaks = memory_peaks(facts)["peak_bytes"].to_list()
        rows.append(
            (
                rank,
                facts.trace.metadata.get("host_name") or "",
                len(facts.trace),
                idle["host_wait"],
                idle["kernel_wait"],
                idle["other"],
                *(int(copies[name].sum()) for name in ("count", "bytes", "total_ns")),
                max((peak for peak in peaks if peak is not None), default=None),
                sum(facts.trace.losses.counts.values()),
            )
        )
    return rows


def kept(paths: list[str], folder: Path) -> CollectedRanks:
    """The facts of traces, read from the files in which they are kept."""
    store = FactStore(str(folder))
    *_, made = gather(paths, store, engine="threads")
    assert made.complete, made.failures
    assert made.left_out == {}
    (found,) = gather(paths, store, engine="threads")
    return found


def check(paths: list[str], folder: Path) -> None:
    found = kept(paths, folder)
    ranks = {rank: whole(file.address) for rank, file in found.file_of.items()}
    assert collectives(found).rows() == plain_collectives(ranks)
    assert stragglers(found).rows() == plain_stragglers(ranks)
    for row, expected in zip(rank_summary(found).rows(), plain_summary(ranks), strict=True):
        assert row == pytest.approx(expected)
    assert rank_steps(found).rows() == plain_steps(ranks)
    assert rank_kernels(found).rows() == plain_kernels(ranks)
    assert rank_operators(found).rows() == plain_operators(ranks)
    assert rank_resources(found).rows() == plain_resources(ranks)


@pytest.mark.parametrize("name", TRACES)
def test_facts_of_a_trace_say_what_the_trace_says(peer: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    check([str(peer(name))], tmp_path)


@pytest.mark.parametrize("names", PAIRS, ids=lambda names: names[0])
def test_facts_of_two_ranks_say_what_their_traces_say(
    peer: Callable[[str], Path], tmp_path: Path, names: list[str]
) -> None:
    check([str(peer(name)) for name in names], tmp_path)


def test_facts_of_all_traces_as_one_job_say_what_the_traces_say(peer: Callable[[str], Path], tmp_path: Path) -> None:
    check([str(peer(name)) for name in TRACES], tmp_path)


@pytest.mark.parametrize(
    ("name", "megabytes"), [("hta/a100_rank0_108936_events.json.gz", 80), ("pack/gpu/training.json.gz", 50)]
)
def test_facts_of_a_job_are_a_thousandth_of_its_traces(
    peer: Callable[[str], Path], tmp_path: Path, name: str, megabytes: int
) -> None:
    template = orjson.loads(gzip.decompress(peer(name).read_bytes()))
    paths = write_ranks(tmp_path / "job", RankMaker(template, 4, 1))
    traces = sum(len(gzip.decompress(Path(path).read_bytes())) for path in paths)
    *_, last = gather(paths, FactStore(str(tmp_path / "facts")), engine="threads")
    facts = sum(path.stat().st_size for path in (tmp_path / "facts").rglob("*") if path.is_file())
    assert last.complete
    assert traces > 1e6 * megabytes
    assert 1000 * facts <= traces
