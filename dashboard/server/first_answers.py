"""The answers that a page begins with, as the last server gave them, for one that is still being imported.

The page's HTML, its layout and its scripts depend on what is installed, and not on any log directory. They are kept in
the user's cache under a key of the installation, so that a browser can load the page while the libraries behind its
callbacks are imported, which takes ten times as long as to start answering. The server that is built meanwhile
compares them with its own, and keeps those for the next start.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import msgspec
from starlette.types import ASGIApp, Message, Scope

from stepscope.dashboard.server.access import PAGE, Access
from stepscope.dashboard.server.page_title import title_element
from stepscope.plugins import SWITCH

PACKAGE: Final = Path(__file__).resolve().parents[2]
"""The folder of what is served: `stepscope` where it is installed, else the checkout."""
_LAYOUT: Final = ("/_dash-layout", "/_dash-dependencies")
_FILES: Final = re.compile(rb'<(?:script|link)[^>]* (?:src|href)="([^":]+)"')
_TITLE: Final = re.compile(rb"<title>.*?</title>", re.DOTALL)
_OF_ONE_PAGE: Final = re.compile(rb'"end_id":"[^"]*"')
"""What Dash signs again for every page, for callbacks that outlive their request; there are none."""
_GUARDS: Final = frozenset({"content-security-policy", "x-content-type-options", "referrer-policy", "content-length"})
"""Headers of a kept answer that `Guard` and `Response` give it again."""
_MOST_KEPT: Final = 8
"""Of other installations and prefixes."""
_DIGEST_BYTES: Final = 16
_log: Final = logging.getLogger(__name__)


class KeptAnswer(msgspec.Struct, frozen=True):
    """One answer: 200, with these headers."""

    headers: dict[str, str]
    body: bytes


class FirstAnswers(msgspec.Struct, frozen=True):
    """What a page asks for at first, by path without the prefix."""

    scripts: list[str]
    """Hashes of the scripts that stand in the page itself, for its policy."""
    answers: dict[str, KeptAnswer]

    def titled(self, title: str) -> "FirstAnswers":
        """Return the same with another title of the page."""
        page = self.answers[PAGE]
        body = _TITLE.sub(lambda _: title_element(title).encode(), page.body, count=1)
        return FirstAnswers(self.scripts, {**self.answers, PAGE: KeptAnswer(page.headers, body)})


def _comparable(page: KeptAnswer) -> tuple[dict[str, str], bytes]:
    """Return what pages of one installation have alike."""
    return page.headers, _OF_ONE_PAGE.sub(b"", _TITLE.sub(b"", page.body))


async def ask_for(
    app: ASGIApp, access: Access, scripts: Sequence[str], known: FirstAnswers | None = None
) -> FirstAnswers | None:
    """Return what an application gives a new page, asked as a browser on this machine asks.

    Args:
        app: the application.
        access: who may use it.
        scripts: hashes of the scripts that stand in the page itself.
        known: what is kept, which is returned where the page and its layout are as there. Its files are, then: their
            addresses have their versions.

    Returns:
        The answers; None if one of them is refused.
    """
    answers: dict[str, KeptAnswer] = {}
    for path in (PAGE, *_LAYOUT):
        answer = await _asked(app, access, path)
        if answer is None:
            return None
        answers[path] = answer
    page = answers[PAGE]
    if known is not None and known.scripts == list(scripts):
        same_layout = all(known.answers.get(path) == answers[path] for path in _LAYOUT)
        if same_layout and _comparable(known.answers[PAGE]) == _comparable(page):
            return known
    base = f"{access.prefix}/"
    for address in dict.fromkeys(_FILES.findall(page.body)):
        path = urlsplit(urljoin(base, address.decode())).path
        answer = await _asked(app, access, path.removeprefix(access.prefix))
        if answer is None:
            return None
        answers[path.removeprefix(access.prefix)] = answer
    return FirstAnswers(list(scripts), answers)


async def _asked(app: ASGIApp, access: Access, path: str) -> KeptAnswer | None:
    headers = {"host": "localhost", "accept-encoding": "br, gzip", "authorization": f"Bearer {access.token}"}
    scope: Scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": access.prefix + path, "raw_path": (access.prefix + path).encode(), "root_path": "",
        "query_string": b"", "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 0), "server": ("localhost", 0),
    }  # fmt: skip
    sent: list[Message] = []

    waiting: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        # Answers that come in pieces listen for a client that leaves; this one stays.
        return waiting.pop() if waiting else await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if sent[0]["status"] != 200:
        return None
    told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    kept = {name: value for name, value in told.items() if name not in _GUARDS}
    return KeptAnswer(kept, b"".join(message.get("body", b"") for message in sent[1:]))


@dataclass(frozen=True)
class KeptFirstAnswers:
    """The file that keeps the answers of one installation, at one prefix.

    Args:
        folder: of the files of all installations; made when something is stored, for this user alone.
        key: see `installation_key`.
    """

    folder: Path
    key: str
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.folder / self.key)

    def load(self) -> FirstAnswers | None:
        """Return what is kept; None where there is nothing, or it is damaged."""
        try:
            content = self.path.read_bytes()
            digest, packed = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if digest != _digest([packed]):
                return None
            kept = msgspec.msgpack.decode(packed, type=FirstAnswers)
        except (OSError, msgspec.MsgspecError):
            return None
        return kept if PAGE in kept.answers else None

    def store(self, first: FirstAnswers) -> None:
        """Keep the answers, and forget those of installations that were not started for the longest time."""
        packed = msgspec.msgpack.encode(first)
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
                file.write(_digest([packed]) + packed)
            os.replace(file.name, self.path)
            kept = sorted(self.folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in kept[_MOST_KEPT:]:
                old.unlink()
        except OSError as error:
            _log.info("the first page is not kept for the next start: %s", error)

    def forget(self) -> None:
        """Delete what is kept."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def installation_key(prefix: str, environment: Mapping[str, str] = os.environ, package: Path = PACKAGE) -> str:
    """Return what changes whenever a page of the installation may: a hash of names and times of modules and packages.

    Nothing is read but folders: a start has no time for more. In an environment, each distribution has a folder
    ``*.dist-info`` that is made again with it.
    """
    parts: list[str] = [sys.version, prefix, environment.get("STEPSCOPE_PAGE", ""), environment.get(SWITCH, "")]
    for place in sys.path:
        with contextlib.suppress(OSError), os.scandir(place or os.curdir) as entries:
            parts += sorted(_named(entry) for entry in entries if entry.name.endswith((".dist-info", ".egg-info")))
    for folder in ("dashboard", "debug", "profiler", "summary"):
        parts += sorted(_modules(str(package / folder)))
    return _digest(part.encode("utf-8", "surrogateescape") for part in parts).hex()


def _modules(folder: str) -> Iterable[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == "__pycache__":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _modules(entry.path)
            elif entry.name.endswith((".py", ".ts", ".css", ".svg", ".js")):
                yield _named(entry)


def _named(entry: "os.DirEntry[str]") -> str:
    status = entry.stat()
    return f"{entry.path} {status.st_mtime_ns} {status.st_size}"


def _digest(parts: Iterable[bytes]) -> bytes:
    found = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        found.update(part)
        found.update(b"\n")
    return found.digest()
