"""``stepscope graph``: show the graph of a model file, or write it into an event file of a run."""

from argparse import ArgumentParser, Namespace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.markup import escape

from stepscope.dashboard.cli.reading import print_lines
from stepscope.dashboard.cli.serve import DEFAULT_PORT, listen, serve, token_for
from stepscope.dashboard.cli.start import Served
from stepscope.dashboard.server.access import Access
from stepscope.dashboard.server.steady_output import steady_console
from stepscope.summary.counts import counted
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.graphs.dispatch import graph_of_file, keras_json_of_file
from stepscope.summary.graphs.from_keras import graph_from_keras
from stepscope.summary.kinds.graph import graph, keras_model
from stepscope.summary.logdir_source import source_of
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.storage import Folder, folder_at, is_address

if TYPE_CHECKING:
    from stepscope.dashboard.server.live import Live

HOST: Final = "localhost"
KERAS_TAG = "keras"
"""The tag that Keras's own callback uses."""


class GraphVerb:
    """Shows a model's graph, or writes it into a log directory."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the model, and the run that gets its graph."""
        parser.add_argument(
            "model",
            metavar="MODEL",
            help="an ONNX model, an OpenVINO .xml file, a Keras model's JSON or .keras file, a SavedModel's directory, "
            "or a GraphDef, MetaGraphDef or SavedModel as binary or text protobuf",
        )
        parser.add_argument(
            "--logdir",
            metavar="DIR",
            help="write the graph into this log directory; if omitted, serve it until Ctrl+C",
        )
        parser.add_argument(
            "--run",
            metavar="NAME",
            help="the run to write to, a path below DIR (default: the name of MODEL without its extension)",
        )
        parser.add_argument(
            "--port",
            type=int,
            help=f"without --logdir: port to serve on (default: {DEFAULT_PORT} or, if taken, the next free one)",
        )
        parser.add_argument(
            "--open-browser", action="store_true", help="without --logdir: open the page in the default browser"
        )

    def run(self, arguments: Namespace) -> int:
        """Serve the graph, or write it and report where.

        Raises:
            UserError: the file holds no graph, the run's name leads out of the log directory, or writing fails.
        """
        name = arguments.run if arguments.run is not None else Path(arguments.model).absolute().stem
        notes: list[str] = []
        event, shown = _event(arguments.model, notes)
        if arguments.logdir is None:
            console = steady_console()
            for note in notes:
                console.print(escape(note))
            _serve(event, name, arguments, console)
            return 0
        folder = _write(event, arguments.logdir, name)
        print_lines(
            *notes,
            f"Wrote a graph of {counted(len(shown.node), 'node')} to {folder.address}",
            f"Open it with: stepscope --logdir {arguments.logdir}",
        )
        return 0


def _write(event: Event, logdir: str, name: str) -> Folder:
    """Write the event into an event file of a run, and return the run's folder."""
    try:
        folder = _run_folder(logdir, name)
        writer = EventFileWriter(folder)
        writer.add_event(event)
        writer.close()
    except (OSError, ValueError, ImportError) as error:
        reason = reason_of(error)
        raise UserError(
            f"--logdir {logdir} cannot be written: {reason}. Expected a log directory that may be written to."
        ) from error
    return folder


def _serve(event: Event, name: str, arguments: Namespace, console: Console) -> None:
    """Serve only the graph, from a folder that is removed afterward."""
    with TemporaryDirectory(prefix="stepscope-graph-") as logdir:
        _write(event, logdir, name)
        listener = listen(HOST, arguments.port, console)
        source = source_of(Path(logdir))

        def make() -> "Live":
            from stepscope.dashboard.cli.serving import make_live

            return make_live(source, keep_superseded=False, poll_seconds=2.0)

        access = Access(HOST, token_for(HOST, None, without=False))
        serve(Served(source.address, make), access, (), listener, console, browse=arguments.open_browser)


def _event(model: str, notes: list[str]) -> tuple[Event, GraphDef]:
    """Return the event to write: a Keras model as its layers, anything else as a graph of operations.

    See `graph_of_file`.
    """
    try:
        model_json = keras_json_of_file(model)
        if model_json is not None:
            shown = graph_from_keras(model_json)
            return Event(summary=Summary(value=[keras_model(KERAS_TAG, model_json)])), shown
        found = graph_of_file(model, notes)
    except (ImportError, ValueError) as error:
        raise UserError(f"{model} cannot be shown: {error}") from error
    return graph(found), found


def _run_folder(logdir: str, name: str) -> Folder:
    if not name or name.startswith("/") or ".." in PurePosixPath(name).parts or "\0" in name:
        raise UserError(f"--run is {name!r}; expected a path below the log directory, such as resnet/onnx")
    return folder_at(logdir if is_address(logdir) else Path(logdir).expanduser()).child(name)
