"""``stepscope serve`` for a notebook: it ends when its standard input does, which is when the kernel is gone.

This way, nothing stays behind even if the kernel is killed.
"""

import os
import signal
import sys
import threading

from stepscope.dashboard.cli.main import main


def end_with_input() -> None:
    """Wait for the end of standard input, then interrupt this process as Ctrl+C does."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, name="kernel", daemon=True).start()
    sys.exit(main(["serve", *sys.argv[1:]]))
