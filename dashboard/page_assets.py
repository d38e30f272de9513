"""The page's own scripts and styles as one file each: a hundred small requests would hold the first picture up."""

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from dashboard.work import LightRoute

FOREVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


class PageAssets:
    """Files of a folder, joined in order of their names when the server starts.

    Args:
        folder: holds ``*.js`` and ``*.css``, and ``icons/*.svg``, which become properties ``--icon-NAME`` of the page.
    """

    def __init__(self, folder: Path) -> None:
        # A file that begins with a bracket would call what the file before it ends with.
        self._scripts: Final = _joined(folder, "*.js", b"\n;\n")
        self._styles: Final = _icons(folder / "icons") + _joined(folder, "*.css", b"\n")

    @property
    def head(self) -> str:
        """What the page's head needs."""
        return f'<link rel="stylesheet" href="/page/{_digest(self._styles)}/page.css">'

    @property
    def foot(self) -> str:
        """What the page's end needs, before Dash starts."""
        return f'<script src="/page/{_digest(self._scripts)}/page.js"></script>'

    def router(self) -> APIRouter:
        """``/page/<digest>/page.js`` and ``page.css``, kept forever: another content has another address."""
        routes = APIRouter(route_class=LightRoute)

        @routes.get("/page/{digest}/page.js", include_in_schema=False)
        def scripts(digest: str) -> Response:
            return Response(self._scripts, media_type="text/javascript", headers=FOREVER)

        @routes.get("/page/{digest}/page.css", include_in_schema=False)
        def styles(digest: str) -> Response:
            return Response(self._styles, media_type="text/css", headers=FOREVER)

        return routes


def _joined(folder: Path, pattern: str, between: bytes) -> bytes:
    return between.join(path.read_bytes() for path in sorted(folder.glob(pattern)))


def _icons(folder: Path) -> bytes:
    properties = (
        f'--icon-{path.stem}: url("data:image/svg+xml;base64,{b64encode(path.read_bytes()).decode()}");'
        for path in sorted(folder.glob("*.svg"))
    )
    return (":root {" + "\n".join(properties) + "}\n").encode()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
