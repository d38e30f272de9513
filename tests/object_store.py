"""A real S3 server on this machine, for tests of logs at addresses."""

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import fsspec
import pytest
from moto.server import ThreadedMotoServer

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}


class ObjectStore:
    """A server that may be stopped and started again, with the same address and contents."""

    def __init__(self) -> None:
        self.port = 0

    def start(self) -> None:
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self._server.start()
        _, self.port = self._server.get_host_and_port()

    def stop(self) -> None:
        self._server.stop()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def running_object_store(bucket: str) -> Iterator[ObjectStore]:
    """Serve one empty bucket to this process and to the processes that it starts."""
    store = ObjectStore()
    store.start()
    # fsspec caches file systems by their arguments, and the server's address is not among them: a file system that
    # another test used leads to a server that is gone.
    file_systems = fsspec.get_filesystem_class("s3")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", store.address)
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        file_systems.clear_instance_cache()
        fsspec.filesystem("s3").mkdir(bucket)
        try:
            yield store
        finally:
            file_systems.clear_instance_cache()
            # Buckets belong to the process, not to the server, and would still exist in the next server.
            urllib.request.urlopen(f"{store.address}/moto-api/reset", data=b"").close()
            store.stop()
