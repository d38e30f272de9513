from stepscope.dashboard.page.colors import RunColor
from stepscope.dashboard.page.state import View
from stepscope.dashboard.runs.facts import HParamField, MetricField
from stepscope.dashboard.runs.settings import format_pair, parse_pairs
from stepscope.dashboard.runs.table import RunTable
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.runs.tiny import named, snapshot

GRID = snapshot(
    {
        "lr_0.1/seed_0": ({"lr": 0.1, "seed": 0, "layers": 2}, {"loss": [2.0, 1.0]}),
        "lr_0.1/seed_1": ({"lr": 0.1, "seed": 1, "layers": 2}, {"loss": [2.0, 0.5]}),
        "lr_0.2/seed_0": ({"lr": 0.2, "seed": 0, "layers": 2}, {"loss": [2.0, 3.0]}),
    }
)


def table(shot: Snapshot, run_filter: str = "", **settings: str | tuple[str, ...]) -> RunTable:
    """A table with the given ``runs.NAME`` settings."""
    values = {f"runs.{name}": (value,) if isinstance(value, str) else value for name, value in settings.items()}
    return RunTable(shot, View(run_filter=run_filter, settings=values))


def test_first_twenty_runs_are_shown_and_exceptions_apply() -> None:
    runs = [f"r{number}" for number in range(25)]
    shot = named(*runs)
    assert RunTable(shot, View()).shown == runs[:20]
    assert RunTable(shot, View(hide=("r0",), show=("r24", "gone"))).shown == [*runs[1:20], "r24"]
    assert RunTable(shot, View(runs="none", show=("r3",))).shown == ["r3"]
    assert RunTable(shot, View(runs="all")).shown == runs


def test_of_what_a_search_finds_the_first_twenty_are_shown_or_all() -> None:
    runs = [f"r{number}" for number in range(70)]
    shot = named(*runs)
    last = RunTable(shot, View(run_filter="R6"))
    assert (last.shown, last.listed) == (["r6", *runs[60:]], ["r6", *runs[60:]])
    assert RunTable(shot, View(run_filter="R[4-6].", hide=("r41",), show=("r69",))).shown == [
        "r40",
        *runs[42:60],
        "r69",
    ]
    assert RunTable(shot, View(runs="found", run_filter="R[4-6].", hide=("r41",))).shown == ["r40", *runs[42:]]
    assert RunTable(shot, View(runs="none", run_filter="R6")).shown == []
    assert [RunTable(shot, View(runs="found", run_filter=text)).shown for text in ("", "a[")] == [runs[:20]] * 2


def test_a_search_is_a_regular_expression_or_a_condition() -> None:
    assert table(GRID, "SEED_0$").listed == ["lr_0.1/seed_0", "lr_0.2/seed_0"]
    assert table(GRID, "lr < 0.15 and loss.last < 0.8").listed == ["lr_0.1/seed_1"]
    assert table(GRID, 'group == "lr_0.2"', group="path:1").listed == ["lr_0.2/seed_0"]


def test_a_search_that_is_none_filters_nothing_and_says_why() -> None:
    bad = [table(GRID, text) for text in ("a[", "lr <", "depth < 3")]
    assert [found.shown for found in bad] == [list(GRID.runs)] * 3
    assert [found.filter_error for found in bad] == [
        "Not a valid regular expression: unterminated character set at position 2",
        'Incomplete: expected a name, a number or a quoted string after "<"',
        "Not understood: no run has 'depth'",
    ]


def test_a_run_has_another_name_on_the_screen_and_is_found_by_both() -> None:
    found = table(GRID, "best", name=format_pair("lr_0.2/seed_0", "Best: 1"))
    assert [found.label(run) for run in GRID.runs] == ["lr_0.1/seed_0", "lr_0.1/seed_1", "Best: 1"]
    assert found.listed == ["lr_0.2/seed_0"]
    assert table(GRID, "seed_0", name=format_pair("lr_0.2/seed_0", "Best")).listed == ["lr_0.1/seed_0", "lr_0.2/seed_0"]


