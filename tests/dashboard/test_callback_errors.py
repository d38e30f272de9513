"""What the server logs when a callback of the page raises."""

import logging

import pytest
from dash.exceptions import PreventUpdate
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from stepscope.dashboard.server.callbacks import PATH, CallbackErrors
from stepscope.summary.kinds.base import PayloadError


@pytest.mark.parametrize(
    ("path", "error", "logged", "has_traceback"),
    [
        (PATH, KeyError("loss"), ["A callback of the page failed."], True),
        (PATH, PayloadError("the points are gone"), ["A callback of the page failed: the points are gone"], False),
        (PATH, PreventUpdate(), [], False),
        ("/api/scalars", KeyError("loss"), [], False),
    ],
)
def test_a_callback_that_fails_is_logged(
    path: str, error: Exception, logged: list[str], has_traceback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            raise error

    with caplog.at_level(logging.WARNING, "stepscope"), pytest.raises(type(error)):
        TestClient(CallbackErrors(fails)).post(path)
    assert [record.getMessage() for record in caplog.records] == logged
    assert [bool(record.exc_info) for record in caplog.records] == [has_traceback] * len(logged)
