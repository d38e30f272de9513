"""Files that verbs write where the user wants them: which are refused, and how errors are reported."""

import contextlib
import os
from collections.abc import Iterator

from stepscope.summary.companions import is_event_file
from stepscope.summary.errors import UserError, reason_of


def check_no_event_file(output: str | os.PathLike[str], example: str) -> None:
    """Raise UserError if the output, or the file that it links to, has the name of an event file.

    Args:
        output: a path or an address.
        example: a name to use instead.
    """
    for path in (os.fspath(output), os.path.realpath(output)):
        if is_event_file(os.path.basename(path)):
            raise UserError(f"{path} has the name of an event file; expected another name, such as {example}")


def check_output(output: str, source: str, example: str) -> None:
    """Raise UserError if what is read from ``source`` must not be written to ``output``.

    Args:
        output: a path or an address.
        source: the path or address of the file that is converted.
        example: a name to use instead.
    """
    check_no_event_file(output, example)
    if output == source or (os.path.exists(output) and os.path.exists(source) and os.path.samefile(output, source)):
        raise UserError(f"{output} is the input itself, which may hold more than is converted; choose another name")


@contextlib.contextmanager
def writable(output: str | os.PathLike[str]) -> Iterator[None]:
    """Raise UserError for an OSError about the output, also one of merely looking at what is there."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{output} cannot be written: {reason_of(error)}. Expected a file in a directory that exists and may "
            "be written to."
        ) from error
