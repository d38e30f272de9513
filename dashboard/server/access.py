"""Who may use the server: its host names, whose pages may send it requests, and a token."""

import hmac
import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from stepscope.profiler.tokens import SHORTEST_TOKEN
from stepscope.summary.errors import UserError

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
PAGE: Final = "/"
"""The page's address: the only one that other pages may link to, or show in a frame if they are allowed to."""
HEALTH: Final = "/healthz"
"""Reports that the server is running and nothing else, so it requires no token."""

LOCAL_FRAMES: Final = (
    "'self'",
    "http://localhost:*",
    "https://localhost:*",
    "http://127.0.0.1:*",
    "https://127.0.0.1:*",
    "vscode-webview:",
)
"""Pages that may show the dashboard in a frame, in Content-Security-Policy syntax: notebooks on this machine."""

_HOST_PATTERN: Final = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:]*:[0-9a-f:.]*")
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_TOKEN: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered."""

    status: int
    why: str
    """A human-readable sentence."""


@dataclass(frozen=True)
class Access:
    """Who may use a server that listens on ``bound_host``."""

    bound_host: str = "localhost"
    token: str = ""
    """The token that requests must present; empty if none is required."""
    hosts: tuple[str, ...] = ()
    """Additional names under which the server is opened, such as a proxy's: in lower case, or ``*.`` and a domain."""
    frames: tuple[str, ...] = ()
    """Origins whose pages may show the dashboard in a frame, in addition to those on this machine."""
    prefix: str = ""
    """The path under which a proxy serves the page, such as ``/notes``."""

    @property
    def others_reach_it(self) -> bool:
        """Whether other machines can connect."""
        return not is_loopback(self.bound_host)

    @cached_property
    def cookie(self) -> str:
        """Value that a browser keeps once it has presented the token; the token cannot be derived from it."""
        return hmac.digest(self.token.encode(), b"stepscope cookie", "sha256").hex()

    @cached_property
    def _names(self) -> frozenset[str]:
        names = LOOPBACK_NAMES | {self.bound_host.lower()}
        return names | frozenset(machine_names()) if self.others_reach_it else names

    def refusal(self, method: str, path: str, headers: Headers) -> Refusal | None:
        """Return why a request is refused, before its sender is identified; None if it is not refused."""
        hosts = headers.getlist("host")
        if len(hosts) > 1:
            return Refusal(400, "The request has several Host headers. Send one.")
        host = hosts[0] if hosts else ""
        if not self.serves(host):
            name = host_name(host)[:200]
            return Refusal(
                421,
                f"Stepscope does not serve the host {name!r}. Open it as localhost, start it with --host, or with "
                f"--allow-host {name or 'NAME'} if you reach it through a proxy.",
            )
        if any(not self.is_own(origin, host) for origin in headers.getlist("origin")):
            return Refusal(
                403, "This request comes from a page of another origin; only Stepscope's own page may make it."
            )
        sites = headers.getlist("sec-fetch-site")
        if any(site not in ("same-origin", "none") for site in sites) and not opens_page(method, path, headers):
            return Refusal(
                403,
                "A page of another site links to this address; other sites may only link to Stepscope's main page. To "
                "open it anyway, type the address into the address bar.",
            )
        return None

    def serves(self, host_header: str) -> bool:
        """Return whether a Host header names this server.

        A page on the internet can point its own name at an address of this machine and so read from it (DNS rebinding);
        its requests still carry that name. An IP address used as a name cannot be pointed elsewhere, so any is accepted
        if other machines can connect.
        """
        name = host_name(host_header)
        if name in self._names or (self.others_reach_it and is_address(name)):
            return True
        return self._is_allowed(name)

    def is_own(self, origin: str, host_header: str) -> bool:
        """Return whether an Origin header names this server's own page, by the requested name or an allowed one."""
        try:
            parts = urlsplit(origin.lower())
            name = parts.hostname or ""
        except ValueError:
            return False
        if parts.scheme not in ("http", "https"):
            return False
        return parts.netloc == host_header.lower() or self._is_allowed(name)

    def knows(self, token: str) -> bool:
        """Return whether a request that presents this token may be answered."""
        return not self.token or hmac.compare_digest(token.encode(), self.token.encode())

    def knows_cookie(self, value: str) -> bool:
        """Return whether a browser that sends this cookie has presented the token."""
        return not self.token or hmac.compare_digest(value.encode(), self.cookie.encode())

    def _is_allowed(self, name: str) -> bool:
        return any(name.endswith(host[1:]) if host.startswith("*.") else name == host for host in self.hosts)


def opens_page(method: str, path: str, headers: Headers) -> bool:
    """Return whether a request opens the page in a tab or a frame, which a link or a notebook elsewhere may do.

    The browser decides which pages may show it in a frame, by the response's policy. Every other address may be costly
    to answer, and nothing keeps a page from opening a hundred frames.
    """
    return method in ("GET", "HEAD") and path == PAGE and headers.get("sec-fetch-mode") == "navigate"


def host_name(header: str) -> str:
    """Return the name in a Host header, without the port and the brackets of an IPv6 address."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.rpartition(":")[0].lower() if header.count(":") == 1 else header.lower()


def is_address(name: str) -> bool:
    """Return whether a name is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is a loopback one, which only this machine can reach."""
    return host.lower() == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def machine_names() -> tuple[str, ...]:
    """Return the lowercase names that other machines may use for this one: short, multicast DNS, and full."""
    name = socket.gethostname().lower()
    short = name.partition(".")[0]
    return tuple(dict.fromkeys((name, short, f"{short}.local", socket.getfqdn().lower())))


def checked_token(token: str) -> str:
    """Return the token from the command line or an environment variable.

    Raises:
        UserError: the token is too short, or has characters that no header can carry.
    """
    if len(token) < SHORTEST_TOKEN or not _TOKEN.fullmatch(token):
        raise UserError(
            f"the token is too short, or has a space or a special character: it needs {SHORTEST_TOKEN} or more ASCII "
            "letters, digits or symbols. To generate one:\n"
            '  python -c "import secrets; print(secrets.token_urlsafe())"'
        )
    return token


def checked_host(name: str) -> str:
    """Return a name for `Access.hosts`, in lower case.

    Raises:
        ValueError: it is not a host name.
    """
    if not _HOST_PATTERN.fullmatch(name.lower()):
        raise ValueError(f"{name!r} is not a host name; expected one such as notes.example.org or *.example.org")
    return name.lower()


def checked_prefix(given: str) -> str:
    """Return a path for `Access.prefix`, without a trailing slash.

    Raises:
        ValueError: it is not a path that an address can contain unchanged.
    """
    prefix = given.rstrip("/")
    if prefix and not _PREFIX.fullmatch(prefix):
        raise ValueError(f"{given!r} is not a URL path; expected one such as /notes or /team/notes")
    return prefix


def page_policy(frames: Sequence[str], scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy of the page.

    Args:
        frames: origins whose pages may show it in a frame, in addition to those on this machine; no other site can then
            place it under something that the user clicks.
        scripts: hashes of the page's inline scripts.
    """
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(("script-src 'self'", *scripts)),
            # The page's components set styles on individual elements.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "media-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            " ".join(("frame-ancestors", *LOCAL_FRAMES, *frames)),
        )
    )
