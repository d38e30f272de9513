"""Overlays on and between traces on the Timeline: the routes, for tiny traces and those of other tools."""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from stepscope.dashboard.panels.timeline import overlays
from stepscope.dashboard.panels.timeline.overlays import by_lane, critical_path_window, idle_window
from stepscope.dashboard.panels.timeline.routes_overlays import make_router
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.sources import LATEST_NS
from stepscope.profiler.analysis.critical_path import BOUNDS, critical_path_summary, path_of
from stepscope.profiler.analysis.facts import Facts
from stepscope.profiler.analysis.idle import idle_gaps, idle_time
from stepscope.profiler.analysis.ranks import collectives
from stepscope.profiler.traces import load_trace
from stepscope.summary.contents import Companion
from stepscope.summary.snapshot import Snapshot
from tests.profiler.analysis.kineto import Event, activity, launch, operator, step
from tests.profiler.analysis.kineto import trace as read

REDUCE = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
STEPS: list[Event] = [
    step(1, 0, 50),
    operator("load", 0, 10),
    launch(12, 3, 1),
    activity("gemm", 20, 25, 1),
    activity("late", 55, 3, 2),
    activity("overlapping", 56, 4, 3),
    step(2, 60, 50),
    operator("other step", 60, 40),
]


class NoFollower:
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def heed(self, runs: Iterable[str]) -> None: ...


def client_of(folder: Path, **traces: list[Event]) -> TestClient:
    """A client of a log directory with traces of these names, all in run "r"."""
    for name, events in traces.items():
        text = json.dumps({"schemaVersion": 1, "traceEvents": events, "distributedInfo": {}})
        (folder / f"{name}.pt.trace.json").write_text(text)
    return client_of_files(sorted(folder.iterdir()))


def client_of_files(paths: list[Path]) -> TestClient:
    companions = tuple(
        Companion("r", PurePosixPath("r") / path.name, str(path), path.stat().st_size, 5_000_000_000) for path in paths
    )
    live = Live("logs", lambda publish: NoFollower())
    live.publish(Snapshot(1, MappingProxyType({}), companions))
    app = FastAPI()
    app.include_router(make_router(live), prefix="/api/timeline")
    return TestClient(app)


def id_of(name: str) -> str:
    return f"r|file|r/{name}.pt.trace.json"


