"""Plug-in files for the browser: read once at the start, addressed by content, limited in size."""

import gzip
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import quote

import brotli
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response

from stepscope.dashboard.page.assets import FOREVER
from stepscope.dashboard.page.messages import PluginsListed
from stepscope.dashboard.server.work import LightRoute, light
from stepscope.plugins import GROUPS, found, plugin_failures

MOST_FILES: Final = 500
MOST_BYTES: Final = 32 << 20
"""Maximum size of all files of one plug-in together."""
MOST_ICON_BYTES: Final = 16 << 10
NO_ICON: Final = "var(--icon-plugin)"
"""Icon on the tab of a panel that has none."""
TYPES: Final[Mapping[str, str]] = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".map": "application/json",
    ".txt": "text/plain",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Extensions of the files that are served, with their media types; files with other extensions are not served."""
_COMPRESSED: Final = frozenset({".js", ".mjs", ".css", ".json", ".map", ".txt", ".wasm", ".svg"})
_QUALITY: Final = 6
"""Brotli quality: the first visitor waits for the compression."""
_SMALLEST: Final = 1000
"""Minimum size in bytes of a file that is compressed."""
_SCRIPTED: Final = re.compile(rb"<\s*script|\bon\w+\s*=|javascript:|<!ENTITY", re.IGNORECASE)


class PluginFiles:
    """The files of one plug-in's folder, in memory.

    Args:
        name: name of its panel.
        folder: the folder with ``index.js``.

    Raises:
        OSError: the folder cannot be read.
        ValueError: the folder contains too much, or an invalid icon.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name: Final = name
        self._files: Final = _read(Path(folder).resolve(strict=True))
        self._sent: Final[dict[tuple[str, str], bytes]] = {}
        found = hashlib.blake2b(digest_size=8)
        for path, content in self._files.items():
            found.update(f"{path} {len(content)}\n".encode())
            found.update(content)
        self.digest: Final = found.hexdigest()
        icon = self._files.get("icon.svg", b"")
        if len(icon) > MOST_ICON_BYTES or _SCRIPTED.search(icon):
            raise ValueError(f"icon.svg must be an SVG image without scripts, of at most {MOST_ICON_BYTES:,} bytes")

    def has(self, path: str) -> bool:
        """Return whether there is a file with that path."""
        return path in self._files

    def address(self, path: str) -> str:
        """Return the address of a file, relative to the page; different content has a different address."""
        return f"plugins/{self.name}/{self.digest}/{path}"

    @cached_property
    def icon(self) -> str:
        """The icon as a CSS address, or the page's icon if the plug-in has none."""
        content = self._files.get("icon.svg")
        if content is None:
            return NO_ICON
        return f"""url("data:image/svg+xml,{quote(content.decode("utf-8", "replace").strip(), safe=" =:/'")}")"""

    def content(self, path: str, encoding: str) -> bytes | None:
        """Return a file, compressed if ``encoding`` is "br" or "gzip"; None if it does not exist."""
        whole = self._files.get(path)
        if whole is None or not encoding:
            return whole
        if (path, encoding) not in self._sent:
            packed = brotli.compress(whole, quality=_QUALITY) if encoding == "br" else gzip.compress(whole, 6, mtime=0)
            self._sent[path, encoding] = packed
        return self._sent[path, encoding]

    def encoding(self, path: str, accepted: str) -> str:
        """Return the encoding of a file for a client that accepts some: "br", "gzip", or "" for uncompressed."""
        if Path(path).suffix not in _COMPRESSED or len(self._files.get(path, b"")) < _SMALLEST:
            return ""
        return next((encoding for encoding in ("br", "gzip") if encoding in accepted), "")


def _read(folder: Path) -> dict[str, bytes]:
    """Return the files by path, in order, without links that lead out of the folder and files of other extensions."""
    files: dict[str, bytes] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        if path.suffix not in TYPES or not path.is_file() or not path.resolve().is_relative_to(folder):
            continue
        size += path.stat().st_size
        if len(files) >= MOST_FILES or size > MOST_BYTES:
            raise ValueError(f"the folder {folder.name!r} has more than {MOST_FILES} files or {MOST_BYTES:,} bytes")
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def icon_properties(icons: Mapping[str, str]) -> str:
    """Return the style sheet with ``--icon-NAME`` of each panel, given the icons as CSS addresses."""
    return ":root {" + "".join(f"--icon-{name}: {icon};" for name, icon in sorted(icons.items())) + "}"


def plugin_router(files: Sequence[PluginFiles], sheet: str) -> APIRouter:
    """Return the routes of plug-ins: their files, their icons as one style sheet, and the list of what they add."""
    by_name = {one.name: one for one in files}
    routes = APIRouter(route_class=LightRoute)

    @routes.get("/plugins/{name}/{digest}/{path:path}", include_in_schema=False)
    def file(request: Request, name: str, digest: str, path: str) -> Response:
        plugin = by_name.get(name)
        encoding = "" if plugin is None else plugin.encoding(path, request.headers.get("accept-encoding", ""))
        content = None if plugin is None or plugin.digest != digest else plugin.content(path, encoding)
        if content is None:
            raise HTTPException(404, f"No file {path!r} of a plug-in {name!r}. Reload the page.")
        headers = FOREVER | ({"Content-Encoding": encoding} if encoding else {})
        return Response(content, media_type=TYPES[Path(path).suffix], headers=headers)

    @routes.get(f"/{sheet_address(sheet)}", include_in_schema=False)
    def icons() -> Response:
        return Response(sheet, media_type="text/css", headers=FOREVER)

    @routes.get("/api/plugins")
    @light
    def plugins() -> PluginsListed:
        """List what other distributions add, and what of it has failed since the server began."""
        return {
            "plugins": [
                {"group": plugin.group, "name": plugin.name, "distribution": plugin.distribution}
                for group in GROUPS
                for plugin in found(group)
            ],
            "failures": [str(failure) for failure in plugin_failures()],
        }

    return routes


def sheet_address(sheet: str) -> str:
    """Return the address of the icons' style sheet, relative to the page."""
    return f"plugins/{hashlib.blake2b(sheet.encode(), digest_size=8).hexdigest()}.css"
