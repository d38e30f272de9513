"""What a verb of the command ``stepscope`` is."""

from argparse import ArgumentParser, Namespace
from typing import Protocol


class Verb(Protocol):
    """One verb: ``stepscope NAME ...``."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declares the verb's arguments."""
        ...

    def run(self, arguments: Namespace) -> int:
        """Does the work and returns the exit code; raises `stepscope.summary.errors.UserError` for a person to read."""
        ...
