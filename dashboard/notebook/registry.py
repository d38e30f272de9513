"""Dashboards that this user's notebooks started: one small file each, in a folder that only the user can read."""

import os
import socket
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import msgspec

from stepscope.summary.errors import UserError

_CONNECT_SECONDS: Final = 1.0


@dataclass(frozen=True)
class RunningServer:
    """A dashboard that was started, and how."""

    pid: int
    host: str
    """The name under which this machine reaches it."""
    port: int
    url: str
    arguments: tuple[str, ...]
    """As given to ``stepscope serve``."""
    folder: str
    """The working directory, which relative paths in ``arguments`` start from."""

    def answers(self) -> bool:
        """Return whether the process is alive and something listens on the port."""
        try:
            os.kill(self.pid, 0)
            with socket.create_connection((self.host, self.port), timeout=_CONNECT_SECONDS):
                return True
        except OSError:
            return False


def registry_folder() -> Path:
    """Return the folder of the files, created so that only the user has access.

    Raises:
        UserError: the folder exists and belongs to another user.
    """
    who = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    folder = Path(tempfile.gettempdir()) / f"stepscope-{who}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if hasattr(os, "getuid") and (about.st_uid != os.getuid() or folder.is_symlink()):
        raise UserError(f"{folder} belongs to another user; remove it, or set TMPDIR to a folder of your own")
    folder.chmod(0o700)
    return folder


def remember(server: RunningServer) -> None:
    """Write a server's file atomically, readable only by the user."""
    folder = registry_folder()
    handle, written = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(asdict(server)))
    os.replace(written, folder / f"{server.pid}.json")


def forget(pid: int) -> None:
    """Remove a server's file, if there is one."""
    (registry_folder() / f"{pid}.json").unlink(missing_ok=True)


def running_servers() -> tuple[RunningServer, ...]:
    """Return the servers that answer, the one started last at the end; remove the files of all others."""
    found = []
    for path in registry_folder().glob("*.json"):
        try:
            started = path.stat().st_mtime_ns
            server = msgspec.json.decode(path.read_bytes(), type=RunningServer)
        except (OSError, msgspec.DecodeError):
            path.unlink(missing_ok=True)
            continue
        if server.answers():
            found.append((started, server))
        else:
            path.unlink(missing_ok=True)
    return tuple([server for _, server in sorted(found, key=lambda each: each[0])])
