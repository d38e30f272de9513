"""``stepscope inspect``: report what event files hold, as ``tensorboard --inspect`` does, and what was lost in them.

It also lists tensor recordings and dumps of TensorFlow's debugger.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import orjson

from stepscope.dashboard.cli.reading import (
    add_directories,
    check_addresses,
    check_logdirs,
    directories,
    printable,
    standard_output,
)
from stepscope.summary.counts import shown_names
from stepscope.summary.debugger.digest import DebugDigest, digests, text_of_digests
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.inspection import Inspected, SingleFile, inspect, text_of, text_of_files
from stepscope.summary.logdir import Logdir
from stepscope.summary.source import Source


class InspectVerb:
    """Prints a digest of the event files of log directories, or of one file."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the log directories or the file, and what to print about them."""
        place = parser.add_mutually_exclusive_group()
        add_directories(parser, place)
        place.add_argument("--event_file", "--event-file", metavar="FILE", help="one event file, of any name")
        parser.add_argument("--tag", default="", help="only this tag")
        parser.add_argument("--json", action="store_true", help="print the full report as JSON")

    def run(self, arguments: Namespace) -> int:
        """Print the digest.

        Raises:
            UserError: a log directory or the file does not exist, or two log directories have the same name.
        """
        if arguments.event_file is not None and arguments.directory:
            raise UserError("LOGDIR and --event_file contradict each other; give one of them")
        logdirs = directories(arguments) if arguments.event_file is None else []
        source = check_logdirs(logdirs) if logdirs else _file(arguments.event_file)
        inspected = inspect(source, only_tag=arguments.tag)
        check_addresses(source)
        for remark in _remarks(source, inspected, arguments):
            print(printable(remark), file=sys.stderr)
        found = digests(Logdir(source).update()) if not arguments.tag else []
        if arguments.json:
            content = _json(source, inspected, arguments.tag, found)
        else:
            text = text_of(inspected, ", ".join(logdirs), only_tag=arguments.tag)
            text += text_of_files(inspected, only_tag=arguments.tag) + text_of_digests(found)
            content = "\n".join(map(printable, text.split("\n"))).encode()
        with standard_output() as stream:
            stream.write(content)
        return 0


def _remarks(source: Source, inspected: list[Inspected], arguments: Namespace) -> Iterator[str]:
    """Yield what empty tables do not say by themselves."""
    if arguments.event_file is not None and not any(file.records for found in inspected for file in found.files):
        yield f"{arguments.event_file} has no readable event: is it an event file?"
    elif arguments.tag and not any(tags for found in inspected for tags in found.observations.tags.values()):
        tags = sorted(Logdir(source).update().tags)
        yield f"There is no tag {arguments.tag!r}; expected one of {shown_names(tags)}."


def _file(given: str) -> Source:
    try:
        source = SingleFile(given)
        with source.open(SingleFile.PATH, 0) as stream:
            stream.read(1)
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        reason = reason_of(error)
        raise UserError(f"--event_file {given} cannot be read: {reason}. Expected an event file.") from error
    return source


def _json(source: Source, inspected: list[Inspected], only_tag: str, found: list[DebugDigest]) -> bytes:
    directories: list[dict[str, Any]] = [
        {
            "name": found.name,
            "tags": found.observations.sorted_tags(),
            "statistics": found.observations.statistics(),
            "superseded": found.superseded,
            "files": [asdict(file) for file in found.files],
        }
        for found in inspected
    ]
    content: dict[str, Any] = {"inspected": source.address, "tag": only_tag or None, "directories": directories}
    if found:
        content["debugger"] = [asdict(digest) for digest in found]
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
