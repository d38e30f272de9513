"""What a verb of the command ``stepscope`` is: what it does, and how it is listed."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Protocol


class Verb(Protocol):
    """One verb: ``stepscope NAME ...``. A class that can be made without arguments; it need not derive from this one.

    A verb prints its results on standard output and everything else on standard error, and returns 0 where it did what
    was asked. It says what a person did wrong by raising `stepscope.summary.errors.UserError` with one sentence: the
    command prints that without a traceback, and ends with the error's exit code, 2 unless it says otherwise.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the verb's arguments; called once, before `run`. ``--help`` is there already."""
        ...

    def run(self, arguments: Namespace) -> int:
        """Do the work and return the exit code; raises `stepscope.summary.errors.UserError` for a person to read."""
        ...


@dataclass(frozen=True)
class ListedVerb:
    """A verb as ``stepscope --help`` lists it. Its module is imported once it is asked for: that of some takes long."""

    name: str
    """What stands behind ``stepscope``: lower-case letters, digits and hyphens."""
    help: str
    """One line, which begins in lower case and has no period at its end."""
    path: str
    """Its class, a `Verb`, as `pkgutil.resolve_name` finds it: ``package.module:Class``."""

    def load(self) -> Verb:
        """Return the verb itself."""
        verb: Verb = resolve_name(self.path)()
        return verb
