"""Runs every benchmark and prints one table: ``make benchmarks``."""

from rich.console import Console

from benchmarks import (
    analysis,
    annotating,
    browser,
    graph,
    live,
    many_runs,
    media,
    page,
    projector,
    projector_numbers,
    projector_pca,
    projector_tsne,
    reading,
    start,
    timeline,
    traces,
    writing,
)
from benchmarks._report import print_figures


def main() -> None:
    figures = []
    for benchmark in (
        reading,
        many_runs,
        writing,
        media,
        annotating,
        traces,
        analysis,
        live,
        start,
        browser,
        page,
        timeline,
        graph,
        projector_numbers,
        projector_pca,
        projector_tsne,
        projector,
    ):
        Console(stderr=True).print(f"running {benchmark.__name__} ...")
        figures += benchmark.run()
    print_figures(figures)


if __name__ == "__main__":
    main()