def test_the_run_of_the_log_directory_itself_has_its_name() -> None:
    shot = Snapshot(1, named(".", "a").runs, name="mnist")
    assert [RunTable(shot, View()).label(run) for run in shot.runs] == ["mnist", "a"]
    assert RunTable(shot, View(run_filter="mnist")).listed == ["."]
    assert table(shot, name=format_pair(".", "Best")).label(".") == "Best"


def test_names_given_by_hand_are_read_as_they_are_written() -> None:
    entries = [format_pair("a:b/c %", "x:y"), "no colon", format_pair("empty", "")]
    assert entries == ["a%3Ab%2Fc%20%25:x:y", "no colon", "empty:"]
    assert parse_pairs(entries) == {"a:b/c %": "x:y"}


def test_members_of_a_group_share_its_color() -> None:
    plain, grouped = table(GRID), table(GRID, group="seeds")
    one, two, other = GRID.runs
    assert plain.groups == ()
    assert plain.group_of == {}
    assert len(set(plain.colors.values())) == 3
    assert grouped.group_of == {one: "lr_0.1/seed_*", two: "lr_0.1/seed_*"}
    assert (grouped.label(other), grouped.colors[other]) == (other, plain.colors[other])
    assert grouped.colors[one] == grouped.colors[two] == grouped.group_colors["lr_0.1/seed_*"] != grouped.colors[other]
    assert table(GRID, group="seeds", color="run").colors == plain.colors
    assert table(GRID, group="regex:(").group_error == "Cannot group by '(': missing ) at position 1"


def test_colors_tell_a_value_and_one_given_by_hand_wins() -> None:
    found = table(
        GRID, color="metric:loss.last", paint=(format_pair("lr_0.1/seed_1", "#123456"), "x:red", "gone:#000000")
    )
    assert found.color_field == MetricField("loss", "last")
    assert found.color_scale is not None
    assert (found.color_scale.low, found.color_scale.high) == (0.5, 3.0)
    assert found.colors == {
        "lr_0.1/seed_0": found.color_scale.at(1.0),
        "lr_0.1/seed_1": RunColor("#123456", "#123456"),
        "lr_0.2/seed_0": found.color_scale.at(3.0),
    }
    assert found.unpainted["lr_0.1/seed_1"] == found.color_scale.at(0.5)


def test_columns_are_the_hyperparameters_that_differ_unless_chosen() -> None:
    assert table(GRID).columns == (HParamField("lr"), HParamField("seed"))
    chosen = table(GRID, columns=("metric:loss.min", "hparam:layers", "nonsense"))
    assert chosen.columns == (MetricField("loss", "min"), HParamField("layers"))
    assert table(GRID, columns="none").columns == ()


def test_columns_and_colors_show_fields_that_exist_and_each_column_once() -> None:
    made_up = ("hparam:depth", "metric:accuracy.last")
    found = table(GRID, columns=(*made_up, "hparam:lr", "hparam:lr", *made_up), color=made_up[0])
    assert (found.columns, found.color_field) == ((HParamField("lr"),), None)
    assert found.colors == table(GRID).colors


def test_a_table_has_a_limited_number_of_columns() -> None:
    many = {f"h{number}": number for number in range(150)}
    found = table(snapshot({"a": (many, {})}), columns=tuple(f"hparam:{name}" for name in many))
    assert found.columns == tuple(map(HParamField, list(many)[:100]))


def test_selected_and_pinned_runs_exist() -> None:
    found = table(GRID, select=("lr_0.2/seed_0", "gone"), pin=("gone", "lr_0.2/seed_0"))
    assert (set(found.selected), found.pinned) == ({"lr_0.2/seed_0"}, ("lr_0.2/seed_0",))
