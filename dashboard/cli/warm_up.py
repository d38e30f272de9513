"""``stepscope warm-up``: compile Stepscope's code, so that no later start has to."""

import time
from argparse import ArgumentParser, Namespace

from rich.console import Console

from stepscope.dashboard.server.warm_up import WARMERS


class WarmUpVerb:
    """Compiles Stepscope's code, and reports how long each part took."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare nothing: the verb has no arguments."""

    def run(self, arguments: Namespace) -> int:
        console = Console(highlight=False, soft_wrap=True)
        for name, warm in WARMERS.items():
            begin = time.perf_counter()
            warm()
            console.print(f"{name}: {time.perf_counter() - begin:.1f} s")
        console.print("Everything is compiled; the next start uses it.")
        return 0
