"""``stepscope index``: reads a log directory ahead of the first start, for this user or for all who share an index."""

import time
from argparse import ArgumentParser, Namespace
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from stepscope.dashboard.cli.reading import check_logdirs, index_at, tell_losses
from stepscope.dashboard.server.numbers import counted, file_size
from stepscope.summary.cache_folder import cache_folder
from stepscope.summary.errors import UserError
from stepscope.summary.logdir_source import requests_of
from stepscope.summary.snapshot import Snapshot

REQUESTS_A_FILE: Final = 2
"""What a start may ask a store for each file that is new or changed, beside the pages of the listing."""


class IndexVerb:
    """Brings the index of a log directory up to date."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the log directories and where their index goes."""
        parser.add_argument(
            "logdir",
            nargs="+",
            metavar="[NAME:]DIR",
            help="what stepscope --logdir takes: a path, also with wildcards, or an address such as s3://bucket/logs",
        )
        parser.add_argument(
            "--to",
            metavar="ADDRESS",
            help="the folder of the index, a path or an address; stepscope --index ADDRESS starts from it "
            "(the index in the user's cache, which every start takes)",
        )

    def run(self, arguments: Namespace) -> int:
        """Read what is new, and say how much that was.

        Raises:
            UserError: there is no such log directory, or the index cannot be written.
        """
        # What reads takes long to import; a wrong path is told before.
        source = check_logdirs(arguments.logdir)
        index = None if arguments.to is None else index_at(arguments.to, "--to")
        from stepscope.summary.column_cache import ColumnCache
        from stepscope.summary.index_places import index_in_cache
        from stepscope.summary.logdir import Logdir

        begin = time.perf_counter()
        cache = None if index is not None else ColumnCache(cache_folder("columns"))
        index = index_in_cache(source) if index is None else index
        logdir = Logdir(source, cache=cache, index=index)
        console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("Reading", total=None)

            def show(snapshot: Snapshot) -> None:
                progress.update(
                    task,
                    description=counted(len(snapshot.runs), "run"),
                    total=sum(file.size for file in snapshot.health),
                    completed=sum(file.bytes_read for file in snapshot.health),
                )

            snapshot = logdir.update(show)
            logdir.wait_until_stored()
        if index.refused:
            raise UserError(
                f"The index at {index.address} cannot be written: {index.refused}; expected a folder that is yours to "
                "write to.\nChoose another: stepscope index LOGDIR --to ADDRESS"
            )
        files = [file for file in snapshot.health if not file.is_folder]
        size = file_size(sum(file.size for file in files))
        console.print(
            f"{counted(len(snapshot.runs), 'run')}, {counted(len(files), 'event file')} ({size}), of which "
            f"{counted(logdir.taken_files, 'file')} had been read before; {time.perf_counter() - begin:.1f} s."
        )
        if (asked := requests_of(source)).total:
            new = len(files) - logdir.taken_files
            console.print(
                f"{counted(asked.total, 'request')} for the logs: {asked.pages:,} for the listing, {asked.files:,} for "
                f"{counted(new, 'new or changed file')}; the budget is {asked.pages + REQUESTS_A_FILE * new:,}, "
                f"{REQUESTS_A_FILE} a file."
            )
        console.print(f"Index: {escape(index.address)}")
        if arguments.to is not None:
            places = " ".join(f"--logdir {place}" for place in arguments.logdir)
            console.print(f"Start from it: stepscope {escape(places)} --index {escape(arguments.to)}")
        tell_losses(snapshot)
        return 0
