from typing import Any

from stepscope.dashboard.page.state import View
from stepscope.dashboard.runs import listing
from stepscope.dashboard.runs.facts import FactValue, HParamField, MetricField
from stepscope.dashboard.runs.listing import Listings
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.runs.window import shared_value, window_of
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.runs.tiny import named, snapshot

MANY = [f"r{number}" for number in range(30)]
LR = {"r0": 0.3, "r1": float("nan"), "r2": 0.1, "r4": 0.2}


def sweep(revision: int = 1) -> Snapshot:
    """Thirty runs; four have a learning rate, one of which is not a number."""
    return snapshot({run: ({"lr": LR[run]} if run in LR else {}, {"loss": [float(run[1:])]}) for run in MANY}, revision)


def table(shot: Snapshot, view: View | None = None, **settings: str | tuple[str, ...]) -> RunTable:
    view = view or View()
    values = {f"runs.{name}": (value,) if isinstance(value, str) else value for name, value in settings.items()}
    return RunTable(shot, View(view.tab, view.runs, view.show, view.hide, view.run_filter, settings=values))


def listed(found: RunTable, most: int) -> set[str]:
    window = window_of(found, most)
    return set(window.runs) - set(window.unlisted)


def test_a_page_has_all_rows_that_it_wants_and_else_the_first_of_them() -> None:
    assert window_of(table(sweep()), 30).whole
    window = window_of(table(sweep()), 3)
    assert (window.whole, window.runs, set(window.unlisted)) == (False, tuple(MANY[:20]), set(MANY[3:20]))


def test_the_first_rows_are_those_of_the_order_that_the_user_chose() -> None:
    assert listed(table(sweep(), sort="run:desc"), 3) == {"r29", "r28", "r27"}
    assert listed(table(sweep(), sort="started:desc"), 2) == {"r29", "r28"}
    columns = ("hparam:lr", "metric:loss.last")
    # Non-numbers come after all numbers and missing values last, even when the greatest come first.
    for order, first in (("asc", ["r2", "r4", "r0", "r1", "r3"]), ("desc", ["r0", "r4", "r2", "r1", "r3"])):
        found = [listed(table(sweep(), columns=columns, sort=f"hparam:lr:{order}"), most) for most in range(1, 6)]
        assert found == [set(first[: place + 1]) for place in range(5)]
    by_two = table(sweep(), columns=columns, sort=("hparam:lr:desc", "metric:loss.last:desc"))
    assert listed(by_two, 6) == {"r0", "r4", "r2", "r1", "r29", "r28"}
    assert listed(table(sweep(), sort=("gone:asc", "started:desc", "nonsense")), 1) == {"r29"}


def test_numbers_in_names_are_sorted_by_size() -> None:
    assert listed(table(named("r10", "R9", "r1"), sort="run:asc"), 2) == {"r1", "R9"}
    longest = f"r{'9' * 5000}"
    assert listed(table(named(longest, "r10", "r9"), sort="run:asc"), 2) == {"r9", "r10"}


def test_what_a_view_names_is_sent_besides_and_is_not_listed() -> None:
    view = View(show=("r25",), hide=("r26", "gone"))
    window = window_of(table(sweep(), view, pin="r27", select=("r28", "r2"), name="r29:best"), 21)
    assert window.runs == (*MANY[:21], "r25", "r26", "r27", "r28", "r29")
    assert window.unlisted == ("r25", "r26", "r27", "r28", "r29")
    searched = window_of(table(sweep(), View(run_filter="r2.", show=("r3",)), select="r29"), 2)
    assert (searched.runs[0], "r3" in searched.runs, searched.runs[-1]) == ("r20", False, "r29")


def test_groups_stand_above_their_members_unless_they_are_folded() -> None:
    shot = snapshot({run: ({"opt": "adam" if int(run[1:]) % 3 else "sgd", "n": int(run[1:])}, {}) for run in MANY})
    grouped: Any = {"group": "hparam:opt", "columns": ("hparam:n", "hparam:opt")}
    window = window_of(table(shot, **grouped), 4)
    assert ([head.group.label for head in window.groups], set(window.runs) - set(window.unlisted)) == (
        ["opt=sgd"], {"r0", "r3", "r6"},
    )  # fmt: skip
    found = table(shot, **grouped, fold="opt=sgd")
    window = window_of(found, 4)
    assert [(head.group.label, len(head.runs)) for head in window.groups] == [("opt=sgd", 10), ("opt=adam", 20)]
    assert set(window.runs) - set(window.unlisted) == {"r1", "r2"}
    assert [(group["found"], group["values"]) for group in listing.surroundings(found, window)["groups"]] == [
        (10, [None, "sgd"]), (20, [None, "adam"]),
    ]  # fmt: skip
    descending = window_of(table(shot, **grouped, sort="hparam:opt:asc"), 2)
    assert ([head.group.label for head in descending.groups], listed(table(shot, **grouped, sort="run:desc"), 3)) == (
        ["opt=adam"], {"r27", "r24"},
    )  # fmt: skip


def test_lines_of_a_run_come_with_it() -> None:
    lines: Any = {f"r{number}/loss_train": ({}, {"loss": [1.0]}) for number in range(3)}
    shot = snapshot({**{f"r{number}": ({}, {"acc": [1.0]}) for number in range(3)}, **lines})
    assert listed(table(shot, sort="run:desc"), 1) == {"r2", "r2/loss_train"}


def test_a_group_has_what_its_runs_share_and_the_mean_of_a_metric() -> None:
    def shared(*values: FactValue) -> list[tuple[FactValue, bool]]:
        return [shared_value(values, field) for field in (HParamField("a"), MetricField("loss", "last"))]

    nan = float("nan")
    assert shared(0.1, 0.1) == [(0.1, False), (0.1, False)]
    assert shared(1.0, None, 3.0) == [(None, True), (2.0, True)]
    assert shared(1.0, nan) == [(None, True), (None, True)]
    assert shared(1.0, True) == [(None, True), (None, True)]
    assert [differs for _, differs in shared(nan, nan)] == [False, False]
    assert shared(1e308, float("inf")) == [(None, True), (None, True)]
    assert shared(-float("inf"), float("inf")) == [(None, True), (None, True)]
    assert shared(1.5e308, 1.7e308) == [(None, True), (1.6e308, True)]


def test_a_page_that_asks_for_more_rows_is_sent_only_those() -> None:
    runs = [f"r{number:04}" for number in range(2500)]
    shot, listings = named(*runs), Listings()
    first, key = listings.news(table(shot), "")
    assert first is not None
    assert ([row["run"] for row in first["rows"]], first["whole_table"], first["found"]) == (runs[:1000], False, 2500)
    # What is switched on and is known already changes nothing.
    assert listings.news(table(shot, View(hide=("r0003",))), key)[0] is None
    more, key = listings.news(table(shot), key, 2000)
    assert more is not None
    assert ([row["run"] for row in more["rows"]], more["gone"], more["base"]) == (runs[1000:2000], [], first["version"])
    turned, _ = listings.news(table(shot, sort="run:desc"), key, 2000)
    assert turned is not None
    assert [row["run"] for row in turned["rows"]] == runs[2000:]
    assert (turned["gone"], turned["unlisted"]) == (runs[20:500], runs[:20])
