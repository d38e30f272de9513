"""Sources of log directories' bytes: folders, folders by wildcard, several at once, and addresses."""

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

import fsspec
import pytest

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.local_source import LocalSource
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import named_logdir, source_of, sources_of
from stepscope.summary.source import Source, read_up_to


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def make(top: Path, *files: str) -> None:
    for file in files:
        path = top / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file)


def sizes(source: Source, changed: set[str] | None = None) -> dict[str, int]:
    return {str(found.path): found.size for found in source.list(changed)}


def long_ago(top: Path) -> None:
    """Makes folders look as if nothing was added recently."""
    for folder in [top, *(path for path in top.rglob("*") if path.is_dir())]:
        os.utime(folder, (1e9, 1e9))


def test_a_quiet_folder_is_left_alone_until_its_time_comes(tmp_path: Path) -> None:
    clock = Clock()
    source = LocalSource(tmp_path, clock=clock)
    make(tmp_path, "a/file", "b/file")
    long_ago(tmp_path)
    assert sizes(source) == {"a/file": 6, "b/file": 6}
    clock.seconds = 1000
    assert sizes(source, set()) == {"a/file": 6, "b/file": 6}
    (tmp_path / "a/file").write_text("longer than before")
    # Looked at 10 s ago and unchanged for 1010 s: left alone for up to 50 s.
    clock.seconds = 1010
    assert sizes(source, set()) == {"a/file": 6, "b/file": 6}
    clock.seconds = 1060
    assert sizes(source, set()) == {"a/file": 18, "b/file": 6}
    # It changed a moment ago, so it is looked at each time.
    (tmp_path / "a/file").write_text("again")
    clock.seconds = 1062
    assert sizes(source, set()) == {"a/file": 5, "b/file": 6}


def test_what_is_known_to_have_changed_is_looked_at(tmp_path: Path) -> None:
    clock = Clock()
    source = LocalSource(tmp_path, clock=clock)
    make(tmp_path, "a/file", "b/file")
    long_ago(tmp_path)
    clock.seconds = 1000
    sizes(source)
    clock.seconds = 2000
    sizes(source, set())
    (tmp_path / "a/file").write_text("longer than before")
    (tmp_path / "b/file").write_text("longer than before")
    assert sizes(source, {str(tmp_path / "a/file")}) == {"a/file": 18, "b/file": 6}
    assert sizes(source, None) == {"a/file": 18, "b/file": 18}


def test_folders_and_files_that_come_and_go_are_seen(tmp_path: Path) -> None:
    clock = Clock()
    source = LocalSource(tmp_path, clock=clock)
    make(tmp_path, "a/file")
    long_ago(tmp_path)
    clock.seconds = 1000
    sizes(source)
    clock.seconds = 2000
    sizes(source, set())
    make(tmp_path, "b/file")
    assert sizes(source, set()) == {"a/file": 6, "b/file": 6}
    (tmp_path / "a/file").unlink()
    (tmp_path / "a").rmdir()
    assert sizes(source, set()) == {"b/file": 6}
    (tmp_path / "b/file").unlink()
    clock.seconds = 3000
    assert sizes(source, set()) == {}


def test_a_folder_that_was_listed_while_it_changed_is_listed_again(tmp_path: Path) -> None:
    """Two files may appear within one tick of the file system's clock; the first listing saw only one of them."""
    clock = Clock()
    source = LocalSource(tmp_path, clock=clock)
    make(tmp_path, "a/one")
    sizes(source)
    status = (tmp_path / "a").stat()
    make(tmp_path, "a/two")
    os.utime(tmp_path / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    clock.seconds = 1
    assert sizes(source, set()) == {"a/one": 5, "a/two": 5}


def test_wildcards_choose_folders_those_that_come_later_too(tmp_path: Path) -> None:
    make(tmp_path, "x/lr_1/file", "x/lr_1/deep/file", "x/adam/file", "x/file", "file", "y/lr_2/file")
    source = source_of(tmp_path / "*" / "lr_*")
    assert sizes(source) == {"x/lr_1/file": 11, "x/lr_1/deep/file": 16, "y/lr_2/file": 11}
    assert source.address == str(tmp_path / "*" / "lr_*")
    make(tmp_path, "z/lr_3/file")
    assert set(sizes(source)) == {"x/lr_1/file", "x/lr_1/deep/file", "y/lr_2/file", "z/lr_3/file"}
    make(tmp_path, "odd[1]/file")
    assert sizes(source_of(tmp_path / "odd[1]")) == {"file": 11}


def test_several_log_directories_are_told_apart_by_their_names(tmp_path: Path) -> None:
    make(tmp_path, "one/logs/run/file", "two/logs/run/file", "three/file")
    both = sources_of([f"{tmp_path}/one/logs", f"{tmp_path}/two/logs", f"mine:{tmp_path}/three"])
    assert sizes(both) == {"one_logs/run/file": 17, "two_logs/run/file": 17, "mine/file": 10}
    path = PurePosixPath("two_logs/run/file")
    assert read_up_to(both.open(path, 4), 4) == b"logs"
    assert both.locate(path) == str(tmp_path / "two/logs/run/file")
    assert list(both.watchable_folders) == [tmp_path / "one/logs", tmp_path / "two/logs", tmp_path / "three"]
    assert sizes(sources_of([f"mine:{tmp_path}/three"])) == {"mine/file": 10}
    assert sizes(sources_of([f"{tmp_path}/three"])) == {"file": 10}
    with pytest.raises(ValueError, match="two log directories are called 'a'; give them names, as in NAME:DIR"):
        sources_of([f"a:{tmp_path}/one", f"a:{tmp_path}/two"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("logs", (None, "logs")),
        ("mine:logs", ("mine", "logs")),
        ("mine:/var/logs", ("mine", "/var/logs")),
        ("/var/odd:logs", (None, "/var/odd:logs")),
        ("s3://bucket/logs", (None, "s3://bucket/logs")),
        ("mine:s3://bucket/logs", ("mine", "s3://bucket/logs")),
        (r"C:\logs", ("C", r"\logs")),
    ],
)
def test_names_before_log_directories(given: str, expected: tuple[str | None, str]) -> None:
    assert named_logdir(given) == expected


def test_a_folder_whose_name_holds_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path, "a:b/file")
    assert named_logdir("a:b") == (None, "a:b")


