"""``python -m stepscope`` is the command ``stepscope``."""

import sys

from stepscope.command import main

if __name__ == "__main__":
    sys.exit(main())
