"""The command ``stepscope``."""

import glob
import logging
import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import version
from typing import Final

from rich.console import Console

from stepscope.dashboard.cli.base import ListedVerb, Verb
from stepscope.dashboard.cli.imports import quick_imports
from stepscope.dashboard.cli.reading import flushed_output
from stepscope.dashboard.cli.tensorboard_flags import translated
from stepscope.dashboard.cli.verb_parser import VerbParser
from stepscope.dashboard.cli.verbs import OTHERS, VERBS, all_verbs
from stepscope.plugins import ERRORS_OF_OTHERS
from stepscope.record_fields import check_methods
from stepscope.summary.errors import UserError
from stepscope.summary.logdir_source import named_logdir
from stepscope.summary.storage import is_address

DEFAULT_VERB: Final = "serve"
LOG_LEVEL: Final = "STEPSCOPE_LOG"
"""Environment variable with the level of messages; at "debug", failures of plug-ins have their tracebacks."""
_OWN: Final = frozenset(verb.name for verb in VERBS)


MOST_USED: Final = """\
Most used:
  stepscope --logdir DIR               serve DIR at http://localhost:6006; also: stepscope DIR
  stepscope FILE                       serve one trace or event file
  stepscope --logdir DIR --port 7007   on another port
  stepscope demo                       see it with sample logs
  stepscope COMMAND --help             what a command can do
"""


def make_parser(requested: str) -> ArgumentParser:
    """Return the parser of a command line that begins with a verb; arguments of other verbs are not declared."""
    parser = ArgumentParser(
        prog="stepscope",
        description="Browse training runs: event files, live, in a browser.",
        formatter_class=RawDescriptionHelpFormatter,
        epilog=MOST_USED,
    )
    parser.add_argument("--version", action="version", version=f"stepscope {version('stepscope')}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True, parser_class=VerbParser)
    # Verbs of other distributions are looked up only if requested or listed.
    for listed in VERBS if requested in _OWN else all_verbs():
        of_verb = verbs.add_parser(listed.name, help=_literal(listed.help), description=listed.help)
        if listed.name == requested:
            verb = _prepared(listed, of_verb)
            of_verb.set_defaults(chosen=verb)
    return parser


def _literal(help_text: str) -> str:
    """Return a help text escaped so that `argparse` shows it literally."""
    return help_text.replace("%", "%%")


def _prepared(listed: ListedVerb, parser: ArgumentParser) -> Verb:
    """Return a verb that has declared its arguments.

    Raises:
        UserError: the verb belongs to another distribution, and cannot be loaded.
    """
    try:
        verb = listed.load()
        check_methods(verb, Verb)
        verb.add_arguments(parser)
    except ERRORS_OF_OTHERS as error:
        if listed.name in _OWN:
            raise
        OTHERS.fail(listed, error)
        raise UserError(_failed(listed.name)) from error
    return verb


def _failed(verb: str) -> str:
    return f"{verb} cannot be used, because its plug-in failed."


MEANT: Final = {
    "runs": "ls", "list": "ls", "tags": "ls", "show": "inspect", "dump": "export", "csv": "export",
    "profile": "analyze", "report": "analyze", "record": "capture", "view": "trace", "open": "trace", "run": "serve",
    "start": "serve", "ui": "serve", "dashboard": "serve", "tensorboard": "serve", "projector": "project",
    "embed": "project", "compile": "warm-up",
}  # fmt: skip
"""Words that other programs use, with the verbs they mean here."""


def with_verb(arguments: Sequence[str]) -> list[str]:
    """Return a command line with the implied verb if it has none: existing files and folders are served.

    Raises:
        UserError: the command line begins with a word that is neither a verb nor the name of a file or folder.
    """
    first = arguments[0] if arguments else ""
    if first in {"-h", "--help", "--version", *_OWN}:
        return list(arguments)
    # A file of that name must follow a verb, as with Stepscope's own verbs.
    if first and not first.startswith("-") and first in {verb.name for verb in OTHERS.records()}:
        return list(arguments)
    places: list[str] = []
    rest = list(arguments)
    while rest and not rest[0].startswith("-"):
        place = rest.pop(0)
        if not _is_there(place):
            raise UserError(_no_such_verb(place) if not places else f"{place} does not exist; expected a path.")
        places.append(f"--logdir={place}")
    return [DEFAULT_VERB, *places, *rest]


def _is_there(place: str) -> bool:
    path = named_logdir(place)[1]
    return is_address(path) or bool(glob.glob(os.path.expanduser(path))) or os.path.exists(os.path.expanduser(path))


def _no_such_verb(word: str) -> str:
    helps = {verb.name: verb.help for verb in all_verbs()}
    meant = MEANT.get(word.lower()) or next(iter(get_close_matches(word.lower(), list(helps), 1)), None)
    if any(failure.plugin.name == word for failure in OTHERS.known_failures()):
        return _failed(word)
    lines = [f"{word} is not a command, and there is no file or folder of that name."]
    if meant is not None:
        lines.append(f"Did you mean: stepscope {meant}   ({helps[meant]})")
    lines += [
        f"To wait for a folder that does not exist yet: stepscope --logdir {word}",
        "All commands: stepscope --help",
    ]
    return "\n".join(lines)


def _run(arguments: Namespace) -> int:
    chosen: Verb = arguments.chosen
    try:
        code = chosen.run(arguments)
        if not isinstance(code, int):
            raise TypeError(f"it returned {type(code).__name__}, expected an exit code")
        return code
    except UserError:
        raise
    except Exception as error:
        listed = next(
            (verb for verb in (OTHERS.records() if arguments.verb not in _OWN else ()) if verb.name == arguments.verb),
            None,
        )
        if listed is None:
            raise
        OTHERS.fail(listed, error, "run")
        return 1


def _log_as_requested() -> None:
    level = os.environ.get(LOG_LEVEL)
    if level is None:
        return
    if level.upper() not in logging.getLevelNamesMapping():
        raise UserError(f"{LOG_LEVEL} is {level}; expected debug, info, warning or error.")
    logging.basicConfig(format="%(message)s")
    logging.getLogger("stepscope").setLevel(level.upper())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; without a verb it serves."""
    said = list(sys.argv[1:] if argv is None else argv)
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    if not said:
        sys.stderr.write(f"{MOST_USED}  stepscope --help                     all commands\n")
        return 2
    try:
        _log_as_requested()
        arguments = with_verb(said)
        if arguments[0] == DEFAULT_VERB:
            meant = translated(arguments)
            arguments = meant.arguments
            for remark in meant.remarks:
                errors.print(f"stepscope: {remark}", style="yellow", markup=False)
        with quick_imports():
            parser = make_parser(arguments[0])
        with flushed_output():
            return _run(parser.parse_args(arguments))
    except UserError as error:
        errors.print(f"stepscope: {error}", style="red", markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
