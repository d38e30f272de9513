"""The command ``stepscope``, where the packages that it runs may be hidden by modules of the user's."""

import sys

from stepscope.hidden import check_packages


def main() -> int:
    """Runs the command line and returns the exit code."""
    try:
        check_packages()
    except ImportError as error:
        print(f"stepscope: {error}", file=sys.stderr)
        return 2
    from dashboard.cli.main import main as run

    return run()
