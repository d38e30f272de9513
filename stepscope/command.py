"""The command ``stepscope``, which is there even where only the part for training code is installed."""

import sys
from importlib.util import find_spec


def check_dashboard() -> None:
    """Return if the dashboard is installed.

    Raises:
        ImportError: it is not; one sentence that says what to install.
    """
    if find_spec("stepscope.dashboard") is None:
        raise ImportError(
            "The dashboard is not installed: stepscope-core has what training code needs to log and profile. "
            "Run: pip install stepscope"
        )


def main() -> int:
    """Run the command line and return the exit code."""
    try:
        check_dashboard()
    except ImportError as error:
        print(f"stepscope: {error}", file=sys.stderr)
        return 2
    from stepscope.dashboard.cli.main import main as run

    return run()