def ask(client: TestClient, route: str, **parameters: Any) -> Any:
    response = client.get(f"/api/timeline/{route}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def sentence(client: TestClient, route: str, **parameters: Any) -> tuple[int, str]:
    response = client.get(f"/api/timeline/{route}", params=parameters)
    return response.status_code, response.json()["detail"]


def test_the_critical_path_of_a_step(tmp_path: Path) -> None:
    client = client_of(tmp_path, a=STEPS)
    assert ask(client, "critical_path", id=id_of("a"), start=5_000, end=40_000, width=1_000, step=1) == {
        "step": 1,
        "bounds": list(BOUNDS),
        "explained": ["host", "kernel", "memory", "communication", "launch_delay", "kernel_gap", "backlog"],
        "names": ["load", "cudaLaunchKernel", "gemm"],
        "slice": [5, 6, 0, 0],
        "lane": [1, 1, 0, 0],
        "depth": [1, 1, 0, 0],
        "start": [0, 10_000, 12_000, 20_000],
        "end": [10_000, 12_000, 20_000, 45_000],
        "bound": [BOUNDS.index(bound) for bound in ("host", "idle", "launch_delay", "kernel")],
        "name": [0, 1, 2, 2],
        "count": [1, 1, 1, 1],
        "origin": [5, 5, 6, 0],
        "origin_lane": [1, 1, 1, 0],
        "origin_depth": [1, 1, 1, 0],
        "totals": {
            "host": {"ns": 5_000, "count": 1},
            "launch_delay": {"ns": 8_000, "count": 1},
            "kernel": {"ns": 20_000, "count": 1},
            "idle": {"ns": 2_000, "count": 1},
        },
        "parts": 5,
        "total": 43_000,
        "begin": 0,
        "finish": 50_000,
    }
    # There is nothing outside the step, whatever happens there.
    outside = ask(client, "critical_path", id=id_of("a"), start=60_000, end=90_000, width=1_000, step=1)
    assert (outside["slice"], outside["totals"], outside["total"]) == ([], {}, 43_000)
    whole = ask(client, "critical_path", id=id_of("a"), start=0, end=110_000, width=1_000)
    assert (whole["step"], whole["total"]) == (None, 53_000)
    assert sentence(client, "critical_path", id=id_of("a"), start=0, end=1, width=9, step=7) == (
        404,
        "The trace has no step 7. It has: 1, 2.",
    )


def test_parts_finer_than_a_pixel_are_one_segment() -> None:
    events = [operator(f"op {index}", 10 * index, 10 if index else 9) for index in range(10)]
    trace = read(*events, operator("long", 100, 900))
    path = path_of(trace)
    found = critical_path_window(path, trace, 0, 0, 1_000_000, 10)
    assert {key: found[key] for key in ("start", "end", "count", "name", "names", "totals")} == {
        "start": [0, 100_000],
        "end": [100_000, 1_000_000],
        "count": [11, 1],
        "name": [0, 1],
        "names": ["op 1", "long"],
        "totals": {"host": {"ns": 999_000, "count": 11}, "idle": {"ns": 1_000, "count": 1}},
    }


def test_a_view_never_has_too_many_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlays, "MAX_SEGMENTS", 3)
    trace = read(
        *(operator(f"op {index}", 10 * index, 10) for index in range(64)),
        *(activity("k", 10 * index, 4, index) for index in range(64)),
    )
    found = critical_path_window(path_of(trace), trace, 0, 0, 640_000, 64)
    assert (found["start"], found["end"]) == ([0, 320_000], [320_000, 640_000])
    assert sum(found["count"]) == found["parts"]
    gaps = by_lane(idle_gaps(trace, scope="all"), trace)
    shown = idle_window(gaps, trace, 0, 0, 640_000, 64)
    assert (len(shown["start"]), sum(shown["count"]), shown["left_out"]) == (2, 63, 0)


def test_idle_gaps_have_their_cause(tmp_path: Path) -> None:
    client = client_of(tmp_path, a=STEPS)
    requested = {"id": id_of("a"), "start": 0, "end": 110_000, "width": 110}
    assert ask(client, "idle", **requested) == {
        "of": "stream",
        "scope": "all",
        "causes": ["host_wait", "kernel_wait", "other"],
        "lane": [0],
        "start": [45_000],
        "end": [55_000],
        "cause": [1],
        "share": [1.0],
        "count": [1],
        "slice": [1],
        "left_out": 0,
        "totals": {"kernel_wait": {"ns": 10_000, "count": 1}},
        "lanes": {},
    }
    assert ask(client, "idle", **requested, of="device") == {
        "of": "device",
        "scope": "all",
        "causes": ["host_wait", "kernel_wait", "other"],
        "lane": [0],
        "start": [45_000],
        "end": [55_000],
        "cause": [1],
        "share": [1.0],
        "count": [1],
        "slice": [1],
        "left_out": 0,
        "totals": {"kernel_wait": {"ns": 10_000, "count": 1}},
        "lanes": {"0": [0]},
    }
    part = ask(client, "idle", **{**requested, "start": 50_000, "end": 52_000})
    assert (part["start"], part["totals"]) == ([45_000], {"kernel_wait": {"ns": 2_000, "count": 1}})
    assert ask(client, "idle", **requested, scope="complete")["start"] == []


