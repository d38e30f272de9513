"""Embeddings in log directories that are not on this machine."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import numpy as np
import pytest
from fastapi.testclient import TestClient

from stepscope.dashboard.panels.registry import companion_patterns
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.summary import SummaryWriter
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import sources_of
from tests.dashboard.media import NoFollower
from tests.dashboard.routes import client_with_companions
from tests.object_store import running_object_store

pytestmark = pytest.mark.long

POINTS = np.arange(6, dtype=np.float32).reshape(3, 2)
CONFIG = "projector_config.pbtxt"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(params=["memory", "s3", "http", "file"])
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address at which the files in ``tmp_path`` appear once they are sent there."""
    if request.param == "file":
        yield f"file://{tmp_path}"
    elif request.param == "http":
        web = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{web.server_port}"
        web.shutdown()
        thread.join()
        web.server_close()
    elif request.param == "s3":
        with running_object_store("all"):
            yield "s3://all"
    else:
        yield "memory://all"
        fsspec.filesystem("memory").rm("/all", recursive=True)


def send(folder: Path, address: str) -> None:
    """Copies a folder to an address that is not already a view of it."""
    protocol, _, root = address.partition("://")
    if protocol in ("memory", "s3"):
        file_system = fsspec.filesystem(protocol)
        for path in folder.rglob("*"):
            if path.is_file():
                file_system.pipe_file(f"{root}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def write_logs(folder: Path) -> None:
    with SummaryWriter(folder / "logs" / "w") as writer:
        labels = [["cat", 1], ["dog", 2], ["owl", 3]]
        writer.add_embedding(POINTS, labels, np.zeros((3, 3, 2, 2)), 7, "e", metadata_header=["name", "age"])
    (folder / "logs" / "a").mkdir()
    (folder / "logs" / "a" / "raw.bytes").write_bytes((POINTS - 3).tobytes())
    (folder / "logs" / "shared.tsv").write_text("5\t6\n")
    (folder / "secret.tsv").write_text("1\t2\n")
    paths = ("../shared.tsv", "../../secret.tsv", "%2e%2e/../%2e%2e/secret.tsv", "..\\..\\secret.tsv", "/secret.tsv",
             "memory://all/secret.tsv", "gone.tsv", "raw.bytes?x")  # fmt: skip
    embeddings = [f'embeddings {{ tensor_name: "{n}" tensor_path: {path!r} }}' for n, path in enumerate(paths)]
    raw = 'embeddings { tensor_name: "raw" tensor_shape: 3 tensor_shape: 2 tensor_path: "raw.bytes" }'
    (folder / "logs" / "a" / CONFIG).write_text("\n".join([*embeddings, raw]))


def client(*logdirs: str) -> TestClient:
    live = Live(", ".join(logdirs), lambda publish: NoFollower())
    live.publish(Logdir(sources_of(logdirs), companion_patterns=companion_patterns()).update())
    return TestClient(build_app(live), base_url="http://localhost:6006")


def test_the_routes_work_for_an_address(tmp_path: Path, copied: str) -> None:
    write_logs(tmp_path)
    send(tmp_path, copied)
    remote, local = client(f"{copied}/logs"), client_with_companions(tmp_path / "logs")
    for query in (
        "runs", "info?run=w", "tensor?run=w&name=e:00007", "tensor?run=w&name=e:00007&num_rows=2",
        "metadata?run=w&name=e:00007", "metadata?run=w&name=e:00007&num_rows=1", "bookmarks?run=w&name=e:00007",
        "sprite_image?run=w&name=e:00007", "tensor?run=a&name=raw", "tensor?run=a&name=raw&num_rows=1",
        "tensor?run=a&name=0",
    ):  # fmt: skip
        theirs, ours = (one.get(f"/data/plugin/projector/{query}") for one in (remote, local))
        assert (theirs.status_code, theirs.content) == (ours.status_code, ours.content), query
    assert remote.get("/data/plugin/projector/runs").json() == ["a", "w"]
    points = remote.get("/data/plugin/projector/tensor?run=w&name=e:00007").content
    assert np.frombuffer(points, "<f4").reshape(3, 2).tolist() == POINTS.tolist()


def test_no_path_leads_out_of_the_address(tmp_path: Path, copied: str) -> None:
    write_logs(tmp_path)
    send(tmp_path, copied)
    for logdirs in ([f"{copied}/logs"], [f"logs:{copied}/logs", f"other:{tmp_path}/absent"]):
        remote = client(*logdirs)
        (run,) = [run for run in remote.get("/data/plugin/projector/runs").json() if run.endswith("a")]
        for name in range(1, 8):
            answer = remote.get(f"/data/plugin/projector/tensor?run={run}&name={name}")
            assert answer.status_code == 404
            said = answer.json()["detail"]
            assert any(
                reason in said
                for reason in ("outside the log directory", "There is no file", "is not a path", "cannot be read")
            ), said
        assert (
            "outside the log directory"
            in remote.get(f"/data/plugin/projector/tensor?run={run}&name=1").json()["detail"]
        )


def test_of_several_local_log_directories_none_lends_its_parent(tmp_path: Path) -> None:
    """With a name, the parent of a log directory was taken for the log directory."""
    write_logs(tmp_path)
    several = client(f"logs:{tmp_path}/logs", f"x:{tmp_path}/logs/w")
    answer = several.get("/data/plugin/projector/tensor?run=logs/a&name=1")
    assert (answer.status_code, "outside the log directory" in answer.json()["detail"]) == (404, True)
    assert several.get("/data/plugin/projector/tensor?run=logs/a&name=0").status_code == 200


def test_links_of_a_file_address_are_not_followed_out(tmp_path: Path) -> None:
    write_logs(tmp_path)
    (tmp_path / "logs" / "a" / "gone.tsv").symlink_to(tmp_path / "secret.tsv")
    answer = client(f"file://{tmp_path}/logs").get("/data/plugin/projector/tensor?run=a&name=6")
    assert (answer.status_code, "outside the log directory" in answer.json()["detail"]) == (404, True)
