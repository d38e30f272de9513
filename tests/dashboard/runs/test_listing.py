from typing import Any

from stepscope.dashboard.page.colors import PALETTE
from stepscope.dashboard.page.state import View
from stepscope.dashboard.runs import listing
from stepscope.dashboard.runs.listing import Listings, legend, listing_key
from stepscope.dashboard.runs.messages import RunRow, Surroundings
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.runs.window import FIRST_ROWS, window_of
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.runs.tiny import named, snapshot


def shot(loss: float, revision: int = 1, *more: str) -> Snapshot:
    runs: dict[str, tuple[dict[str, object], dict[str, list[float]]]] = {
        "a": ({"opt": "adam"}, {"loss": [loss]}),
        "b": ({"opt": "sgd"}, {"loss": [float("nan")]}),
    }
    return snapshot({**runs, **{name: ({}, {}) for name in more}}, revision)


def table(of: Snapshot, **settings: str) -> RunTable:
    values = {"runs.columns": ("hparam:opt", "metric:loss.last")}
    return RunTable(of, View(settings={**values, **{f"runs.{name}": (value,) for name, value in settings.items()}}))


def rows_of(found: RunTable, most: int = FIRST_ROWS) -> dict[str, RunRow]:
    return listing.rows_of(found, window_of(found, most))


def surroundings(found: RunTable, most: int = FIRST_ROWS) -> Surroundings:
    return listing.surroundings(found, window_of(found, most))


def test_rows_say_all_that_the_page_shows_of_a_run() -> None:
    found = table(shot(0.5), group="hparam:opt", name="b:B")
    colors = found.colors
    assert rows_of(found) == {
        "a": {
            "run": "a", "label": "a", "parent": None, "order": 0, "light": colors["a"].light, "dark": colors["a"].dark,
            "started": 1000.0, "group": 0, "values": ["adam", 0.5],
        },
        "b": {
            "run": "b", "label": "B", "parent": None, "order": 1, "light": colors["b"].light, "dark": colors["b"].dark,
            "started": 1001.0, "group": 1, "values": ["sgd", "NaN"],
        },
    }  # fmt: skip


def test_around_the_rows_are_columns_groups_and_seeds() -> None:
    found = table(shot(0.5), group="hparam:opt")
    groups = [
        {
            "label": f"opt={opt}",
            "light": color.light,
            "dark": color.dark,
            "count": 1,
            "found": 1,
            "order": order,
            "started": 1000.0 + order,
            "values": [opt, loss],
            "means": [False, False],
        }
        for order, (opt, color, loss) in enumerate(
            (("adam", found.colors["a"], 0.5), ("sgd", found.colors["b"], "NaN"))
        )
    ]
    assert surroundings(found) == {
        "columns": [
            {"spec": "hparam:opt", "label": "opt", "kind": "hparam"},
            {"spec": "metric:loss.last", "label": "loss last", "kind": "metric"},
        ],
        "groups": groups,
        "group_error": "",
        "legend": None,
        "seeds": {"settings": 0, "runs": 0},
        "placeholder": 'Name or opt == "adam"',
        "total": 2,
        "loading": False,
        "found": 2,
        "whole_table": True,
        "unlisted": [],
        "searched": False,
        "last_default": 1,
    }


def test_the_page_learns_which_runs_are_on_by_default() -> None:
    shot = named(*(f"r{number}" for number in range(70)))
    around = [surroundings(RunTable(shot, View(run_filter=text))) for text in ("", "r[3-6].", "r6", "a[", "nothing")]
    assert [(found["last_default"], found["searched"]) for found in around] == [
        (19, False), (49, True), (69, True), (19, False), (69, True),
    ]  # fmt: skip


def test_the_legend_explains_colors_that_tell_something() -> None:
    assert legend(table(shot(0.5))) is None
    by_text = table(shot(0.5, 1, "c"), color="hparam:opt", paint="a:#123456")
    reported: Any = legend(by_text)
    assert reported is not None
    assert [entry["value"] for entry in reported["entries"]] == ["adam", "sgd", "(none)"]
    assert [entry["light"] for entry in reported["entries"]] == [by_text.unpainted[run].light for run in "abc"]
    scale: Any = legend(table(snapshot({"a": ({}, {"x": [1e-4]}), "b": ({}, {"x": [1.0]})}), color="metric:x.last"))
    assert scale is not None
    assert (scale["low"], scale["high"], scale["logarithmic"], len(scale["light"])) == (1e-4, 1.0, True, 13)
    assert (scale["light"][0], scale["light"][6], scale["light"][12]) == ("#440f6b", "#23868c", "#9cb726")


def test_the_legend_tells_all_values_apart() -> None:
    values = {"a": 0.1, "b": 0.1000000001, "c": "auto"}
    reported: Any = legend(
        table(snapshot({run: ({"x": value}, {}) for run, value in values.items()}), color="hparam:x")
    )
    assert reported is not None
    assert reported["entries"] == [
        {"value": text, "light": color.light, "dark": color.dark}
        for text, color in zip(("0.1", "0.1 (2)", "auto"), PALETTE, strict=False)
    ]


def test_pages_are_told_what_has_changed_since_they_were_told() -> None:
    listings = Listings()
    reported, first = listings.news(table(shot(0.5)), "")
    assert reported is not None
    assert (reported["whole"], [row["run"] for row in reported["rows"]], reported["base"]) == (True, ["a", "b"], "")
    assert listings.news(table(shot(0.5)), first) == (None, first)

    # News elsewhere in the log directory changes nothing here, and later changes build on what the page has.
    quiet, second = listings.news(table(shot(0.5, 2)), first)
    assert quiet is None
    assert second != first
    changed, third = listings.news(table(shot(0.25, 3, "c")), second)
    assert changed is not None
    assert (changed["whole"], changed["base"], changed["gone"]) == (False, reported["version"], [])
    assert [(row["run"], row["values"]) for row in changed["rows"]] == [("a", ["adam", 0.25]), ("c", [None, None])]

    gone, _ = listings.news(table(shot(0.25, 4)), third)
    assert gone is not None
    assert (gone["rows"], gone["gone"], gone["base"]) == ([], ["c"], changed["version"])
    forgotten, _ = listings.news(table(shot(0.25, 5)), "never told")
    assert forgotten is not None
    assert forgotten["whole"]


def test_switching_and_selecting_changes_no_row() -> None:
    plain = listing_key(table(shot(0.5)))
    assert listing_key(table(shot(0.5), select="a", pin="a", fold="x", line="max", members="on")) == plain
    switched = RunTable(shot(0.5), View(hide=("a",), settings=table(shot(0.5)).view.settings))
    assert listing_key(switched) == plain
    assert listing_key(table(shot(0.5), color="run")) != plain
    assert listing_key(table(shot(0.5, 2))) != plain