def test_narrow_gaps_are_merged_or_left_out() -> None:
    # The first pixel of 100 us has nine gaps of 1 us each; the second has a single one.
    busy = [activity("k", 10 * index, 9, index) for index in range(10)]
    trace = read(*busy, activity("k", 100, 50, 20), activity("k", 151, 49, 21), activity("k", 300, 10, 22))
    gaps = by_lane(idle_gaps(trace, scope="all"), trace)
    found = idle_window(gaps, trace, 0, 0, 400_000, 4)
    assert {key: found[key] for key in ("start", "end", "share", "count", "cause", "left_out", "totals")} == {
        "start": [9_000, 200_000],
        "end": [100_000, 300_000],
        "share": [0.1, 1.0],
        "count": [10, 1],
        "cause": [1, 2],
        "left_out": 1,
        "totals": {"kernel_wait": {"ns": 11_000, "count": 11}, "other": {"ns": 100_000, "count": 1}},
    }


def rank(late: float, *reductions: tuple[float, float]) -> list[Event]:
    events: list[Event] = [step(3, 0, 100)]
    for index, (start, duration) in enumerate(reductions):
        events += [launch(1 + 3 * index, 1, index), activity(REDUCE, start, duration, index, stream=9)]
    return [{**each, "ts": each["ts"] + late} for each in events]


def test_traces_are_aligned(tmp_path: Path) -> None:
    client = client_of(
        tmp_path, a=rank(0, (20, 10)), b=rank(7, (25, 5)), c=[operator("x", 0, 1)], d=rank(1.8e15, (25, 5))
    )
    both = [id_of("a"), id_of("b")]
    assert ask(client, "align", id=both, by="step", step=4) == {
        "by": "step",
        "traces": [{"id": both[0], "offset": 0}, {"id": both[1], "offset": 0}],
        "notes": [
            "a.pt.trace.json has no step 4: its nearest, step 3, is used.",
            "b.pt.trace.json has no step 4: its nearest, step 3, is used.",
        ],
    }
    assert ask(client, "align", id=both, by="collectives")["traces"][1]["offset"] == 0
    assert ask(client, "align", id=both, by="name", name=REDUCE)["traces"][1]["offset"] == -5_000
    assert ask(client, "align", id=[id_of("d")], by="clock")["traces"] == [{"id": id_of("d"), "offset": 0}]
    assert sentence(client, "align", id=[id_of("d"), id_of("a")], by="clock") == (
        422,
        "a.pt.trace.json has no wall-clock start time. "
        "Align the traces by a step, by their start, or by their collectives.",
    )
    assert sentence(client, "align", id=[id_of("a"), id_of("c")], by="step") == (
        422,
        "c.pt.trace.json has no marked steps. Align the traces by their start or by a slice's name.",
    )
    assert sentence(client, "align", id=both, by="name") == (
        422,
        "Parameter 'name' must be the name of a slice to line the traces up by.",
    )
    assert sentence(client, "align", id=[both[0], both[0]], by="start") == (422, "Each 'id' can be given once.")
    assert sentence(client, "align", id=["gone"], by="start")[0] == 404
    assert sentence(client, "align", id=both * 5, by="start")[0] == 422
    assert sentence(client, "align", id=both, by="luck")[0] == 422


def test_collectives_have_the_slice_of_every_rank(tmp_path: Path) -> None:
    client = client_of(tmp_path, a=rank(0, (20, 10), (50, 4)), b=rank(7, (25, 5), (50, 4)), c=rank(0, (22, 8)))
    ids = [id_of(name) for name in "abc"]
    found = ask(client, "collectives", id=ids)

    def reduction(index: int, start: int, duration: int) -> dict[str, Any]:
        return {"index": index, "name": REDUCE, "lane": 0, "depth": 0, "start": start, "duration": duration}

    assert found == {
        "traces": ids,
        "count": 2,
        "rows": [
            {
                "name": "allreduce",
                "step": 3,
                "number": 0,
                "slices": [reduction(0, 20_000, 10_000), reduction(0, 25_000, 5_000), reduction(0, 22_000, 8_000)],
                "duration": [10_000, 5_000, 8_000],
                "wait": [5_000, 0, 3_000],
            },
            {
                "name": "allreduce",
                "step": 3,
                "number": 1,
                "slices": [reduction(1, 50_000, 4_000), reduction(1, 50_000, 4_000), None],
                "duration": [4_000, 4_000, None],
                "wait": [0, 0, None],
            },
        ],
    }
    window = ask(client, "collectives", id=ids, start=29_000, end=50_000)
    assert (window["count"], [row["number"] for row in window["rows"]]) == (1, [0])
    assert [row["number"] for row in ask(client, "collectives", id=ids, limit=1)["rows"]] == [0]
    assert ask(client, "collectives", id=ids, limit=1)["count"] == 2
    lacking = ask(client, "collectives", id=ids[::-1])["rows"]
    assert [[each and each["start"] for each in row["slices"]] for row in lacking] == [
        [22_000, 25_000, 20_000],
        [None, 50_000, 50_000],
    ]
    assert sentence(client, "collectives", id=ids, start=1) == (
        422,
        "A window needs both 'start' and 'end'; leave out both for the whole trace.",
    )
    assert sentence(client, "collectives", id=ids[:1]) == (
        422,
        "Collectives are matched across traces: give 'id' at least twice.",
    )


