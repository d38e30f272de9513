"""The command ``stepscope``."""

import gc
import glob
import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Final

from rich.console import Console

from stepscope.dashboard.cli.base import Verb
from stepscope.dashboard.cli.tensorboard_flags import translated
from stepscope.summary.errors import UserError
from stepscope.summary.logdir_source import named_logdir
from stepscope.summary.storage import is_address


@dataclass(frozen=True)
class ListedVerb:
    """A verb as ``stepscope --help`` lists it. Its module is imported once it is asked for: that of some takes long."""

    name: str
    help: str
    """One line."""
    path: str
    """Its class, as `pkgutil.resolve_name` finds it."""

    def load(self) -> Verb:
        """Return the verb itself."""
        verb: Verb = resolve_name(self.path)()
        return verb


VERBS: Final = (
    ListedVerb(
        "serve",
        "follow a log directory and serve the dashboard (the default)",
        "stepscope.dashboard.cli.serve:ServeVerb",
    ),
    ListedVerb(
        "trace",
        "show one or several files of traces on the Timeline, wherever they are",
        "stepscope.dashboard.cli.trace:TraceVerb",
    ),
    ListedVerb(
        "ls",
        "list the runs of a log directory: tags, points, last step, times, size and damage",
        "stepscope.dashboard.cli.ls:ListRunsVerb",
    ),
    ListedVerb(
        "inspect",
        "print what the event files hold, and what was skipped in them",
        "stepscope.dashboard.cli.inspect:InspectVerb",
    ),
    ListedVerb(
        "export",
        "write what a log directory holds as CSV, JSON or Parquet, or its images and audio as files",
        "stepscope.dashboard.cli.export:ExportVerb",
    ),
    ListedVerb(
        "capture",
        "record running programs, through their profiler.server, into a log directory",
        "stepscope.dashboard.cli.capture:CaptureVerb",
    ),
    ListedVerb(
        "timeline",
        "convert a StepStats or RunMetadata file into a Chrome trace",
        "stepscope.dashboard.cli.timeline:TimelineVerb",
    ),
    ListedVerb(
        "convert",
        "convert a trace between Chrome JSON, StepStats and a compact cache",
        "stepscope.dashboard.cli.convert:ConvertVerb",
    ),
    ListedVerb(
        "analyze",
        "report where the time of a trace went, and check its metrics",
        "stepscope.dashboard.cli.analyze:AnalyzeVerb",
    ),
    ListedVerb(
        "graph",
        "show the graph of a model file, or write it into a run of a log directory",
        "stepscope.dashboard.cli.graph:GraphVerb",
    ),
    ListedVerb(
        "project",
        "show embeddings or weights from a file in the Projector",
        "stepscope.dashboard.cli.project:ProjectVerb",
    ),
    ListedVerb(
        "warm-up",
        "compile all loops ahead of the first start in a new image or environment",
        "stepscope.dashboard.cli.warm_up:WarmUpVerb",
    ),
    ListedVerb(
        "pb2text",
        "convert a GraphDef, MetaGraphDef or SavedModel to text protobuf",
        "stepscope.dashboard.cli.convert_graph:PbToTextVerb",
    ),
    ListedVerb(
        "text2pb",
        "convert a GraphDef, MetaGraphDef or SavedModel to binary protobuf",
        "stepscope.dashboard.cli.convert_graph:TextToPbVerb",
    ),
)
DEFAULT_VERB: Final = "serve"


def make_parser(requested: str) -> ArgumentParser:
    """Return the parser of a command line that begins with a verb; the arguments of the others are not declared."""
    parser = ArgumentParser(
        prog="stepscope",
        description="Browse training runs: event files, live, in a browser.",
        formatter_class=RawDescriptionHelpFormatter,
        epilog=(
            "Most used:\n"
            "  stepscope --logdir DIR               serve DIR at http://localhost:6006; also: stepscope DIR\n"
            "  stepscope FILE                       serve one trace or event file\n"
            "  stepscope --logdir DIR --port 7007   on another port\n"
            "  stepscope VERB --help                what a verb can do\n"
        ),
    )
    parser.add_argument("--version", action="version", version=f"stepscope {version('stepscope')}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for listed in VERBS:
        of_verb = verbs.add_parser(listed.name, help=listed.help, description=listed.help)
        if listed.name == requested:
            verb = listed.load()
            verb.add_arguments(of_verb)
            of_verb.set_defaults(chosen=verb)
    return parser


MEANT: Final = {
    "runs": "ls", "list": "ls", "tags": "ls", "show": "inspect", "dump": "export", "csv": "export",
    "profile": "analyze", "report": "analyze", "record": "capture", "view": "trace", "open": "trace", "run": "serve",
    "start": "serve", "ui": "serve", "dashboard": "serve", "tensorboard": "serve", "projector": "project",
    "embed": "project", "compile": "warm-up",
}  # fmt: skip
"""What others call some verbs."""


def with_verb(arguments: Sequence[str]) -> list[str]:
    """Return a command line with the verb that is meant where none stands: what is there to be opened is served.

    Raises:
        UserError: it begins with a word that is not a verb, and nothing of that name is there.
    """
    first = arguments[0] if arguments else ""
    if first in {"-h", "--help", "--version", *(verb.name for verb in VERBS)}:
        return list(arguments)
    places: list[str] = []
    rest = list(arguments)
    while rest and not rest[0].startswith("-"):
        place = rest.pop(0)
        if not _is_there(place):
            raise UserError(_no_such_verb(place) if not places else f"{place} is not there; expected a path.")
        places.append(f"--logdir={place}")
    return [DEFAULT_VERB, *places, *rest]


def _is_there(place: str) -> bool:
    path = named_logdir(place)[1]
    return is_address(path) or bool(glob.glob(os.path.expanduser(path))) or os.path.exists(os.path.expanduser(path))


def _no_such_verb(word: str) -> str:
    names = [verb.name for verb in VERBS]
    meant = MEANT.get(word.lower()) or next(iter(get_close_matches(word.lower(), names, 1)), None)
    lines = [f"{word} is not a verb, and there is no file or folder of that name."]
    if meant is not None:
        lines.append(f"Did you mean: stepscope {meant}   ({next(verb.help for verb in VERBS if verb.name == meant)})")
    lines += [
        f"To wait for a folder that does not exist yet: stepscope --logdir {word}",
        "All verbs: stepscope --help",
    ]
    return "\n".join(lines)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Provide modules are imported faster without garbage collections, which also need not look through them later
    on.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; without a verb it serves."""
    said = list(sys.argv[1:] if argv is None else argv)
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        arguments = with_verb(said)
        if arguments[0] == DEFAULT_VERB:
            meant = translated(arguments)
            arguments = meant.arguments
            for remark in meant.remarks:
                errors.print(f"stepscope: {remark}", style="yellow", markup=False)
        with _without_collections():
            parser = make_parser(arguments[0])
        parsed = parser.parse_args(arguments)
        chosen: Verb = parsed.chosen
        return chosen.run(parsed)
    except UserError as error:
        errors.print(f"stepscope: {error}", style="red", markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
