"""What else than recordings a program's server answers; imports nothing, so that offering something costs nothing."""

from collections.abc import Callable, Mapping
from typing import Any, Final

OTHER_ROUTES: Final[dict[str, Callable[[bytes], Mapping[str, Any]]]] = {}
"""What else a program's server answers, by the path of a POST request: a function from its JSON to that of the answer,
which raises `RefusalError`. `stepscope.debug` offers live tensors here when it is used."""


class RefusalError(Exception):
    """A request is answered with an error."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
