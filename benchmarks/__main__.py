"""Runs benchmarks, keeps their figures in results.json and writes the pages made of it: ``make benchmarks``.

``python -m benchmarks reading start`` runs these two alone, and leaves the figures of the others as they are.
"""

import argparse
import sys
import time
import traceback
from importlib import import_module
from typing import Final

from rich.console import Console

from benchmarks._report import print_figures
from benchmarks._results import Result, conditions_now, load_results, save_results
from benchmarks.report import write_pages

BENCHMARKS: Final = (
    "reading",
    "many_runs",
    "growth",
    "object_store",
    "many_ranks",
    "writing",
    "media",
    "annotating",
    "debugger",
    "traces",
    "analysis",
    "live",
    "start",
    "browser",
    "page",
    "timeline",
    "graph",
    "projector_numbers",
    "projector_pca",
    "projector_tsne",
    "projector",
)
"""Modules of this package with a ``run``, in the order of the page."""


def main() -> int:
    """Run the benchmarks that are named, or all; 1 if one of them failed, whose former figures then stay."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("benchmark", nargs="*", metavar="BENCHMARK", help=f"one of {', '.join(BENCHMARKS)}")
    chosen = parser.parse_args().benchmark
    if unknown := set(chosen) - set(BENCHMARKS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; expected {', '.join(BENCHMARKS)}")
    console = Console(stderr=True)
    failed = []
    for name in chosen or BENCHMARKS:
        console.print(f"running {name} ...")
        try:
            result = measured(name)
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        print_figures(result.figures)
        console.print(f"{name} took {result.seconds:.0f} s")
        if result.figures:
            # Saved at once, so that the failure of a later benchmark loses nothing.
            results = load_results() | {name: result}
            save_results({name: results[name] for name in BENCHMARKS if name in results})
            write_pages()
    if failed:
        console.print(f"failed: {', '.join(failed)}")
    return bool(failed)


def measured(name: str) -> Result:
    """Run one benchmark."""
    conditions = conditions_now()
    begin = time.perf_counter()
    figures = import_module(f"benchmarks.{name}").run()
    return Result(conditions, round(time.perf_counter() - begin, 1), figures)


if __name__ == "__main__":
    sys.exit(main())
