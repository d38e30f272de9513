"""The verbs of the command ``stepscope``: the interface of a verb, and its entry in the list."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Protocol


class Verb(Protocol):
    """One verb: ``stepscope NAME ...``. Any class that can be created without arguments; it need not derive from this.

    A verb prints its results on standard output and everything else on standard error, and returns 0 on success. It
    reports a user's mistake by raising `stepscope.summary.errors.UserError` with one sentence: the command prints the
    sentence without a traceback, and exits with the error's exit code, by default 2.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the verb's arguments; called once, before `run`. ``--help`` is already declared."""
        ...

    def run(self, arguments: Namespace) -> int:
        """Do the work and return the exit code; raise `stepscope.summary.errors.UserError` for errors users can fix."""
        ...


@dataclass(frozen=True)
class ListedVerb:
    """A verb as ``stepscope --help`` lists it. Its module is imported on demand, as some imports take long."""

    name: str
    """What stands behind ``stepscope``: lowercase letters, digits and hyphens."""
    help: str
    """One line, which begins in lower case and has no period at its end."""
    path: str
    """Its class, a `Verb`, as `pkgutil.resolve_name` finds it: ``package.module:Class``."""

    def load(self) -> Verb:
        """Return the verb itself."""
        verb: Verb = resolve_name(self.path)()
        return verb
