"""Runs in the order of snapshots, with efficient updates when few runs change."""

from collections.abc import Mapping

from stepscope.summary.series import Run


class OrderedRuns:
    """Runs by name, ordered by first event, then by name."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        """Never modified; replaced by a new mapping."""

    def get(self, name: str) -> Run | None:
        """Return the run of this name, if it exists."""
        return self._runs.get(name)

    def changed(self, news: Mapping[str, Run | None]) -> Mapping[str, Run]:
        """Return all runs after applying changes: new runs by name, or None for runs that no longer exist."""
        runs = dict(self._runs)
        placed: list[Run] = []
        for name, run in news.items():
            before = runs.get(name)
            if run is not None and before is not None and before.first_wall_time == run.first_wall_time:
                runs[name] = run
                continue
            if before is not None:
                del runs[name]
            if run is not None:
                placed.append(run)
        placed.sort(key=_place)
        last = next(reversed(runs.values()), None)
        # A run that has just begun comes last.
        if placed and last is not None and _place(placed[0]) < _place(last):
            placed, runs = sorted([*runs.values(), *placed], key=_place), {}
        runs.update((run.name, run) for run in placed)
        self._runs = runs
        return runs


def _place(run: Run) -> tuple[float, str]:
    return run.first_wall_time, run.name
