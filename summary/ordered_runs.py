"""Runs in the order in which snapshots have them, of which one look changes few."""

from collections.abc import Mapping

from stepscope.summary.series import Run


class OrderedRuns:
    """Runs by name, in order of their first events and then of their names."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        """Never changed; replaced by another."""

    def get(self, name: str) -> Run | None:
        """Return a run, if there is one of this name."""
        return self._runs.get(name)

    def changed(self, news: Mapping[str, Run | None]) -> Mapping[str, Run]:
        """Return all runs after changes: of some names, what they are now, or None for what is gone."""
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
        # A run that has just begun is the last one.
        if placed and last is not None and _place(placed[0]) < _place(last):
            placed, runs = sorted([*runs.values(), *placed], key=_place), {}
        runs.update((run.name, run) for run in placed)
        self._runs = runs
        return runs


def _place(run: Run) -> tuple[float, str]:
    return run.first_wall_time, run.name
