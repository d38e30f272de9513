"""The data read so far from the files of one dump, and the part of it that can be returned."""

from collections.abc import Mapping
from typing import Final

from google.protobuf.message import DecodeError

from stepscope.summary.bounded_messages import TooManyPartsError, parse
from stepscope.summary.debugger.code_files import CodeFiles
from stepscope.summary.debugger.events import ExecutionFile, Places, TraceFile
from stepscope.summary.debugger.file_names import Suffix
from stepscope.summary.debugger.file_sets import ChosenSets
from stepscope.summary.debugger.graphs import Graphs
from stepscope.summary.debugger.record_file import OpenAt, RecordFile, ReplacedError, Take, TakeAll, one_by_one
from stepscope.summary.names import readable_name
from stepscope.summary.proto.debug_event_pb2 import DebugEvent

_OF_FIRST_HOST: Final[tuple[Suffix, ...]] = ("source_files", "stack_frames", "graphs", "execution")
"""Files in the order in which they refer to each other; only traces are read from further hosts, as in TensorFlow."""


class Growth:
    """Reads the files of one run as they grow; fed by one thread at a time.

    Args:
        chosen: the file sets of all hosts of the run.
        open_at: opens a file.
    """

    def __init__(self, chosen: ChosenSets, open_at: OpenAt) -> None:
        first = chosen.sets[0]
        self.key: Final = chosen.key
        self.places: Final = Places()
        self.graphs: Final = Graphs()
        self.code: Final = CodeFiles(first.name("source_files"), open_at)
        self.executions: Final = ExecutionFile(first.name("execution"), self.places, self.code)
        self.traces: Final = {
            name: TraceFile(name, self.places) for name in (each.name("graph_execution_traces") for each in chosen.sets)
        }
        """The traces of each file, by file name."""
        names = [*map(first.name, _OF_FIRST_HOST), *self.traces]
        self.files: Final = {name: RecordFile(name, open_at) for name in names}

    def read_new(self, sizes: Mapping[str, int]) -> None:
        """Read the data appended since the last call; if interrupted, the data read so far is kept.

        Args:
            sizes: the sizes of the existing files, by name.

        Raises:
            ReplacedError: a file was replaced by another, so everything must be read again.
        """
        for name, file in self.files.items():
            try:
                file.read_new(sizes.get(name, 0), self._taker(name))
            except ReplacedError as error:
                raise ReplacedError(f"{readable_name(name)} was read again: {error}.") from None

    def _taker(self, name: str) -> TakeAll:
        take = self._take_of(name)
        if name in self.traces:
            return self.traces[name].taker(take)
        return self.executions.taker(take) if name.endswith(".execution") else one_by_one(take)

    def _take_of(self, name: str) -> Take:
        def take(offset: int, data: bytes) -> str | None:
            try:
                event = parse(DebugEvent, data)
            except TooManyPartsError as error:
                return f"the record was not read: {error}"
            except DecodeError:
                return "the record's CRCs match but it is not a DebugEvent message"
            return self._take(name, offset, len(data), event)

        return take

    def _take(self, name: str, offset: int, length: int, event: DebugEvent) -> str | None:
        suffix, what = name.rpartition(".")[2], event.WhichOneof("what")
        match suffix, what:
            case "graph_execution_traces", "graph_execution_trace":
                return self.traces[name].add(offset, length, event.wall_time, event.graph_execution_trace)
            case "execution", "execution":
                return self.executions.add(offset, length, event.wall_time, event.execution)
            case "graphs", "graph_op_creation":
                creation = event.graph_op_creation
                stack = self.code.stack_number(creation.code_location.stack_frame_ids)
                return self.graphs.add_operation(event.wall_time, creation, stack)
            case "graphs", "debugged_graph":
                return self.graphs.add_graph(event.debugged_graph)
            case "graphs", "debugged_device":
                return self.graphs.add_device(event.debugged_device)
            case "stack_frames", "stack_frame_with_id":
                return self.code.add_frame(event.stack_frame_with_id)
            case "source_files", "source_file":
                return self.code.add_source_file(offset, length, event.source_file)
        held = f"a {what}, which is not read in this file" if what else "nothing that is known"
        return f"the record holds {held}"
