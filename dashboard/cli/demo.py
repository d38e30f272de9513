"""``stepscope demo``: serve the dashboard over the sample logs that are installed with it."""

import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from stepscope.dashboard.cli.reading import check_logdirs
from stepscope.dashboard.cli.serve import ServeVerb
from stepscope.dashboard.server.steady_output import steady_console
from stepscope.dashboard.server.temporary_folders import OwnedFolder
from stepscope.summary.errors import UserError, reason_of

SAMPLES: Final = Path(__file__).parent.parent / "sample_logs"
"""Runs of small networks that learn to classify digits, with everything that the dashboard shows."""
NAME: Final = "digits"


class DemoVerb:
    """Serves the sample logs from a copy, so that nothing is written where packages are installed."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare where the logs go, and how to serve."""
        parser.add_argument(
            "--folder",
            type=Path,
            metavar="DIR",
            help="put the sample logs into DIR and leave them there, to try other commands on them "
            "(default: a temporary folder, deleted at the end)",
        )
        ServeVerb.add_server_arguments(parser)

    def run(self, arguments: Namespace) -> int:
        """Serve the sample logs until Ctrl+C.

        Raises:
            UserError: the sample logs cannot be copied.
        """
        console = steady_console()
        if arguments.folder is not None:
            put_samples(arguments.folder)
            return ServeVerb.run_with(arguments, check_logdirs([str(arguments.folder)], console), console)
        # The next start uses a folder of another name, for which anything cached for this one would be useless.
        arguments.no_cache = True
        owned = OwnedFolder("demo")
        try:
            logdir = owned.path / "logs"
            put_samples(logdir)
            return ServeVerb.run_with(arguments, check_logdirs([str(logdir)], console), console)
        finally:
            owned.close()


def put_samples(folder: Path) -> None:
    """Copy the sample logs to ``folder/digits``, created if needed; sample logs that are there stay as they are.

    Raises:
        UserError: the sample logs are not installed, or the folder cannot be written or holds something else.
    """
    if not SAMPLES.is_dir():
        raise UserError(f"The sample logs are not installed; expected them in {SAMPLES}.")
    try:
        if (folder / NAME).exists():
            return
        if folder.is_dir() and any(folder.iterdir()):
            raise UserError(
                f"--folder {folder} has other files in it, and no sample logs; expected a new or an empty folder."
            )
        shutil.copytree(SAMPLES, folder / NAME)
    except OSError as error:
        raise UserError(f"The sample logs cannot be written to {folder}: {reason_of(error)}.") from error
