"""The responses that a page begins with, kept from the last server for one that is still being imported.

The page's HTML, layout, and scripts depend on what is installed, not on any log directory. They are kept in the user's
cache under a key of the installation, so that a browser can load the page while the libraries behind its callbacks are
imported, which takes ten times as long as starting to answer. The server that is built meanwhile compares them with its
own responses, which it keeps for the next start.
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
"""The folder of what is served: `stepscope` if it is installed, else the checkout."""
_LAYOUT: Final = ("/_dash-layout", "/_dash-dependencies")
_FILES: Final = re.compile(rb'<(?:script|link)[^>]* (?:src|href)="([^":]+)"')
_TITLE: Final = re.compile(rb"<title>.*?</title>", re.DOTALL)
_OF_ONE_PAGE: Final = re.compile(rb'"end_id":"[^"]*"')
"""A value that Dash signs for each page, for callbacks that outlive their request; there are none."""
_GUARDS: Final = frozenset({"content-security-policy", "x-content-type-options", "referrer-policy", "content-length"})
"""Headers of a kept response that `Guard` and `Response` add again."""
_MOST_KEPT: Final = 8
"""Maximum number of files kept, over all installations and prefixes."""
_DIGEST_BYTES: Final = 16
_log: Final = logging.getLogger(__name__)


class KeptAnswer(msgspec.Struct, frozen=True):
    """One response: status 200, with these headers."""

    headers: dict[str, str]
    body: bytes


class FirstAnswers(msgspec.Struct, frozen=True):
    """The first responses that a page requests, by path without the prefix."""

    scripts: list[str]
    """Hashes of the page's inline scripts, for its policy."""
    answers: dict[str, KeptAnswer]

    def titled(self, title: str) -> "FirstAnswers":
        """Return the same responses with another page title."""
        page = self.answers[PAGE]
        body = _TITLE.sub(lambda _: title_element(title).encode(), page.body, count=1)
        return FirstAnswers(self.scripts, {**self.answers, PAGE: KeptAnswer(page.headers, body)})


def _comparable(page: KeptAnswer) -> tuple[dict[str, str], bytes]:
    """Return what pages of one installation have in common."""
    return page.headers, _OF_ONE_PAGE.sub(b"", _TITLE.sub(b"", page.body))


async def ask_for(
    app: ASGIApp, access: Access, scripts: Sequence[str], known: FirstAnswers | None = None
) -> FirstAnswers | None:
    """Return the responses that an application gives a new page, requested as by a browser on this machine.

    Args:
        app: the application.
        access: who may use it.
        scripts: hashes of the page's inline scripts.
        known: the kept responses, returned if the page and its layout have not changed. Nor have its files then,
            because their addresses contain their versions.

    Returns:
        The responses; None if one of them is refused.
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
        # Answers sent in pieces watch for a client that leaves; this one stays.
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
    """The file that keeps the responses of one installation at one prefix.

    Args:
        folder: folder for the files of all installations; created on the first store, for this user only.
        key: see `installation_key`.
    """

    folder: Path
    key: str
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.folder / self.key)

    def load(self) -> FirstAnswers | None:
        """Return the kept responses; None if there are none or the file is damaged."""
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
        """Store the responses, and delete those of the least recently started installations."""
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
        """Delete the kept responses."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def installation_key(prefix: str, environment: Mapping[str, str] = os.environ, package: Path = PACKAGE) -> str:
    """Return a key that changes whenever the installation's page may: a hash of module and package names and times.

    Only folders are read, because a start has no time for more. In an environment, each distribution has a
    ``*.dist-info`` folder that is recreated with it.
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
