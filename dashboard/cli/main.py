"""The command ``stepscope``."""

import gc
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pkgutil import resolve_name
from typing import Final

from rich.console import Console

from dashboard.cli.base import Verb
from summary.errors import UserError


@dataclass(frozen=True)
class ListedVerb:
    """A verb as ``stepscope --help`` lists it. Its module is imported once it is asked for: that of some takes long."""

    name: str
    help: str
    """One line."""
    path: str
    """Its class, as `pkgutil.resolve_name` finds it."""

    def load(self) -> Verb:
        """The verb itself."""
        verb: Verb = resolve_name(self.path)()
        return verb


VERBS: Final = (
    ListedVerb(
        "serve", "follow a log directory and serve the dashboard (the default)", "dashboard.cli.serve:ServeVerb"
    ),
    ListedVerb(
        "ls",
        "list the runs of a log directory: tags, points, last step, times, size and damage",
        "dashboard.cli.ls:ListRunsVerb",
    ),
    ListedVerb(
        "inspect",
        "print what the event files hold, and what was skipped in them",
        "dashboard.cli.inspect:InspectVerb",
    ),
    ListedVerb(
        "export",
        "write what a log directory holds as CSV, JSON or Parquet, or its images and audio as files",
        "dashboard.cli.export:ExportVerb",
    ),
    ListedVerb(
        "capture",
        "record programs that run, through their profiler.server, into a log directory",
        "dashboard.cli.capture:CaptureVerb",
    ),
    ListedVerb(
        "timeline",
        "convert a StepStats or RunMetadata file into a Chrome trace",
        "dashboard.cli.timeline:TimelineVerb",
    ),
    ListedVerb(
        "convert",
        "convert a trace between Chrome JSON, StepStats and a compact cache",
        "dashboard.cli.convert:ConvertVerb",
    ),
    ListedVerb(
        "analyze", "say where the time of a trace went, and check its figures", "dashboard.cli.analyze:AnalyzeVerb"
    ),
    ListedVerb(
        "graph",
        "show the graph of a model file, or write it into a run of a log directory",
        "dashboard.cli.graph:GraphVerb",
    ),
    ListedVerb(
        "project",
        "show the points of a file of embeddings or weights in the Projector",
        "dashboard.cli.project:ProjectVerb",
    ),
    ListedVerb(
        "warm-up",
        "compile all loops, so that the first start in a new image or environment need not",
        "dashboard.cli.warm_up:WarmUpVerb",
    ),
    ListedVerb(
        "pb2text",
        "convert a GraphDef, MetaGraphDef or SavedModel to text protobuf",
        "dashboard.cli.convert_graph:PbToTextVerb",
    ),
    ListedVerb(
        "text2pb",
        "convert a GraphDef, MetaGraphDef or SavedModel to binary protobuf",
        "dashboard.cli.convert_graph:TextToPbVerb",
    ),
)
DEFAULT_VERB: Final = "serve"


def make_parser(asked: str) -> ArgumentParser:
    """The parser of a command line that begins with a verb; the arguments of the others are not declared."""
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
    for listed in VERBS:
        of_verb = verbs.add_parser(listed.name, help=listed.help, description=listed.help)
        if listed.name == asked:
            verb = listed.load()
            verb.add_arguments(of_verb)
            of_verb.set_defaults(chosen=verb)
    return parser


TENSORBOARD_FLAGS: Final = {
    "path_prefix": "a proxy that serves Stepscope under a path has to give it a name of its own (--allow-host)",
    "samples_per_plugin": "every point is read and shown; leave it out",
    "load_fast": "there is one way to read; leave it out",
    "reload_multifile": "all files of a run are followed; leave it out",
    "reload_multifile_inactive_secs": "all files of a run are followed; leave it out",
    "reload_task": "a thread follows the log directory; leave it out",
    "max_reload_threads": "one thread follows the log directory; leave it out",
    "purge_orphaned_data": "points that a restart overwrote are hidden; --keep-superseded shows them",
    "logdir_spec": "give --logdir NAME:DIR, once for each",
    "window_title": "the title is the name of the log directory; leave it out",
    "inspect": "the verb of that is: stepscope inspect --logdir DIR",
}
"""Options of TensorBoard's command that there are none of here, and what to do instead."""


def as_stepscope_says(arguments: Sequence[str]) -> list[str]:
    """A command line with those of TensorBoard's options that mean the same here by their names here.

    Ends the program, as a wrong option does, where one of the others is among them.
    """
    said: list[str] = []
    for argument in arguments:
        option, equals, value = argument.partition("=")
        name = option.removeprefix("--").replace("-", "_") if option.startswith("--") else ""
        if name in TENSORBOARD_FLAGS:
            sys.exit(_no_option(option, TENSORBOARD_FLAGS[name]))
        if name == "bind_all":
            said += ["--host", "0.0.0.0"]
        else:
            said.append(f"--reload-interval{equals}{value}" if name == "reload_interval" else argument)
    return said


def _no_option(option: str, instead: str) -> int:
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"stepscope: {option} is TensorBoard's: {instead}.", style="red", markup=False
    )
    return 2


@contextmanager
def _without_collections() -> Iterator[None]:
    """Modules are imported faster without garbage collections, which also need not look through them later on."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code; without a verb it serves."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    first = arguments[0] if arguments else ""
    if first not in {"-h", "--help", "--version", *(verb.name for verb in VERBS)} and (
        first.startswith("-") or not first
    ):
        arguments.insert(0, DEFAULT_VERB)
    with _without_collections():
        parser = make_parser(arguments[0])
    parsed = parser.parse_args(as_stepscope_says(arguments) if arguments[0] == DEFAULT_VERB else arguments)
    try:
        chosen: Verb = parsed.chosen
        return chosen.run(parsed)
    except UserError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"stepscope: {error}", style="red", markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
