"""The magic in a real IPython shell, in its own process as a kernel is."""

import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest
from rich.console import Console

from stepscope.dashboard.cli.serve import announcement
from stepscope.dashboard.notebook.magic import answers, iframe, link_in, parse_line
from stepscope.dashboard.notebook.registry import RunningServer, forget, registry_folder, remember, running_servers
from stepscope.dashboard.server.access import Access
from stepscope.summary import SummaryWriter
from stepscope.summary.errors import UserError
from tests.dashboard.media import client_of

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parent.parent.parent

KERNEL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.displaypub import DisplayPublisher

shown = []

class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, **rest):
        shown.append(data)

shell = InteractiveShell.instance(display_pub_class=Publisher)
for line in sys.stdin:
    result = shell.run_cell(json.loads(line))
    print(json.dumps({"shown": shown, "failed": not result.success}), flush=True)
    shown.clear()
"""


class Kernel:
    """Runs cells and returns what each printed and the HTML that it showed."""

    def __init__(self, folder: Path, temporary: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error::UserWarning:IPython.core.display", "-c", KERNEL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(temporary), **environment},
        )

    def run(self, cell: str) -> tuple[str, list[str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(cell) + "\n")
        self.process.stdin.flush()
        printed = ""
        for line in self.process.stdout:
            if line.startswith('{"shown"'):
                answer = json.loads(line)
                assert not answer["failed"], printed
                return printed, [data["text/html"] for data in answer["shown"]]
            printed += line
        raise AssertionError(f"the kernel ended: {printed}")

    def end(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a log directory "logs"."""
    with SummaryWriter(str(tmp_path / "work" / "logs" / "a")) as writer:
        writer.add_scalar("loss", 1.0, 0)
    (tmp_path / "tmp").mkdir()
    return tmp_path / "work"


