"""``python -m dashboard`` is the command ``stepscope``."""

import sys

from dashboard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