def test_differences_by_name(tmp_path: Path) -> None:
    client = client_of(
        tmp_path,
        a=[operator("slow", 0, 10), operator("gone", 50, 5), activity("gemm", 60, 5, 1)],
        b=[operator("slow", 0, 40), activity("gemm", 60, 5, 1), activity("gemm", 90, 5, 2)],
    )
    both = [id_of("a"), id_of("b")]
    assert ask(client, "differences", id=both) == {
        "window": 95_000,
        "rows": 3,
        "verdicts": {"longer": 1, "only in first": 1, "same": 1},
        "totals": {"device": [5_000, 10_000], "host": [15_000, 40_000]},
        "name": ["slow", "gemm", "gone"],
        "category": ["cpu_op", "kernel", "cpu_op"],
        "side": ["host", "device", "host"],
        "count": [[1, 1, 1], [1, 2, 0]],
        "total": [[10_000, 5_000, 5_000], [40_000, 10_000, 0]],
        "mean": [[10_000.0, 5_000.0, 5_000.0], [40_000.0, 5_000.0, None]],
        "change": [30_000, 5_000, -5_000],
        "verdict": ["longer", "same", "only in first"],
    }
    ranges = ask(client, "differences", id=both, range=["40000:60001", "60000:100000"])
    assert (ranges["name"], ranges["count"]) == (["gemm", "gone"], [[1, 1], [2, 0]])
    assert ask(client, "differences", id=both, limit=1)["name"] == ["slow"]
    for bad in (["1:2"], ["1:2", "x"], ["1:2", "2:1"], ["1:2", f"0:{1 << 63}"]):
        assert sentence(client, "differences", id=both, range=bad)[0] == 422
    assert sentence(client, "differences", id=both[:1]) == (
        422,
        "Differences are between two traces: give 'id' twice, and 'range' twice or not at all.",
    )


def test_a_trace_without_slices_has_nothing_over_it(tmp_path: Path) -> None:
    client = client_of(tmp_path, a=[], b=[])
    window = {"id": id_of("a"), "start": 0, "end": 10, "width": 5}
    path = ask(client, "critical_path", **window)
    assert (path["slice"], path["totals"], path["parts"], path["total"]) == ([], {}, 0, 0)
    for of in ("stream", "device"):
        assert ask(client, "idle", **window, of=of)["lane"] == []
    both = [id_of("a"), id_of("b")]
    assert ask(client, "align", id=both, by="start")["traces"][1]["offset"] == 0
    assert ask(client, "collectives", id=both) == {"traces": both, "count": 0, "rows": []}
    assert ask(client, "differences", id=both)["name"] == []
    assert sentence(client, "idle", **{**window, "end": 0})[0] == 422
    farthest = {**window, "start": -LATEST_NS, "end": LATEST_NS, "width": 1}
    for route in ("critical_path", "idle"):
        assert ask(client, route, **farthest)["start"] == []


