"""Attacks a dashboard of this machine with requests that cost much, and prints what they cost.

Start the dashboard over a log directory with many points, which ``python -m tools.attack_server --make DIR`` writes,
then give its port and process id. While an attack runs, another thread asks for /data/environment, as any user would:
the longest wait is printed.
"""

import argparse
import http.client
import ipaddress
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

from stepscope.summary import SummaryWriter

_TIMEOUT_S = 120.0
_ABANDONED = 45


def status_kib(pid: int, name: str) -> int:
    """Return a field of ``/proc/PID/status``, in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise SystemExit(f"Process {pid} has no {name}.")


class Target:
    """A dashboard on the loopback interface."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "", most: int = 1 << 62) -> str:
        """Return the status and size of the response, of which up to ``most`` bytes are read."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, path, body, {"Content-Type": kind} if kind else {})
            answer = connection.getresponse()
            size = 0
            while size < most and (piece := answer.read(1 << 20)):
                size += len(piece)
            return f"{answer.status}, {size:,} bytes"
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        finally:
            connection.close()

    def abandon(self, path: str) -> None:
        """Send a request, and leave without waiting."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)
        connection.request("GET", path)
        connection.close()

    @contextmanager
    def probed(self) -> Iterator[list[float]]:
        """Send cheap requests all the time, and yield the list of the seconds that each took."""
        waits: list[float] = []
        over = threading.Event()

        def probe() -> None:
            while not over.wait(0.02):
                begin = time.monotonic()
                self.ask("GET", "/data/environment")
                waits.append(time.monotonic() - begin)

        thread = threading.Thread(target=probe)
        thread.start()
        try:
            yield waits
        finally:
            over.set()
            thread.join()


def time_series(target: Target, tag: str, times: int) -> str:
    body = urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": tag}] * times)}).encode()
    path = "/data/plugin/timeseries/timeSeries"
    return target.ask("POST", path, body, "application/x-www-form-urlencoded")


def nested(target: Target) -> str:
    paths = ("/api/scalars/curves", "/_dash-update-component")
    return "; ".join(target.ask("POST", path, b'{"a":' * 700_000, "application/json") for path in paths)


def abandoned(target: Target, path: str) -> str:
    for _ in range(_ABANDONED):
        target.abandon(path)
    return target.ask("GET", "/data/runs")


def attacks(target: Target, options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], str]]]:
    tag = options.tag
    for times in options.times:
        yield f"timeSeries, one tag {times} times", partial(time_series, target, tag, times)
    run = quote(options.run)
    yield (
        f"every point of {options.run}",
        partial(target.ask, "GET", f"/data/plugin/scalars/scalars?run={run}&tag={quote(options.long_tag)}"),
    )
    yield "JSON nested 700,000 deep", partial(nested, target)
    if options.trace:
        path = f"/api/timeline/relations?id={quote(options.trace)}&index=0"
        yield f"{_ABANDONED} abandoned relations", partial(abandoned, target, path)


def make(folder: Path, runs: int, points: int, most: int) -> None:
    """Write a log directory: many runs of a tag, and one run, "long", with many points."""
    for number in range(runs):
        with SummaryWriter(folder / f"run_{number:03}") as writer:
            for step in range(points):
                writer.add_scalar("loss", 1 / (step + 1), step)
    with SummaryWriter(folder / "long") as writer:
        for step in range(most):
            writer.add_scalar("long", 1 / (step + 1), step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", type=Path, metavar="DIR", help="only write a log directory to be attacked")
    parser.add_argument("--runs", type=int, default=50, help="of --make (%(default)s)")
    parser.add_argument("--points", type=int, default=800, help="of each run of --make (%(default)s)")
    parser.add_argument("--most", type=int, default=5_000_000, help="points of the long run of --make (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="an address of the loopback (%(default)s)")
    parser.add_argument("--port", type=int, default=6006, help="(%(default)s)")
    parser.add_argument("--pid", type=int, help="the dashboard's process, whose memory is printed")
    parser.add_argument("--tag", default="loss", help="of scalars (%(default)s)")
    parser.add_argument("--long-tag", default="long", help="of the run below (%(default)s)")
    parser.add_argument("--run", default="long", help="of which every point is asked for (%(default)s)")
    parser.add_argument("--times", type=int, nargs="*", default=[10, 1_000], help="equal time series in one request")
    parser.add_argument("--trace", default="", help="id of a trace that is hard to work on")
    options = parser.parse_args()
    if options.make is not None:
        make(options.make, options.runs, options.points, options.most)
        return
    if not ipaddress.ip_address(options.host).is_loopback:
        raise SystemExit("Only a dashboard of this machine is attacked: give an address of the loopback.")
    target = Target(options.host, options.port)
    for name, attack in attacks(target, options):
        before = status_kib(options.pid, "VmHWM") if options.pid else 0
        begin = time.monotonic()
        with target.probed() as waits:
            said = attack()
        seconds = time.monotonic() - begin
        print(f"{name}: {said}; {seconds:.1f} s, others waited {max(waits, default=0):.2f} s", flush=True)
        if options.pid:
            print(f"    most memory {before >> 10:,} -> {status_kib(options.pid, 'VmHWM') >> 10:,} MiB", flush=True)


if __name__ == "__main__":
    main()
