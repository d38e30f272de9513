import gc
import math
import weakref
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.dashboard.page.state import decode
from stepscope.dashboard.runs import facts as facts_module
from stepscope.dashboard.runs.examples import examples
from stepscope.dashboard.runs.expression import resolve
from stepscope.dashboard.runs.facts import Facts, HParamField, MetricField, parse_field
from stepscope.dashboard.runs.helpers import Helper, helper_runs
from stepscope.dashboard.runs.listing import surroundings
from stepscope.dashboard.runs.table import RunTable
from stepscope.dashboard.runs.window import window_of
from stepscope.dashboard.server.succession import succeed
from stepscope.summary import SummaryWriter
from stepscope.summary.kinds.hparams import checked_hparams, experiment, session_start, start_info
from stepscope.summary.logdir import Logdir
from stepscope.summary.proto.hparams_pb2 import Experiment, HParamInfo
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.series import Run
from stepscope.summary.snapshot import Snapshot
from tests.dashboard.runs.tiny import named, snapshot

names = st.text(min_size=1, max_size=12)


@given(st.one_of(st.builds(HParamField, names), st.builds(MetricField, names, st.sampled_from(["last", "min", "max"]))))
def test_fields_are_read_as_they_are_written(field: HParamField | MetricField) -> None:
    assert parse_field(field.spec) == field


@pytest.mark.parametrize("spec", ["", "auto", "hparam:", "metric:loss", "metric:loss.mean", "loss.last", "none"])
def test_anything_else_is_no_field(spec: str) -> None:
    assert parse_field(spec) is None


def test_a_metric_is_summed_up() -> None:
    facts = Facts.of(
        snapshot({"a": ({}, {"x": [3, math.nan, 1, math.inf], "nan": [math.nan], "none": []}), "b": ({}, {})})
    )
    values = {
        (tag, statistic): facts.values(["a", "b"], MetricField(tag, statistic))
        for tag in ("x", "none")
        for statistic in ("last", "min", "max")
    }
    assert values == {
        ("x", "last"): [math.inf, None],
        ("x", "min"): [1.0, None],
        ("x", "max"): [3.0, None],
        ("none", "last"): [None, None],
        ("none", "min"): [None, None],
        ("none", "max"): [None, None],
    }
    (least,) = facts.values(["a"], MetricField("nan", "min"))
    assert isinstance(least, float)
    assert math.isnan(least)
    assert [facts.last_step(run) for run in ("a", "b")] == [3, None]


def test_a_run_that_can_no_longer_be_read_has_no_step_and_no_metric() -> None:
    shot = snapshot({"gone": ({}, {"loss": None}), "a": ({}, {"loss": [3.0, 2.0]})})
    facts = Facts.of(shot)
    assert [facts.last_step(run) for run in ("gone", "a")] == facts.last_steps(["gone", "a"]) == [None, 1]
    assert facts.values(["gone", "a"], MetricField("loss", "last")) == [None, 2.0]
    assert RunTable(shot, decode("run_filter=step >= 0")).listed == ["a"]
    assert [example["text"] for example in examples(facts)][-1] == "step >= 1"


def test_hyperparameters_are_those_of_the_nearest_session() -> None:
    facts = Facts.of(
        snapshot(
            {
                "keras": ({"lr": 1}, {}),
                "keras/train": ({}, {"loss": [1.0]}),
                "torch": ({}, {"loss": [1.0]}),
                "torch/1700": ({"lr": 2}, {}),
                "two": ({}, {}),
                "two/a": ({"lr": 3}, {}),
                "two/b": ({"lr": 4}, {}),
                "none": ({}, {}),
            }
        )
    )
    assert [facts.hparams[run].get("lr") for run in facts.runs] == [1, 1, 2, 2, None, 3, 4, None]


def test_hyperparameters_that_differ_come_first() -> None:
    facts = Facts.of(
        snapshot(
            {"a": ({"same": 1, "flag": True, "lr": 1}, {}), "b": ({"same": 1, "flag": 1, "lr": 2, "own": "x"}, {})}
        )
    )
    assert facts.differing_hparams == ("lr", "flag")
    assert facts.hparam_names == ("lr", "flag", "same", "own")


