"""The command ``stepscope``."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from rich.console import Console

from dashboard.verbs.analyze import AnalyzeVerb
from dashboard.verbs.base import Verb
from dashboard.verbs.capture import CaptureVerb
from dashboard.verbs.convert import ConvertVerb
from dashboard.verbs.convert_graph import PbToTextVerb, TextToPbVerb
from dashboard.verbs.export import ExportVerb
from dashboard.verbs.graph import GraphVerb
from dashboard.verbs.inspect_files import InspectVerb
from dashboard.verbs.list_runs import ListRunsVerb
from dashboard.verbs.project import ProjectVerb
from dashboard.verbs.serve import ServeVerb
from dashboard.verbs.timeline import TimelineVerb
from summary.errors import UserError

VERBS: Final[tuple[Verb, ...]] = (
    ServeVerb(),
    ListRunsVerb(),
    InspectVerb(),
    ExportVerb(),
    CaptureVerb(),
    TimelineVerb(),
    ConvertVerb(),
    AnalyzeVerb(),
    GraphVerb(),
    ProjectVerb(),
    PbToTextVerb(),
    TextToPbVerb(),
)
DEFAULT_VERB: Final = "serve"


def make_parser() -> ArgumentParser:
    """The parser of the whole command line."""
    parser = ArgumentParser(
        prog="stepscope",
        description="Browse training runs: event files, live, in a browser.",
        formatter_class=RawDescriptionHelpFormatter,
        epilog=(
            "Most used:\n"
            "  stepscope --logdir DIR               serve DIR at http://localhost:6006\n"
            "  stepscope --logdir DIR --port 7007   on another port\n"
            "  stepscope VERB --help                what a verb can do\n"
        ),
    )
    parser.add_argument("--version", action="version", version=f"stepscope {version('stepscope')}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        verb.add_arguments(verbs.add_parser(verb.name, help=verb.help, description=verb.help))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code; without a verb it serves."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    first = arguments[0] if arguments else ""
    if first not in {"-h", "--help", "--version", *(verb.name for verb in VERBS)} and (
        first.startswith("-") or not first
    ):
        arguments.insert(0, DEFAULT_VERB)
    parsed = make_parser().parse_args(arguments)
    verb = next(verb for verb in VERBS if verb.name == parsed.verb)
    try:
        return verb.run(parsed)
    except UserError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"stepscope: {error}", style="red", markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
