"""What was lost from a trace, what is merely noted, and when it happened."""

from stepscope.profiler.trace import Losses
from stepscope.profiler.traces.losses import arrows_with_one_end, events_not_as_stored, examples_since, moment

LOSSES = Losses(
    {"flow end without a start": 3, "arrow back in time": 2, "negative duration": 1, "unreadable event": 5},
    examples={
        "arrow back in time": f"from “a” on p, t at {moment(1_000_005_000_000)} to “b” on p, t at {moment(-2_000_000)}",
        "negative duration": f"“said at 7.000000 ms” of p at {moment(1_000_000_000_001)} (event 4)",
        "unreadable event": "event 5 of the file",
    },
)


def test_arrows_are_remarks_and_events_losses() -> None:
    assert arrows_with_one_end(LOSSES) == 5
    assert events_not_as_stored(LOSSES) == {"unreadable event": 5, "negative duration": 1}
    assert (arrows_with_one_end(Losses()), events_not_as_stored(Losses())) == (0, {})


def test_examples_are_since_the_beginning_of_the_trace() -> None:
    assert examples_since(LOSSES, 1_000_000_000_000) == {
        "arrow back in time": "from “a” on p, t at 5.000000 ms to “b” on p, t at -1000002.000000 ms",
        "negative duration": "“said at 7.000000 ms” of p at 0.000001 ms (event 4)",
        "unreadable event": "event 5 of the file",
    }
