"""The one error that a person is meant to read."""


class UserError(Exception):
    """Something the user asked for cannot be done as asked.

    The message says what is wrong, what was expected and what to do next; commands print it without a
    traceback and end with ``exit_code``.
    """

    def __init__(self, message: str, *, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
