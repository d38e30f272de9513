"""The page's own scripts, styles and icons: addressed by content, cached by browsers forever, sent compressed."""

import hashlib
import os
import re
from collections.abc import Iterable
from typing import Final

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from stepscope.dashboard.page import bundle
from stepscope.dashboard.server.work import LightRoute
from stepscope.summary.errors import UserError

FOREVER: Final = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
ICONS: Final = bundle.ROOT / "web" / "icons"
VARIANT: Final = "STEPSCOPE_PAGE"
"""Environment variable that names the bundle to serve, if it is not `bundle.SHIPPED`."""
_STATIC_IMPORT: Final = re.compile(rb"""(?:from|import)\s*"\./([\w.-]+\.js)\"""")
_ENCODINGS: Final = (("br", ".br"), ("gzip", ".gz"))


class PageAssets:
    """The parts of the page besides Dash's own scripts.

    Args:
        variant: variant of the bundle. A bundle that does not match the current modules is built again.

    Raises:
        UserError: the bundle cannot be built.
    """

    def __init__(self, variant: str | None = None) -> None:
        variant = variant or os.environ.get(VARIANT) or bundle.SHIPPED
        try:
            files = bundle.files_of(variant)
        except bundle.BundleError as error:
            raise UserError(str(error)) from error
        self._files: Final = files
        self._entry: Final = f"{variant}.js"
        self._digest: Final = _digest(files.values())

    @property
    def head(self) -> str:
        """The page's head: the style, and the script with its immediate imports, relative to the page's address."""
        imported = (name.decode() for name in _STATIC_IMPORT.findall(self._files[self._entry]))
        addresses = [f"page/{self._digest}/{name}" for name in (self._entry, *imported)]
        return "\n".join(
            [
                f'<link rel="stylesheet" href="page/{self._digest}/{bundle.STYLE}">',
                *(f'<link rel="modulepreload" href="{address}">' for address in addresses),
            ]
        )

    @property
    def foot(self) -> str:
        """The end of the page: the script, which runs after Dash's scripts and starts Dash."""
        return f'<script type="module" src="page/{self._digest}/{self._entry}"></script>'

    def router(self) -> APIRouter:
        """Return the route ``/page/<digest>/<file>``; different content has a different address."""
        routes = APIRouter(route_class=LightRoute)

        @routes.get("/page/{digest}/{name}", include_in_schema=False)
        def file(request: Request, digest: str, name: str) -> Response:
            content = self._files.get(name)
            if content is None:
                raise HTTPException(404, f"No file {name!r}.")
            headers = dict(FOREVER)
            accepted = request.headers.get("accept-encoding", "")
            for encoding, suffix in _ENCODINGS:
                if encoding in accepted and name + suffix in self._files:
                    content, headers["Content-Encoding"] = self._files[name + suffix], encoding
                    break
            media_type = "text/css" if name.endswith(".css") else "text/javascript"
            return Response(content, media_type=media_type, headers=headers)

        return routes


def _digest(contents: Iterable[bytes]) -> str:
    found = hashlib.blake2b(digest_size=8)
    for content in contents:
        found.update(content)
    return found.hexdigest()
