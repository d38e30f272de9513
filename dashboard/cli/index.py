"""``stepscope index``: read a log directory ahead of the first start, for this user or all users of a shared index."""

import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.markup import escape

from stepscope.dashboard.cli.engines import add_engine, exit_code, last_step, progress_bar
from stepscope.dashboard.cli.reading import check_addresses, check_logdirs, index_at, tell_losses
from stepscope.dashboard.server.numbers import file_size
from stepscope.summary.cache_folder import cache_folder
from stepscope.summary.counts import counted
from stepscope.summary.engine import Progress, engine_at
from stepscope.summary.errors import UserError
from stepscope.summary.logdir_source import requests_of
from stepscope.summary.source import Source

if TYPE_CHECKING:
    from stepscope.summary.index_building import IndexTotals
    from stepscope.summary.log_index import LogIndex
    from stepscope.summary.snapshot import Snapshot

REQUESTS_A_FILE: Final = 2
"""Requests that a start may send to a store per new or changed file, besides those for the pages of the listing."""


class IndexVerb:
    """Brings the index of a log directory up to date."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the log directories and where their index goes."""
        parser.add_argument(
            "logdir",
            nargs="+",
            metavar="[NAME:]DIR",
            help="what stepscope --logdir takes: a path, which may have wildcards, or an address such as s3://bucket/logs",
        )
        parser.add_argument(
            "--to",
            metavar="ADDRESS",
            help="the folder of the index, a path or an address; stepscope --index ADDRESS starts from it "
            "(default: the index in the user's cache, which every start uses)",
        )
        add_engine(
            parser, "read the event files and write the index that --to names", default="threads of this process"
        )

    def run(self, arguments: Namespace) -> int:
        """Read what is new, and report how much that was.

        Raises:
            UserError: there is no such log directory or engine, or the index cannot be written.
        """
        # The imports for reading take long; a wrong path is reported before them.
        source = check_logdirs(arguments.logdir)
        if arguments.engine is not None and arguments.to is None:
            raise UserError(
                f"--engine {arguments.engine} needs --to: its workers write the index together, to a folder or an "
                "address that all of them reach."
            )
        index = None if arguments.to is None else index_at(arguments.to, "--to")
        begin = time.perf_counter()
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        progress = Progress(0, 0)
        interrupted = False
        if arguments.engine is None or index is None:
            from stepscope.summary.index_places import index_in_cache

            # In the cache, a large file has a cache file of its own.
            cached = index is None
            index = index_in_cache(source) if index is None else index
            totals = _read(source, index, console, cached=cached)
        else:
            totals, interrupted = _fill(arguments, index, progress, console)
        console.print(
            f"{counted(totals.runs, 'run')}, {counted(totals.files, 'event file')} ({file_size(totals.size)}), "
            f"of which {counted(totals.taken, 'file')} had been read before; {time.perf_counter() - begin:.1f} s."
        )
        if (asked := totals.requests).total:
            new = totals.files - totals.taken
            console.print(
                f"{counted(asked.total, 'request')} for the logs: {asked.pages:,} for the listing, {asked.files:,} for "
                f"{counted(new, 'new or changed file')}; at most {asked.pages + REQUESTS_A_FILE * new:,} were "
                f"expected: {asked.pages:,} for the listing, {REQUESTS_A_FILE} for each new or changed file."
            )
        console.print(f"Index: {escape(index.address)}")
        if missing := progress.parts - progress.done:
            console.print(f"{counted(missing, 'file')} not read; run the same command again to retry.")
        elif arguments.to is not None:
            places = " ".join(f"--logdir {place}" for place in arguments.logdir)
            console.print(f"Start from it: stepscope {escape(places)} --index {escape(arguments.to)}")
        tell_losses(totals.left_out)
        return exit_code(progress, interrupted=interrupted)


def _read(source: Source, index: "LogIndex", console: Console, *, cached: bool) -> "IndexTotals":
    """Read what is new as a start does, in this process."""
    from stepscope.summary.column_cache import ColumnCache
    from stepscope.summary.index_building import IndexTotals, unwritable
    from stepscope.summary.logdir import Logdir

    logdir = Logdir(source, cache=ColumnCache(cache_folder("columns")) if cached else None, index=index)
    with progress_bar(console) as progress:
        task = progress.add_task("Reading", total=None)

        def show(snapshot: "Snapshot") -> None:
            progress.update(
                task,
                description=counted(len(snapshot.runs), "run"),
                total=sum(file.size for file in snapshot.health),
                completed=sum(file.bytes_read for file in snapshot.health),
            )

        snapshot = logdir.update(show)
        check_addresses(source)
        logdir.wait_until_stored()
    if index.refused:
        raise UserError(unwritable(index.address, index.refused))
    files = [file for file in snapshot.health if not file.is_folder]
    size = sum(file.size for file in files)
    return IndexTotals(len(snapshot.runs), len(files), size, logdir.taken_files, snapshot.left_out, requests_of(source))


def _fill(arguments: Namespace, index: "LogIndex", progress: Progress, console: Console) -> "tuple[IndexTotals, bool]":
    """Have an engine read what is new; also return whether Ctrl+C ended it early."""
    from stepscope.summary.index_building import fill_index
    from stepscope.summary.log_parts import from_anywhere

    with engine_at(arguments.engine) as engine:
        steps = fill_index(from_anywhere(arguments.logdir), index, engine, progress)
        totals, interrupted = last_step(steps, progress, "file", console)
    assert totals is not None, "the first step comes before any work"
    return totals, interrupted
