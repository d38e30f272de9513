"""``stepscope warm-up``: compile Stepscope's code, so that no later start has to."""

import time
from argparse import ArgumentParser, Namespace

from stepscope.dashboard.cli.reading import print_lines
from stepscope.dashboard.server.warm_up import WARMERS


class WarmUpVerb:
    """Compiles Stepscope's code, and reports how long each part took."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare nothing: the verb has no arguments."""

    def run(self, arguments: Namespace) -> int:
        for name, warm in WARMERS.items():
            begin = time.perf_counter()
            warm()
            print_lines(f"{name}: {time.perf_counter() - begin:.1f} s")
        print_lines("Everything is compiled; the next start uses it.")
        return 0
