"""Routes that are prepared when they are first requested, and how they join the server.

FastAPI inspects every parameter of a route when the route is made, and again when its router is included. For the two
hundred routes of a dashboard, that is most of the startup time, and a page requests only a handful of them.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import compile_path, get_name

_preparing: Final = threading.RLock()


class LateRoute(APIRoute):
    """A route that knows its path, and prepares the rest when a request or the API description needs it."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Store the arguments of `fastapi.routing.APIRoute`."""
        self.endpoint = endpoint
        self.name = options.get("name") or get_name(endpoint)
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.include_in_schema = options.get("include_in_schema", True)
        self.tags = list(options.get("tags") or ())
        self._options: dict[str, Any] | None = options
        self._move(path)

    def _move(self, path: str) -> None:
        self.path = path
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)

    def move_below(self, prefix: str, tags: Sequence[str]) -> None:
        """Put the route below a prefix, and tags before its own; only possible before its first use."""
        self.tags = [*tags, *self.tags]
        self._move(prefix + self.path)

    def prepared_copy(self) -> APIRoute:
        """Return an ordinary route of the same path; only possible before the first use of this one.

        Raises:
            Exception: FastAPI cannot make a route of the function, because of its parameters for example.
        """
        assert self._options is not None
        return APIRoute(self.path, self.endpoint, **self._options | {"tags": self.tags})

    def __getattr__(self, name: str) -> Any:
        """Prepare the route: the requested attribute does not exist yet."""
        with _preparing:
            if name in self.__dict__:
                # Another thread has prepared it.
                return self.__dict__[name]
            options = self.__dict__.get("_options")
            if options is None:
                raise AttributeError(name)
            self._options = None
            super().__init__(self.path, self.endpoint, **options | {"tags": self.tags})
        return getattr(self, name)


def join(whole: FastAPI | APIRouter, part: APIRouter, prefix: str = "", tags: Sequence[str] = ()) -> None:
    """Add the routes of a router that nobody else uses to a server or another router."""
    late = [route for route in part.routes if isinstance(route, LateRoute)]
    if len(late) < len(part.routes):
        # Routes of a plug-in, or ones that wait for news: FastAPI adds them.
        whole.include_router(part, prefix=prefix, tags=list(tags))
        return
    for route in late:
        if prefix or tags:
            route.move_below(prefix, tags)
        whole.routes.append(route)
