"""``stepscope rank``: the effective rank of each spectrum at its latest step."""

from argparse import ArgumentParser, Namespace
from typing import Final

from stepscope.dashboard.cli.base import ListedVerb, Verb

VERB: Final = ListedVerb(
    "rank", "print the effective rank of each logged spectrum at its latest step", "stepscope_example.verb:RankVerb"
)


class RankVerb(Verb):
    """Prints a line for each run and tag: run, tag, step, effective rank, and how many singular values there are."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the log directory."""
        parser.add_argument("logdir", metavar="DIR", help="the log directory")

    def run(self, arguments: Namespace) -> int:
        """Print the lines, with tabs between."""
        # Slow imports are here, because `stepscope --help` imports this module, too.
        from stepscope.dashboard.cli.reading import read_logdir
        from stepscope_example.kind import NAME

        table = read_logdir([arguments.logdir]).table(NAME, last=1)
        for run, tag, step, rank, values in table.select("run", "tag", "step", "rank", "values").iter_rows():
            print(run, tag, step, f"{rank:.2f}", len(values), sep="\t")
        return 0
