"""Work is stopped from outside at its next check."""

import pytest

from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable, check_cancelled


def test_work_that_nobody_can_cancel_goes_on() -> None:
    check_cancelled()


def test_work_ends_once_nobody_waits_for_it() -> None:
    cancellation = Cancellation()
    with cancellable(cancellation):
        check_cancelled()
        cancellation.cancel()
        with pytest.raises(Cancelled, match="The request was canceled"):
            check_cancelled()
    check_cancelled()


def test_work_ends_when_its_time_is_over() -> None:
    now = 100.0
    cancellation = Cancellation(30, clock=lambda: now)
    with cancellable(cancellation):
        now = 130.0
        check_cancelled()
        now = 130.1
        with pytest.raises(Cancelled, match="longer than 30 seconds"):
            check_cancelled()