def test_windows_may_be_far_from_the_trace(tmp_path: Path) -> None:
    late = [{**each, "ts": each["ts"] + 3.9e15} for each in STEPS]
    client = client_of(tmp_path, a=late)
    requested = {"id": id_of("a"), "start": -LATEST_NS, "end": LATEST_NS, "width": 8_192}
    assert ask(client, "critical_path", **requested, step=1)["totals"]["kernel"] == {"ns": 25_000, "count": 1}
    assert ask(client, "idle", **requested)["totals"] == {"kernel_wait": {"ns": 10_000, "count": 1}}


@pytest.mark.peers
@pytest.mark.parametrize(("name", "step"), [("hta/a100_rank0_108936_events", 551), ("pack/kineto/rank-0", 6)])
def test_a_real_trace_adds_up(peer: Callable[[str], Path], name: str, step: int) -> None:
    trace = load_trace(str(peer(f"{name}.json.gz")))
    facts = Facts(trace)
    origin, end = int(trace.start_ns.min()), int((trace.start_ns + trace.duration_ns).max())
    span = end - origin
    for number in (None, step):
        path = path_of(facts, step=number)
        found = critical_path_window(path, trace, origin, 0, span, 1_200)
        bounds = critical_path_summary(facts, step=number).to_dicts()
        assert {name: (total["ns"], total["count"]) for name, total in found["totals"].items()} == {
            row["bound"]: (row["duration_ns"], row["parts"]) for row in bounds
        }
        assert sum(found["count"]) == found["parts"]
        assert found["start"] == sorted(found["start"])
        assert len(found["start"]) < 2_400
        assert (found["begin"] + origin, found["finish"] + origin) == (path.start[0], path.end[-1])
        # Adjacent windows divide the path between them.
        halves = [critical_path_window(path, trace, origin, *part, 600) for part in ((0, span // 2), (span // 2, span))]
        shared = sum(total["ns"] for half in halves for total in half["totals"].values())
        assert shared == found["finish"] - found["begin"]
        assert found["total"] == sum(row["duration_ns"] for row in bounds if row["explained"])
    gaps = by_lane(idle_gaps(facts), trace)
    idle = idle_window(gaps, trace, origin, 0, span, 1_200)
    table = idle_time(facts)
    assert {name: total["ns"] for name, total in idle["totals"].items()} == {
        row["cause"]: row["idle_ns"] for row in table.group_by("cause").sum().to_dicts() if row["idle_ns"]
    }
    assert sum(idle["count"]) + idle["left_out"] == len(gaps.start)
    assert {trace.lanes[lane].kind for lane in idle["lane"]} == {"stream"}
    assert set(np.unique(path_of(facts).bound)) <= set(range(len(BOUNDS)))


@pytest.mark.peers
@pytest.mark.parametrize(
    ("ranks", "later", "count", "kernel"),
    [
        ("hta/sampled_rank", 553_000, 10, "ncclKernel_SendRecv"),
        ("pack/kineto/rank", 0, 3, "ncclDevKernel_AllReduce"),
    ],
)
def test_two_real_ranks(
    peer: Callable[[str], Path], tmp_path: Path, ranks: str, later: int, count: int, kernel: str
) -> None:
    paths = [tmp_path / f"rank{number}.pt.trace.json.gz" for number in (0, 1)]
    for number, path in enumerate(paths):
        shutil.copy(peer(f"{ranks}-{number}.json.gz"), path)
    client = client_of_files(paths)
    ids = [f"r|file|r/{path.name}" for path in paths]
    clock = ask(client, "align", id=ids, by="clock")
    assert [each["offset"] for each in clock["traces"]] == [0, later]
    found = ask(client, "collectives", id=ids)
    table = collectives({number: load_trace(str(path)) for number, path in enumerate(paths)})
    waits = {(row["step"], row["number"], row["rank"]): row["waiting_ns"] for row in table.to_dicts()}
    assert found["count"] == count
    assert {
        (row["step"], row["number"], number): wait for row in found["rows"] for number, wait in enumerate(row["wait"])
    } == waits
    assert all(row["slices"][1]["name"].startswith(kernel) for row in found["rows"])
