"""The command ``stepscope``, which exists even if only the part for training code is installed."""

import sys
from importlib.util import find_spec


def check_dashboard() -> None:
    """Check that the dashboard is installed.

    Raises:
        ImportError: it is not; the message is one sentence that says what to install.
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
