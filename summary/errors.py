"""The one error that a person is meant to read, and the reason in other errors."""

import errno
import os


class UserError(Exception):
    """Something the user asked for cannot be done as asked.

    The message says what is wrong, what was expected and what to do next; commands print it without a
    traceback and end with ``exit_code``.
    """

    def __init__(self, message: str, *, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def reason_of(error: BaseException) -> str:
    """Return why something failed, without the name of the file, which the sentence around the reason has."""
    if isinstance(error, FileNotFoundError) and error.errno is None:
        # Those of object stores have only the address.
        return os.strerror(errno.ENOENT)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