def test_a_log_directory_in_memory_is_followed() -> None:
    logdir = Logdir("memory://follow/logs")
    assert logdir.update().runs == {}
    with SummaryWriter("memory://follow/logs/run") as writer:
        writer.add_scalar("loss", 1.0, 1)
        writer.flush()
        assert logdir.update().runs["run"].series["loss"].values.tolist() == [1.0]
        writer.add_scalar("loss", 0.5, 2)
        writer.add_text("note", "x" * 100, 2)
    snapshot = logdir.update(changed=set())
    assert snapshot.runs["run"].series["loss"].values.tolist() == [1.0, 0.5]
    assert snapshot.runs["run"].series["note/text_summary"].read(0).strings.item() == "x" * 100
    revision = snapshot.revision
    assert logdir.update(changed=set()).revision == revision
    fsspec.filesystem("memory").rm("/follow", recursive=True)
    assert logdir.update().runs == {}


class RangeHandler(SimpleHTTPRequestHandler):
    """Answers range requests, as web servers for data do."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        requested = self.headers.get("Range")
        path = Path(self.translate_path(self.path))
        if requested is None or not path.is_file():
            super().do_GET()
            return
        begin, _, end = requested.removeprefix("bytes=").partition("-")
        content = path.read_bytes()[int(begin) : int(end) + 1 if end else None]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{int(begin) + len(content) - 1}/{path.stat().st_size}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class PlainHandler(SimpleHTTPRequestHandler):
    """Answers with whole files, whatever is requested."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(params=[RangeHandler, PlainHandler])
def web(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address, and the folder that it serves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(request.param, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_log_directory_on_a_web_server_is_followed(web: tuple[str, Path]) -> None:
    address, folder = web
    with SummaryWriter(folder / "exp" / "run") as writer:
        for step in range(1000):
            writer.add_scalar("loss", step, step)
        writer.add_text("note", "x" * 1000, 1)
        writer.flush()
        logdir = Logdir(address)
        run = logdir.update().runs["exp/run"]
        assert run.series["loss"].values.tolist() == list(range(1000))
        assert run.series["note/text_summary"].read(0).strings.item() == "x" * 1000
        for step in range(1000, 2000):
            writer.add_scalar("loss", step, step)
    snapshot = logdir.update(changed=set())
    assert snapshot.runs["exp/run"].series["loss"].values.tolist() == list(range(2000))
    assert snapshot.damage_count == 0


def test_a_protocol_that_nobody_knows() -> None:
    with pytest.raises(ValueError, match="Protocol not known: nowhere"):
        open_logdir("nowhere://bucket/logs")


def test_the_same_files_listed_again_cost_no_look_at_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *(f"run_{number}/file" for number in range(50)))
    long_ago(tmp_path)
    clock = Clock()
    source = LocalSource(tmp_path, clock=clock)
    sizes(source)
    clock.seconds = 1000
    sizes(source, set())
    looks: list[object] = []
    stat = os.stat

    def counted(path: str, **options: bool) -> os.stat_result:
        looks.append(path)
        return stat(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr("os.stat", counted)
        clock.seconds = 1002
        assert len(sizes(source, set())) == 50
    assert len(looks) <= 2
