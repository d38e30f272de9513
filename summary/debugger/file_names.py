"""File names in dumps of TensorFlow's debugger.

A *file set* is the output of one host: six files with one prefix, ``tfdbg_events.<seconds>.<host>``
(``tensorflow/core/util/debug_events_writer.cc``).
"""

from typing import Final, Literal, get_args

PREFIX: Final = "tfdbg_events."

Suffix = Literal["metadata", "source_files", "stack_frames", "graphs", "execution", "graph_execution_traces"]
SUFFIXES: Final[tuple[Suffix, ...]] = get_args(Suffix)


def set_of_file(name: str) -> tuple[str, Suffix] | None:
    """Return the prefix of a file's set and the file's suffix; None for a file that is not part of a dump."""
    if not name.startswith(PREFIX):
        return None
    prefix, _, suffix = name.rpartition(".")
    found = next((known for known in SUFFIXES if known == suffix), None)
    return (prefix, found) if found is not None and len(prefix) > len(PREFIX) else None


def start_of_file(name: str) -> float | None:
    """Return the start time of the file's set from its name, in seconds since the epoch, if the name has it."""
    seconds = name.removeprefix(PREFIX).partition(".")[0]
    return float(seconds) if seconds.isascii() and seconds.isdecimal() and len(seconds) <= 12 else None
