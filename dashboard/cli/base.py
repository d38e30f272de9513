"""What a verb of the command ``stepscope`` is."""

from argparse import ArgumentParser, Namespace
from typing import Protocol


class Verb(Protocol):
    """One verb: ``stepscope NAME ...``."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the verb's arguments."""
        ...

    def run(self, arguments: Namespace) -> int:
        """Do the work and return the exit code; raises `stepscope.summary.errors.UserError` for a person to read."""
        ...
