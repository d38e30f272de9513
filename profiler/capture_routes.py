"""What a program's server answers besides recordings; imports nothing, so that adding a route costs nothing."""

from collections.abc import Callable, Mapping
from typing import Any, Final

OTHER_ROUTES: Final[dict[str, Callable[[bytes], Mapping[str, Any]]]] = {}
"""Other routes of a program's server, by the path of a POST request: each function takes the request's JSON and returns
the answer's JSON, or raises `RefusalError`. `stepscope.debug` adds live tensors here when it is used."""


class RefusalError(Exception):
    """The request is answered with an error."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
