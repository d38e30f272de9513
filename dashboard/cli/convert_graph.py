"""``stepscope pb2text`` and ``text2pb``: convert TensorFlow graphs to readable text, and back."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from stepscope.dashboard.cli.output_files import check_output, writable
from stepscope.dashboard.cli.reading import standard_output
from stepscope.summary.counts import counted
from stepscope.summary.graphs.files import (
    GraphMessage,
    binary_of,
    graph_def_of,
    parse_graph_file,
    read_model_file,
    text_of,
    unknown_fields,
)
from stepscope.summary.storage import whole_file

STANDARD_OUTPUT = "-"


class PbToTextVerb:
    """Writes a graph as text protobuf."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file to read and the one to write."""
        _add_files(parser, ".pbtxt")

    def run(self, arguments: Namespace) -> int:
        """Write the text, and report on standard error what was written and what text cannot hold.

        Raises:
            UserError: the file holds no graph, or the output cannot be written, is the file itself, or has the name of
                an event file.
        """
        message = _read(arguments, "graph.pbtxt")
        _write(arguments.output, text_of(message).encode())
        lost = unknown_fields(message)
        if lost:
            print(
                f"Left out {counted(lost, 'field')} that this version does not know: text protobuf cannot hold them.",
                file=sys.stderr,
            )
        _report(arguments.output, type(message).__name__, len(graph_def_of(message).node))
        return 0


class TextToPbVerb:
    """Writes a graph as binary protobuf."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file to read and the one to write."""
        _add_files(parser, ".pb")

    def run(self, arguments: Namespace) -> int:
        """Write the message, and report on standard error what was written.

        Raises:
            UserError: the file holds no graph, or the output cannot be written, is the file itself, or has the name of
                an event file.
        """
        message = _read(arguments, "graph.pb")
        _write(arguments.output, binary_of(message))
        _report(arguments.output, type(message).__name__, len(graph_def_of(message).node))
        return 0


def _add_files(parser: ArgumentParser, ending: str) -> None:
    parser.add_argument(
        "input",
        metavar="IN",
        help="a GraphDef, MetaGraphDef or SavedModel, as binary or text protobuf, or a SavedModel's directory",
    )
    parser.add_argument(
        "output",
        metavar="OUT",
        nargs="?",
        default=STANDARD_OUTPUT,
        help=f"the {ending} file to write (default: standard output)",
    )


def _read(arguments: Namespace, example: str) -> GraphMessage:
    file, content = read_model_file(arguments.input)
    if arguments.output != STANDARD_OUTPUT:
        check_output(arguments.output, str(file), example)
    return parse_graph_file(content, name=str(file))


def _write(path: str, content: bytes) -> None:
    if path == STANDARD_OUTPUT:
        with standard_output() as stream:
            stream.write(content)
        return
    with writable(path), whole_file(Path(path)) as stream:
        stream.write(content)


def _report(path: str, kind: str, nodes: int) -> None:
    shown = "standard output" if path == STANDARD_OUTPUT else path
    print(f"Wrote {shown}: {kind} of {counted(nodes, 'node')}.", file=sys.stderr)