def test_hyperparameters_that_tell_more_come_first() -> None:
    values = [
        {"batch": 32, "activation": "relu", "lr": 0.1, "width": 8, "data/seed": 1, "seedling": 1, "reseed": 3},
        {"batch": 32, "activation": "gelu", "lr": 0.2, "width": 16, "data/seed": 2, "seedling": 2, "reseed": 4},
        {"batch": 64, "activation": "tanh", "lr": 0.3, "width": 8, "data/seed": 3, "seedling": 1, "reseed": 3},
        {"batch": 64, "activation": "tanh", "lr": 0.4, "width": 8, "data/seed": 4, "seedling": 1, "reseed": 3},
    ]
    facts = Facts.of(snapshot({str(run): (hparams, {}) for run, hparams in enumerate(values)}))
    assert facts.differing_hparams == ("lr", "activation", "batch", "reseed", "seedling", "width", "data/seed")


def test_facts_are_found_out_once_for_a_snapshot() -> None:
    shot = named("a")
    assert Facts.of(shot) is Facts.of(shot)
    assert Facts.of(named("a")) is not Facts.of(shot)
    made = iter((7, 8))
    assert [Facts.of(shot).once("key", lambda: next(made)) for _ in range(2)] == [7, 7]


def test_a_snapshot_goes_when_nobody_has_it_any_more() -> None:
    # The facts held the snapshot that held them, and so the columns of every update, until memory was full.
    shot = snapshot({"a": ({"lr": 0.1}, {"x": [1.0]}), "b": ({"lr": 0.2}, {"x": [2.0]})})
    facts = Facts.of(shot)
    assert facts.values(["a", "b"], MetricField("x", "last")) == [1.0, 2.0]
    assert facts.hparam_names == ("lr",)
    gone = weakref.ref(shot)
    gc.disable()
    try:
        del shot, facts
        assert gone() is None
    finally:
        gc.enable()


def test_hyperparameters_are_called_as_their_experiment_has_them_shown(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        infos = {"lr": "learning rate", "a": "same", "b": "same", "c": "lr"}
        said = Experiment(hparam_infos=[HParamInfo(name=name, display_name=title) for name, title in infos.items()])
        hparams = start_info(checked_hparams({"lr": 0.1, "a": 1, "b": 2, "plain": 3}))
        for value in (experiment(said), session_start(hparams)):
            writer.add_summary(Summary(value=[value]))
    facts = Facts.of(Logdir(tmp_path).update())
    names = ["lr", "a", "b", "plain"]
    assert [facts.title(HParamField(name)) for name in names] == ["learning rate", "a", "b", "plain"]
    assert resolve("learning rate", facts) == resolve("lr", facts) == HParamField("lr")


def test_facts_of_a_run_that_has_not_changed_are_those_of_the_snapshot_before(tmp_path: Path) -> None:
    for run in ("a", "b"):
        with SummaryWriter(str(tmp_path / run)) as writer:
            start = session_start(start_info(checked_hparams({"lr": 0.1})))
            writer.add_summary(Summary(value=[start]), 0)
            writer.add_scalar("loss", 1.0, 0)
    logdir, loss = Logdir(tmp_path), MetricField("loss", "last")
    first = Facts.of(logdir.update())
    assert first.column(loss) == {"a": 1.0, "b": 1.0}
    with SummaryWriter(str(tmp_path / "b")) as writer:
        writer.add_scalar("loss", 2.0, 1)
    second = Facts.of(logdir.update())
    assert second is not first
    assert second.column(loss) == {"a": 1.0, "b": 2.0}
    assert second.hparams["a"] is first.hparams["a"]
    assert second.hparams["b"] is not first.hparams["b"]


SWEEP: dict[str, tuple[dict[str, object], dict[str, list[float]]]] = {
    "a": ({"lr": 0.1}, {"loss": [1.0, 0.5]}),
    "b": ({"lr": 0.2}, {"loss": [4.0, 2.0]}),
}
LOSS = MetricField("loss", "last")


def followed(before: Snapshot, now: Snapshot) -> Facts:
    """The facts of a snapshot that follows one whose facts are all known."""
    known = Facts.of(before)
    assert known.differing_hparams == ("lr",)
    assert known.column(LOSS) == {"a": 0.5, "b": 2.0}
    succeed(before, now)
    return Facts.of(now)


def test_of_a_snapshot_that_has_new_points_only_the_runs_that_have_them_are_looked_at_again() -> None:
    before = snapshot(SWEEP)
    grown = snapshot({**SWEEP, "b": ({"lr": 0.2}, {"loss": [4.0, 2.0, 3.0]})}, revision=2)
    now = followed(before, Snapshot(2, {"a": before.runs["a"], "b": grown.runs["b"]}))
    assert now.hparams is Facts.of(before).hparams
    assert now.column(LOSS) == {"a": 0.5, "b": 3.0}
    assert Facts.of(before).column(LOSS) == {"a": 0.5, "b": 2.0}


@pytest.mark.parametrize(
    "changes",
    [
        {"c": ({"lr": 0.3}, {"loss": [3.0]})},
        {"b": ({"lr": 0.4}, {"loss": [2.0]})},
        {"b": ({"lr": 0.2}, {"loss": [2.0], "accuracy": [0.5]})},
        {"b": ({}, {"loss": [2.0]})},
    ],
)
def test_what_new_runs_tags_and_hyperparameters_tell_is_found_out_again(
    changes: dict[str, tuple[dict[str, object], dict[str, list[float]]]],
) -> None:
    now = snapshot({**SWEEP, **changes}, revision=2)
    found, again = followed(snapshot(SWEEP), now), Facts(now.runs)
    assert (found.hparams, found.metric_tags) == (again.hparams, again.metric_tags)
    assert (found.differing_hparams, found.trainings) == (again.differing_hparams, again.trainings)
    assert found.column(LOSS) == again.column(LOSS)


NAMES = ("a", "b", "a/x_1", "a/1700000000", "a/session", "b/c", "b/c/x_2", "b/c/d", ".")
told_runs = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(
        st.dictionaries(st.sampled_from(("lr", "seed")), st.sampled_from((1, 1.0, True, "one")), max_size=2),
        st.dictionaries(st.sampled_from(("x", "loss")), st.just([1.0]), max_size=2),
    ),
)


