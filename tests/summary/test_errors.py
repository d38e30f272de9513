"""The reason in an error, as sentences have it."""

import errno

import pytest

from stepscope.summary.errors import reason_of


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/logs"), "Permission denied"),
        # From object stores.
        (FileNotFoundError("bucket/absent.json"), "No such file or directory"),
        (PermissionError("Access Denied"), "Access Denied"),
        (ValueError("the bucket has no name"), "the bucket has no name"),
        (EOFError(), "EOFError"),
    ],
)
def test_the_reason_has_no_name_of_the_file(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
