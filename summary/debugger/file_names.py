"""What the files of dumps of TensorFlow's debugger are called.

A *file set* is what one host writes: six files of one prefix, ``tfdbg_events.<seconds>.<host>``
(``tensorflow/core/util/debug_events_writer.cc``).
"""

from typing import Final, Literal, get_args

PREFIX: Final = "tfdbg_events."

Suffix = Literal["metadata", "source_files", "stack_frames", "graphs", "execution", "graph_execution_traces"]
SUFFIXES: Final[tuple[Suffix, ...]] = get_args(Suffix)


def set_of_file(name: str) -> tuple[str, Suffix] | None:
    """Return the prefix of a file's set and which file of it this is; None for a file of no dump."""
    if not name.startswith(PREFIX):
        return None
    prefix, _, suffix = name.rpartition(".")
    found = next((known for known in SUFFIXES if known == suffix), None)
    return (prefix, found) if found is not None and len(prefix) > len(PREFIX) else None


def start_of_file(name: str) -> float | None:
    """Return when the file's set was begun, in seconds since the epoch, as far as its name tells."""
    seconds = name.removeprefix(PREFIX).partition(".")[0]
    return float(seconds) if seconds.isascii() and seconds.isdecimal() and len(seconds) <= 12 else None