@given(told_runs, told_runs)
def test_new_runs_tell_what_they_would_have_told_from_the_beginning(
    runs: dict[str, tuple[dict[str, object], dict[str, list[float]]]],
    more: dict[str, tuple[dict[str, object], dict[str, list[float]]]],
) -> None:
    before = snapshot(runs)
    known = Facts.of(before)
    fields = (MetricField("x", "last"), HParamField("lr"))
    for field in fields:
        known.column(field)
    assert known.hparam_names is not None
    now = snapshot({**runs, **{name: told for name, told in more.items() if name not in runs}}, revision=2)
    succeed(before, now)
    found, again = Facts.of(now), Facts(now.runs)
    assert list(found.helpers.items()) == list(again.helpers.items())
    assert list(found.hparams.items()) == list(again.hparams.items())
    assert (found.hparam_names, found.differing_hparams) == (again.hparam_names, again.differing_hparams)
    assert (found.trainings, found.metric_tags) == (again.trainings, again.metric_tags)
    assert [found.column(field) for field in fields] == [again.column(field) for field in fields]


def test_the_first_hyperparameters_bring_an_example_of_a_condition() -> None:
    before, one = snapshot({"a": ({}, {"x": [1.0]})}), {"b": ({"lr": 1.0}, {"x": [1.0]})}
    now = Snapshot(2, {**before.runs, **snapshot(one).runs})
    more = Snapshot(3, {**now.runs, **snapshot({"c": ({"lr": 2.0}, {"x": [1.0]})}).runs})
    found = []
    for shot, last in ((before, None), (now, before), (more, now)):
        if last is not None:
            succeed(last, shot)
        table = RunTable(shot, decode(""))
        assert table.facts.differing_hparams is not None
        found.append(surroundings(table, window_of(table, 10))["placeholder"])
    assert found == ["Name, such as a", "Name or lr <= 1", "Name or lr <= 1"]


def test_of_a_snapshot_with_new_runs_only_these_and_their_family_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot({f"{top}/{run}": ({"lr": run}, {"loss": [1.0]}) for top in "ab" for run in range(3)})
    known = Facts.of(before)
    assert known.hparam_names == ("lr",)
    looked: list[str] = []

    def helpers_of(runs: Mapping[str, Run]) -> Mapping[str, Helper]:
        looked.extend(runs)
        return helper_runs(runs)

    monkeypatch.setattr(facts_module, "helper_runs", helpers_of)
    now = Snapshot(2, {**before.runs, **snapshot({"b/3": ({"lr": 3}, {"loss": [1.0]})}).runs})
    succeed(before, now)
    assert Facts.of(now).hparams["b/3"] == {"lr": 3}
    assert Facts.of(now).helpers == {}
    assert looked == ["b/0", "b/1", "b/2", "b/3"]


def test_what_was_found_out_reaches_a_snapshot_over_one_that_nobody_asked_about() -> None:
    before = snapshot(SWEEP)
    hparams = Facts.of(before).hparams
    between, now = Snapshot(2, before.runs), Snapshot(3, before.runs)
    succeed(before, between)
    succeed(between, now)
    assert Facts.of(now).hparams is hparams