@pytest.fixture
def kernel(folder: Path) -> Iterator[Kernel]:
    started = Kernel(folder, folder.parent / "tmp")
    yield started
    started.end()


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel whose servers never start."""
    folder = tmp_path_factory.mktemp("idle")
    (folder / "logs").mkdir()
    started = Kernel(folder, folder)
    started.run("%load_ext stepscope")
    yield started
    started.end()


def url_in(printed: str) -> str:
    return next(word for word in printed.split() if word.startswith("http://"))


def test_the_magic_serves_shows_and_takes_what_runs(kernel: Kernel, folder: Path) -> None:
    kernel.run("%load_ext stepscope")
    printed, shown = kernel.run("%stepscope --logdir logs --height 500")
    url = url_in(printed)
    assert printed == f"Stepscope serves --logdir logs at {url}\n"
    assert shown == [iframe(url, 500)]
    with urlopen(url + "data/runs") as answer:
        assert answer.status == 200
    again, shown = kernel.run("%stepscope --logdir logs")
    assert again.startswith(f"Stepscope is already running at {url} (process ")
    assert shown == [iframe(url, 800)]
    listed, _ = kernel.run("from stepscope.dashboard import notebook; notebook.list()")
    assert listed.startswith(f"port {url.rsplit(':', 1)[1].strip('/')}: --logdir logs in {folder} (process ")
    _, shown = kernel.run("notebook.display(height=300)")
    assert shown == [iframe(url, 300)]


def test_the_frame_has_the_path_prefix_and_the_token(folder: Path) -> None:
    kernel = Kernel(folder, folder.parent / "tmp", FORCE_COLOR="1")
    _, (shown,) = kernel.run("%load_ext stepscope\n%stepscope --logdir logs --path-prefix /n --token abcdefgh12345678")
    found = re.search('src="([^"]*)"', shown)
    assert found is not None
    assert re.fullmatch(r"http://localhost:\d+/n/\?token=abcdefgh12345678", found[1])
    kernel.end()


def test_no_proxy_is_asked_for_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "healthz").touch()
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever).start()
        answered = answers(f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()
    assert answered


def test_the_link_is_not_the_address_of_the_log_directory() -> None:
    out = StringIO()
    Console(file=out, soft_wrap=True).print(announcement("http://data.example.org:9000/logs/", Access(), 6007))
    assert link_in(out.getvalue()) == "http://localhost:6007/"
    assert link_in(out.getvalue().splitlines()[0]) == ""


def test_the_server_ends_with_the_kernel(folder: Path) -> None:
    kernel = Kernel(folder, folder.parent / "tmp")
    url = url_in(kernel.run("%load_ext stepscope\n%stepscope logs")[0])
    kernel.end()
    with pytest.raises(OSError, match="refused"):
        urlopen(url)


def test_the_server_ends_with_a_kernel_that_is_killed(folder: Path) -> None:
    kernel = Kernel(folder, folder.parent / "tmp")
    url = url_in(kernel.run("%load_ext stepscope\n%stepscope --logdir logs")[0])
    # An event stream ends when its server does, not before.
    with urlopen(url + "api/revision") as stream:
        kernel.process.kill()
        kernel.process.wait()
        assert [line for line in stream if line.startswith(b"never")] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "no log directory is given; expected: stepscope serve LOGDIR"),
        ("--logdir logs --port 99999999", "--port is 99999999; expected a number from 0 to 65535"),
        ("--logdir logs --wrong", "--wrong is not an option of serve."),
        ("--logdir 'logs", "No closing quotation"),
        ("--logdir logs --height tall", "--height is tall; expected pixels from 100 to 10000"),
    ],
)
def test_what_is_wrong_is_printed(idle: Kernel, line: str, why: str) -> None:
    printed, shown = idle.run(f"%stepscope {line}")
    assert why in printed
    assert printed.startswith("stepscope: ")
    assert shown == []


def test_behind_jupyterhub_the_cell_says_what_to_do(folder: Path) -> None:
    kernel = Kernel(folder, folder.parent / "tmp", JUPYTERHUB_SERVICE_PREFIX="/user/me/")
    printed, shown = kernel.run("%load_ext stepscope\n%stepscope --logdir logs")
    kernel.end()
    assert "ssh -L " in printed
    assert shown == []


def test_in_colab_its_own_proxy_shows_the_server(kernel: Kernel) -> None:
    kernel.run(
        "import sys, types\n"
        "show = lambda port, height: print('frame', port, height)\n"
        "output = types.SimpleNamespace(serve_kernel_port_as_iframe=show)\n"
        "sys.modules['google.colab'] = types.SimpleNamespace(output=output)\n"
        "%load_ext stepscope"
    )
    printed, shown = kernel.run("%stepscope --logdir logs --height 400")
    url = url_in(printed)
    assert printed.splitlines()[1] == f"frame {url.rsplit(':', 1)[1].strip('/')} 400"
    assert shown == []
    with urlopen(url) as answer:
        assert "https://colab.research.google.com" in answer.headers["content-security-policy"]


def test_nothing_running_says_how_to_start(idle: Kernel) -> None:
    printed, _ = idle.run("from stepscope.dashboard import notebook; notebook.list(); notebook.display(port=1)")
    assert printed == (
        "No dashboard is running. Start one with %stepscope LOGDIR\n"
        "No dashboard that a notebook started is on port 1. Start one with %stepscope LOGDIR\n"
    )


@pytest.mark.parametrize(
    ("line", "arguments", "height"),
    [
        ("logs", ("logs",), 800),
        ("serve --logdir 'my logs' --height=500", ("--logdir", "my logs"), 500),
        ("--height 600 --logdir a --logdir b", ("--logdir", "a", "--logdir", "b"), 600),
    ],
)
def test_lines_are_arguments_and_a_height(line: str, arguments: tuple[str, ...], height: int) -> None:
    assert parse_line(line) == (arguments, height)


def test_addresses_are_escaped_in_frames() -> None:
    assert 'src="http://x/?a=&quot;&amp;"' in iframe('http://x/?a="&', 100)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return registry_folder()


def entry(pid: int) -> RunningServer:
    return RunningServer(pid, "localhost", 1, "http://localhost:1/", ("--logdir", "x"), "/")


def test_files_of_the_registry_are_the_users_own(registry: Path) -> None:
    remember(entry(os.getpid()))
    file = registry / f"{os.getpid()}.json"
    assert stat.S_IMODE(registry.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    forget(os.getpid())
    assert list(registry.iterdir()) == []


def test_entries_of_servers_that_are_gone_are_dropped(registry: Path) -> None:
    remember(entry(os.getpid()))
    (registry / "broken.json").write_text("{")
    assert running_servers() == ()
    assert list(registry.iterdir()) == []


def test_the_server_that_was_started_last_is_the_last(registry: Path) -> None:
    with socket.create_server(("localhost", 0)) as listening:
        port = listening.getsockname()[1]
        # A process ID may be lower than those before, as the system begins with low ones again.
        for pid in sorted({os.getpid(), os.getppid()}, reverse=True):
            remember(replace(entry(pid), port=port))
        os.utime(registry / f"{min(os.getpid(), os.getppid())}.json", (2**31, 2**31))
        assert [server.pid for server in running_servers()] == sorted({os.getpid(), os.getppid()}, reverse=True)


def test_a_registry_of_somebody_else_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"stepscope-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="belongs to another user"):
        registry_folder()


def test_pages_say_who_may_frame_them_and_data_does_not(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    policy = client.get("/").headers["content-security-policy"].split("; ")
    assert [rule for rule in policy if rule.startswith("frame-ancestors")] == [
        "frame-ancestors 'self' http://localhost:* https://localhost:* http://127.0.0.1:* https://127.0.0.1:* "
        "vscode-webview:"
    ]
    assert "content-security-policy" not in client.get("/data/runs").headers
