"""Other distributions' additions: one file and one line each, seen wherever built-in records are; failures survived."""

import ast
import dataclasses
import inspect
import itertools
import json
import re
import textwrap
from pathlib import Path

import pytest

from stepscope.dashboard.cli.base import ListedVerb
from stepscope.plugins import GROUPS, SWITCH, Plugin, PluginFailure, plugin_failures, registries
from stepscope.profiler.analysis.records import Analysis, Column, MetricDefinition
from stepscope.profiler.collectors.registry import ListedCollector
from tests.plugin_distributions import REPOSITORY, run_python, stepscope, write_distribution

pytestmark = pytest.mark.long

VERB = """
from stepscope.dashboard.cli.base import ListedVerb

class Greet:
    def add_arguments(self, parser):
        parser.add_argument("name")

    def run(self, arguments):
        print("hello", arguments.name)
        return 3

VERB = ListedVerb("greet", "greet somebody, 100% friendly", "mine:Greet")
"""
COLLECTOR = """
from stepscope.profiler.collectors.base import HOST_DEVICE, Collected, Lane, Record
from stepscope.profiler.collectors.registry import ListedCollector

class Mine:
    def start(self, clock):
        self.clock = clock

    def stop(self):
        now = self.clock.now() + self.clock.wall_offset_ns
        return Collected([Record("mine ran", "annotation", Lane(HOST_DEVICE, 7, "mine"), now - 5, 5)])

COLLECTOR = ListedCollector("mine", "that it ran", "mine:Mine")
"""
ANALYSIS = """
from stepscope.profiler.analysis.records import Analysis, Column, MetricDefinition

def letters(facts):
    import polars as pl

    names = [facts.trace.names[number] for number in facts.trace.name_id]
    took = facts.trace.duration_ns
    return pl.DataFrame({"name": names, "letters": [len(name) for name in names], "took_ns": took})

ANALYSIS = Analysis(
    "letters",
    "how long names are",
    letters,
    columns=(
        Column("name", "its name"),
        Column("letters", "How many letters it has", "number"),
        Column("took_ns", "How long"),
    ),
    metrics=(MetricDefinition("longest_name", "count", "letters of the longest name"),),
    figures=lambda facts: {"longest_name": letters(facts)["letters"].max()},
)
"""
PAGE = """
import json, sys
from fastapi.testclient import TestClient
from stepscope.dashboard.panels.profile.analysis_tables import tables_of
from stepscope.dashboard.panels.profile.columns import columns
from stepscope.dashboard.panels.profile.presence import shown_pages
from stepscope.dashboard.panels.profile.settings import PageRequest
from stepscope.dashboard.page.state import decode
from stepscope.dashboard.server.app import build_app
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.sources import trace_sources
from stepscope.dashboard.traces.analyzed_traces import analyzed_traces_of
from stepscope.plugins import plugin_failures
from stepscope.summary.logdir import Logdir
from tests.dashboard.media import NoFollower

live = Live(sys.argv[1], lambda publish: NoFollower())
live.publish(Logdir(sys.argv[1], companion_patterns=["*.trace.json"]).update())
client = TestClient(build_app(live), base_url="http://localhost:6006")
(source,) = trace_sources(live.snapshot())
made = tables_of(PageRequest.of(decode("profile.view=plugins")), analyzed_traces_of(live).get(source), None)
csv = client.get("/api/profile/table.csv", params={"name": "letters", "view": "profile.view=plugins"}).text
found = {
    "csv": csv.replace("\\r", ""),
    "tables": [[each.name, each.title, each.empty, each.failure] for each in made],
    "columns": [[each["headerName"], each["headerTooltip"]] for each in columns(made[1], [])],
    "pages": [each["value"] for each in shown_pages({}, "overview")],
    "failures": [failure.plugin.name for failure in plugin_failures()],
}
print(json.dumps(found))
"""
RECORD = """
import json, sys
from stepscope import profiler
from stepscope.profiler import ProfilerOptions
from stepscope.profiler.capture_request import parse_request
from stepscope.profiler.server import usable_collectors
from stepscope.profiler.traces import load_trace

kept = []
for arguments in ({"collectors": ["mine"]}, {"options": ProfilerOptions(0, 0, 0, more_collectors=["mine"])}):
    profiler.start(sys.argv[1], **arguments)
    recording = profiler.stop()
    kept.append("mine ran" in "".join(load_trace(str(recording.trace_path)).names))
asked = parse_request(b'{"steps": 1, "collectors": ["mine"]}').collectors
print(json.dumps([kept, "mine" in usable_collectors(), asked]))
"""


def test_a_verb_is_one_file_and_one_line(tmp_path: Path) -> None:
    write_distribution(tmp_path, {"mine": VERB}, {"verbs": {"greet": "mine:VERB"}})
    assert "    greet     greet somebody, 100% friendly\n" in stepscope(tmp_path, "--help").stdout
    done = stepscope(tmp_path, "greet", "you")
    assert (done.stdout, done.stderr, done.returncode) == ("hello you\n", "", 3)
    assert "stepscope greet" in stepscope(tmp_path, "gret").stderr
    without = stepscope(tmp_path, "greet", "you", **{SWITCH: "0"})
    assert without.returncode == 2
    assert "greet is not a command" in without.stderr


def test_a_verb_that_breaks_is_named_and_the_others_work(tmp_path: Path) -> None:
    modules = {
        "mine": VERB.replace('"mine:Greet"', '"mine:Gone"'),
        "heavy": "raise SystemExit('no license')",
        "other": "VERB = 7",
    }
    write_distribution(
        tmp_path, modules, {"verbs": {"greet": "mine:VERB", "heavy": "heavy:VERB", "seven": "other:VERB"}}
    )
    done = stepscope(tmp_path, "greet", "you")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "The plug-in 'greet' of stepscope-mine 1.2 (stepscope.verbs) failed: AttributeError: "
        "module 'mine' has no attribute 'Gone'\n"
        "stepscope: greet cannot be used, because its plug-in failed.\n"
    )
    # A verb whose record cannot be loaded has the name of its entry point.
    done = stepscope(tmp_path, "seven")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "stepscope: seven cannot be used, because its plug-in failed.",
    )
    listed = stepscope(tmp_path, "--help")
    assert "    greet " in listed.stdout
    assert listed.returncode == 0
    assert listed.stderr == (
        "The plug-in 'heavy' of stepscope-mine 1.2 (stepscope.verbs) failed: SystemExit: no license (heavy, line 1)\n"
        "The plug-in 'seven' of stepscope-mine 1.2 (stepscope.verbs) failed: "
        "TypeError: other:VERB is of the type int, not ListedVerb\n"
    )


def test_a_verb_that_fails_while_it_runs_is_named_with_the_line(tmp_path: Path) -> None:
    fails = VERB.replace("return 3", "raise KeyError(arguments.name)")
    nothing = VERB.replace("def run", "def ran").replace('"greet"', '"nothing"')
    odd = VERB.replace("return 3", "return 'three'").replace('"greet"', '"odd"')
    modules = {
        "mine": fails,
        **{name: text.replace("mine:", f"{name}:") for name, text in (("nothing", nothing), ("odd", odd))},
    }
    points = {"verbs": {"greet": "mine:VERB", "nothing": "nothing:VERB", "odd": "odd:VERB"}}
    write_distribution(tmp_path, modules, points)
    failed = (
        "The plug-in 'greet' of stepscope-mine 1.2 (stepscope.verbs) failed: run: KeyError: 'you' (mine, line 10)\n"
    )
    done = stepscope(tmp_path, "greet", "you")
    assert (done.stdout, done.stderr, done.returncode) == ("hello you\n", failed, 1)
    traced = stepscope(tmp_path, "greet", "you", STEPSCOPE_LOG="debug").stderr
    assert "Traceback (most recent call last):" in traced
    assert traced.endswith(failed)
    assert stepscope(tmp_path, "nothing", "you").stderr.startswith(
        "The plug-in 'nothing' of stepscope-mine 1.2 (stepscope.verbs) failed: TypeError: Greet has no method 'run'\n"
    )
    done = stepscope(tmp_path, "odd", "you")
    assert (done.returncode, done.stderr) == (
        1,
        "The plug-in 'odd' of stepscope-mine 1.2 (stepscope.verbs) failed: run: TypeError: it returned str, expected "
        "an exit code\n",
    )
    refused = stepscope(tmp_path, "greet", "you", STEPSCOPE_LOG="loud")
    assert (refused.returncode, refused.stderr) == (
        2,
        "stepscope: STEPSCOPE_LOG is loud; expected debug, info, warning or error.\n",
    )


def test_help_does_not_import_what_a_verb_does(tmp_path: Path) -> None:
    modules = {
        "mine": "from stepscope.dashboard.cli.base import ListedVerb\nVERB = ListedVerb('far', 'go far', 'heavy:Far')",
        "heavy": "raise RuntimeError('imported')",
    }
    write_distribution(tmp_path, modules, {"verbs": {"far": "mine:VERB"}})
    done = stepscope(tmp_path, "--help")
    assert ("    far       go far\n" in done.stdout, done.stderr) == (True, "")


def test_a_collector_is_one_file_and_one_line(tmp_path: Path) -> None:
    write_distribution(tmp_path, {"mine": COLLECTOR}, {"collectors": {"mine": "mine:COLLECTOR"}})
    done = run_python(tmp_path, "-c", RECORD, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[True, True], True, ["mine"]]
    assert "nvml, mine" in " ".join(stepscope(tmp_path, "capture", "--help").stdout.split())


def test_a_collector_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    write_distribution(
        tmp_path, {"mine": COLLECTOR.replace('"mine:Mine"', '"gone:Mine"')}, {"collectors": {"mine": "mine:COLLECTOR"}}
    )
    code = "from stepscope.profiler import start; start('run', collectors=['mine'])"
    assert run_python(tmp_path, "-c", code).stderr.splitlines()[-1] == (
        "stepscope.summary.errors.UserError: The plug-in 'mine' of stepscope-mine 1.2 (stepscope.collectors) failed: "
        "ModuleNotFoundError: No module named 'gone'"
    )
    listed = run_python(tmp_path, "-c", "from stepscope.profiler.server import *; print(usable_collectors())")
    assert "'mine'" not in listed.stdout


COLLECTORS = """
from stepscope.profiler.collectors.base import HOST_DEVICE, Collected, Lane, Record
from stepscope.profiler.collectors.registry import ListedCollector
from stepscope.summary.errors import UserError

LANE = Lane(HOST_DEVICE, 7, "mine")

class Idle:
    def start(self, clock):
        pass

    def stop(self):
        return Collected()

class Start(Idle):
    def start(self, clock):
        raise ValueError("no sensor")

class Refuse(Idle):
    def start(self, clock):
        raise UserError("there is no sensor here")

class Half:
    def start(self, clock):
        pass

class Stop(Idle):
    def stop(self):
        raise RuntimeError("sensor lost")

class Lists(Idle):
    def stop(self):
        return []

class Times(Idle):
    def stop(self):
        return Collected([Record("a", "annotation", LANE, "then", 5)])

class Facts(Idle):
    def stop(self):
        return Collected(metadata={"sensors": object()})

start, stop, lists, times, facts = (
    ListedCollector(each.__name__.lower(), "x", f"mine:{each.__name__}") for each in (Start, Stop, Lists, Times, Facts)
)
needs = ListedCollector("needs", "x", "mine:Idle", "gone")
refuse = ListedCollector("refuse", "x", "mine:Refuse")
half = ListedCollector("half", "x", "mine:Half")
gone = ListedCollector("gone", "x", "mine:Gone")
"""
RECORD_EACH = """
import json, sys
from stepscope import annotate, profiler
from stepscope.profiler import ProfilerOptions
from stepscope.summary.errors import UserError

def said(**arguments):
    try:
        profiler.start("run", **arguments)
    except UserError as error:
        return str(error)
    with annotate("work"):
        pass
    recording = profiler.stop()
    return [recording.steps == (0,), *recording.notes]

print(json.dumps({
    name: [said(collectors=[name]), said(options=ProfilerOptions(0, 0, 0, more_collectors=[name]))]
    for name in sys.argv[1:]
}))
"""


def test_a_collector_that_fails_loses_only_its_own_records(tmp_path: Path) -> None:
    names = ("start", "stop", "lists", "times", "facts", "needs", "half", "gone", "refuse")
    write_distribution(tmp_path, {"mine": COLLECTORS}, {"collectors": {name: f"mine:{name}" for name in names}})
    done = run_python(tmp_path, "-c", RECORD_EACH, *names)
    assert done.returncode == 0, done.stderr
    why = {
        "start": "start: ValueError: no sensor (mine, line 17)",
        "stop": "stop: RuntimeError: sensor lost (mine, line 29)",
        "lists": "stop: TypeError: it returned list, expected Collected",
        "times": "stop: TypeError: records[0].start_ns is 'then', expected int",
        "facts": "stop: TypeError: metadata['sensors'] cannot be JSON: Encoding objects of type object is unsupported",
        "needs": "ModuleNotFoundError: it needs the module 'gone', which is not installed",
        "half": "TypeError: Half has no method 'stop'",
        "gone": "AttributeError: module 'mine' has no attribute 'Gone'",
    }
    failed = {
        name: f"The plug-in '{name}' of stepscope-mine 1.2 (stepscope.collectors) failed: {each}"
        for name, each in why.items()
    }
    refused = "the collector 'refuse' cannot record: there is no sensor here"
    # A collector that was asked for by its name must be able to start; one that is only added need not.
    absent = {name: failed[name] for name in ("start", "needs", "half", "gone")} | {"refuse": refused}
    assert json.loads(done.stdout) == {
        name: [absent[name], [True, absent[name]]]
        if name in absent
        else [[True, f"records are lost: {failed[name]}"]] * 2
        for name in names
    }
    assert done.stderr == "".join(f"{each}\n" for each in failed.values())


def test_collectors_that_are_given_as_objects_are_named_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(COLLECTORS)
    code = (
        "import mine; from stepscope import profiler; profiler.start('run', collectors=[mine.Lists()]); "
        "print(*profiler.stop().notes)"
    )
    assert run_python(tmp_path, "-c", code).stdout == (
        "records are lost: the collector Lists failed: stop: TypeError: it returned list, expected Collected\n"
    )


WRONG = """
from stepscope.dashboard.cli.base import ListedVerb
from stepscope.profiler.collectors.registry import ListedCollector
from stepscope.profiler.traces import TraceReader
from stepscope.summary.kinds import Kind, Table

NAME = Kind(plugin_name=7, decode=bytes, about="x")
DECODE = Kind(plugin_name="decode", decode="bytes", about="x")
TAKEN = Kind(plugin_name="scalars", decode=bytes, about="x")
COLUMN = Kind(plugin_name="column", decode=bytes, about="x", table=Table({"x": "floaty"}, list))
CLASS = Kind
SUFFIX = TraceReader("suffix", "x", bool, print, suffixes=".log")
PLACE = ListedCollector("place", "x", "mine.Place")
SPACE = ListedVerb("two words", "x", "mine:Two")
"""


def test_fields_of_a_wrong_type_are_named_when_a_record_is_loaded(tmp_path: Path) -> None:
    kinds = {name.lower(): f"mine:{name}" for name in ("NAME", "DECODE", "TAKEN", "COLUMN", "CLASS")}
    others = {
        "trace_readers": {"suffix": "mine:SUFFIX"},
        "collectors": {"place": "mine:PLACE"},
        "verbs": {"space": "mine:SPACE"},
        "analyses": {"nowhere": "mine RECORD"},
    }
    write_distribution(tmp_path, {"mine": WRONG}, {"kinds": kinds, **others})
    done = stepscope(tmp_path, "plugins")
    assert done.returncode == 0
    assert dict(re.findall(r"^  (\S+) .*failed: (.*)$", done.stdout, re.MULTILINE)) == {
        "name": "TypeError: plugin_name is 7, expected str",
        "decode": "TypeError: decode is 'bytes', expected a function",
        "taken": "ValueError: the name 'scalars' is taken by Stepscope: choose another",
        "column": "TypeError: table.columns['x'] is 'floaty', expected one of 'bool', 'int', 'float', 'str', 'name', "
        "'bytes', 'list[int]', 'list[float]', 'list[str]'",
        "class": "TypeError: mine:CLASS is a class, expected an instance of it: Kind()",
        "suffix": "TypeError: suffixes is '.log', expected a tuple of str",
        "place": "ValueError: path is 'mine.Place', expected 'package.module:Class'",
        "nowhere": "ValueError: the entry point is 'mine RECORD', expected 'package.module:RECORD'",
        "space": "ValueError: its name is 'two words', expected lowercase letters, digits and hyphens",
    }


def test_plugins_lists_what_there_is_and_what_failed(tmp_path: Path) -> None:
    points = {"verbs": {"greet": "mine:VERB", "gone": "gone:VERB"}, "collectors": {"mine": "collector:COLLECTOR"}}
    write_distribution(tmp_path, {"mine": VERB, "collector": COLLECTOR}, points)
    done = stepscope(tmp_path, "plugins")
    assert done.returncode == 0
    assert done.stdout.splitlines()[done.stdout.splitlines().index("collectors: 9 of Stepscope") :][:5] == [
        "collectors: 9 of Stepscope",
        "  mine   stepscope-mine 1.2  that it ran",
        "verbs: 18 of Stepscope",
        "  greet  stepscope-mine 1.2  greet somebody, 100% friendly",
        "  gone   stepscope-mine 1.2  failed: ModuleNotFoundError: No module named 'gone'",
    ]
    assert done.stderr == (
        "The plug-in 'gone' of stepscope-mine 1.2 (stepscope.verbs) failed: "
        "ModuleNotFoundError: No module named 'gone'\n"
    )
    found = json.loads(stepscope(tmp_path, "plugins", "--json").stdout)
    assert [(row["name"], row["version"], row["failure"]) for row in found["verbs"]["others"]] == [
        ("greet", "1.2", None),
        ("gone", "1.2", "ModuleNotFoundError: No module named 'gone'"),
    ]
    assert "serve" in found["verbs"]["own"]


def test_without_plug_ins_there_is_nothing_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(registries()) <= set(GROUPS)
    assert all(extensions.own_names() for extensions in registries().values())
    assert plugin_failures() == ()


def trace_in(folder: Path) -> str:
    path = folder / "small.trace.json"
    slices = [{"ph": "X", "name": name, "cat": "x", "ts": 1, "dur": 4, "pid": 1, "tid": 1} for name in ("a", "bcd")]
    path.write_text(json.dumps(slices))
    return str(path)


def test_an_analysis_is_one_file_and_one_line(tmp_path: Path) -> None:
    write_distribution(tmp_path, {"mine": ANALYSIS}, {"analyses": {"letters": "mine:ANALYSIS"}})
    path = trace_in(tmp_path)
    printed = stepscope(tmp_path, "analyze", path, "--table", "letters")
    assert printed.stdout.endswith("\nletters\nName  Letters  Took\na           1  4 us\nbcd         3  4 us\n")
    found = json.loads(stepscope(tmp_path, "analyze", path, "--table", "letters", "--json").stdout)
    assert found["traces"][0]["tables"] == {
        "letters": [{"name": "a", "letters": 1, "took_ns": 4000}, {"name": "bcd", "letters": 3, "took_ns": 4000}]
    }
    overview = json.loads(stepscope(tmp_path, "analyze", path, "--table", "overview", "--json").stdout)
    assert overview["traces"][0]["tables"]["overview"][-1]["name"] == "longest_name"
    failed = stepscope(tmp_path, "analyze", path, "--fail-if", "longest_name > 2")
    assert (failed.returncode, failed.stderr) == (1, f"{path}: longest_name > 2: longest_name is 3\n")
    listed = stepscope(tmp_path, "plugins").stdout
    assert "  letters  stepscope-mine 1.2  how long names are\n" in listed


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ("facts.gone", "AttributeError: 'Facts' object has no attribute 'gone'"),
        ("exit('no license')", "SystemExit: no license"),
    ],
)
def test_an_analysis_that_breaks_is_named_and_the_others_are_made(tmp_path: Path, names: str, reason: str) -> None:
    broken = ANALYSIS.replace("facts.trace.names", names)
    write_distribution(tmp_path, {"mine": broken}, {"analyses": {"letters": "mine:ANALYSIS"}})
    path = trace_in(tmp_path)
    said = f"The plug-in 'letters' of stepscope-mine 1.2 (stepscope.analyses) failed: {reason} (mine, line 7)\n"
    requested = stepscope(tmp_path, "analyze", path, "--table", "letters", "--table", "slices")
    assert requested.returncode == 2
    assert requested.stderr == f"{said}stepscope: --table letters cannot be made, because its plug-in failed.\n"
    assert "\nslices\n" in requested.stdout
    alone = stepscope(tmp_path, "analyze", path, "--table", "letters", "--json")
    assert (alone.returncode, json.loads(alone.stdout)["traces"][0]["tables"]) == (2, {})
    every = stepscope(tmp_path, "analyze", path, "--table", "all", "--json")
    assert every.returncode == 0
    assert said in every.stderr
    tables = json.loads(every.stdout)["traces"][0]["tables"]
    assert ("slices" in tables, "letters" in tables) == (True, False)


def test_tables_of_ranks_and_changes_that_break_leave_the_others(tmp_path: Path) -> None:
    source = (
        ANALYSIS.partition("ANALYSIS = ")[0].replace("facts):", "*given):").replace("facts.trace.names", "given[9]")
    )
    for of in ("ranks", "changes"):
        source += f'OF_{of.upper()} = Analysis("of_{of}", "x", letters, (), of="{of}")\n'
    points = {"of_ranks": "mine:OF_RANKS", "of_changes": "mine:OF_CHANGES"}
    write_distribution(tmp_path, {"mine": source}, {"analyses": points})
    path = trace_in(tmp_path)
    (tmp_path / "other.trace.json").write_bytes(Path(path).read_bytes())
    requested = ("--table", "of_ranks", "--table", "of_changes", "--table", "ranks", "--table", "changed_steps")
    found = stepscope(tmp_path, "analyze", path, "other.trace.json", "--before", path, *requested, "--json")
    assert found.returncode == 2
    assert found.stderr.endswith(
        "stepscope: --table of_changes and --table of_ranks cannot be made, because their plug-ins failed.\n"
    )
    made = json.loads(found.stdout)
    assert [*made["tables"], *(name for trace in made["traces"] for name in trace["tables"])] == [
        "ranks",
        "changed_steps",
        "changed_steps",
    ]


def test_an_analysis_that_cannot_be_is_refused(tmp_path: Path) -> None:
    refused = {
        "same_name": (
            '"letters",\n',
            '"kernels",\n',
            "ValueError: the name 'kernels' is taken by Stepscope: choose another",
        ),
        "every": ('"letters",\n', '"all",\n', "ValueError: its name is 'all', which stands for every analysis"),
        "same_metric": (
            '"longest_name"',
            '"gpu_idle"',
            "ValueError: the name of the metric 'gpu_idle' is taken by Stepscope: choose another",
        ),
        "metric_of_ranks": (
            '"longest_name"',
            '"straggler"',
            "ValueError: the name of the metric 'straggler' is taken by Stepscope: choose another",
        ),
        "metric_of_changes": (
            '"longest_name"',
            '"step_time_change"',
            "ValueError: it has a metric 'step_time_change': names that end in '_change' are those of changes",
        ),
        "words": (
            '"longest_name"',
            '"longest name"',
            "ValueError: it has a metric 'longest name', expected lowercase letters, digits and underscores, and none "
            "of 'and', 'or', 'not'",
        ),
        "same_columns": (
            'Column("took_ns", "How long")',
            'Column("name", "How long")',
            "ValueError: two columns are named 'name'",
        ),
        "same_metrics": (
            "metrics=(",
            "metrics=(MetricDefinition('longest_name', 'count', 'x'), ",
            "ValueError: two metrics are named 'longest_name'",
        ),
        "of_another": (
            '"letters",\n',
            '"others",\n',
            "ValueError: the metric 'longest_name' is taken by stepscope-mine 1.2: choose another",
        ),
        "of_a_step": (
            "columns=(",
            "of='step', columns=(",
            "TypeError: of is 'step', expected one of 'trace', 'ranks', 'changes'",
        ),
    }
    modules = {name: ANALYSIS.replace(old, new) for name, (old, new, _) in refused.items()}
    points = {name: f"{name}:ANALYSIS" for name in modules}
    write_distribution(tmp_path, modules | {"mine": ANALYSIS}, {"analyses": {"letters": "mine:ANALYSIS"} | points})
    told = re.findall(r"^  (\S+) .*failed: (.*)$", stepscope(tmp_path, "plugins").stdout, re.MULTILINE)
    assert dict(told) == {name: reason for name, (_, _, reason) in refused.items()}


def test_the_profile_page_has_the_tables_of_others(tmp_path: Path) -> None:
    broken = ANALYSIS.replace("facts.trace.names", "facts.gone").replace('"letters",\n', '"broken",\n')
    points = {"analyses": {"broken": "broken:ANALYSIS", "letters": "mine:ANALYSIS"}}
    broken = broken.replace('"longest_name"', '"other_name"')
    write_distribution(tmp_path, {"mine": ANALYSIS, "broken": broken}, points)
    (tmp_path / "logs").mkdir()
    trace_in(tmp_path / "logs")
    done = run_python(tmp_path, "-c", PAGE, str(tmp_path / "logs"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["csv"] == "name,letters,took_ns\na,1,4000\nbcd,3,4000\n"
    assert found["tables"] == [
        [
            "broken",
            "How long names are",
            "The trace has no such data.",
            "The plug-in 'broken' of stepscope-mine 1.2 (stepscope.analyses) failed: "
            "AttributeError: 'Facts' object has no attribute 'gone' (broken, line 7)",
        ],
        ["letters", "How long names are", "The trace has no such data.", ""],
    ]
    assert found["columns"] == [["Name", "Its name"], ["Letters", "How many letters it has"], ["Took", "How long"]]
    assert "plugins" in found["pages"]
    assert found["failures"] == ["broken"]


OTHER_TABLES = """
import polars as pl
from stepscope.profiler.analysis.records import Analysis, Column, MetricDefinition

WORDS = Analysis(
    "words", "only texts", lambda facts: pl.DataFrame({"a": ["x"], "b": ["y"]}), (Column("a", "x"), Column("b", "y"))
)
ONE = Analysis("one", "one column", lambda facts: pl.DataFrame({"n": [1, 2]}), (Column("n", "x"),))
OTHER = Analysis("other", "another column", lambda facts: pl.DataFrame({"m": [1]}), (Column("n", "x"),))
FIGURE = Analysis(
    "figure", "another figure", lambda facts: pl.DataFrame({"n": [1]}), (Column("n", "x"),),
    metrics=(MetricDefinition("largest", "count", "x"),), figures=lambda facts: {"smallest": 1},
)
TEXT = Analysis(
    "text", "a figure that is a text", lambda facts: pl.DataFrame({"n": [1]}), (Column("n", "x"),),
    metrics=(MetricDefinition("written", "count", "x"),), figures=lambda facts: {"written": "7"},
)
"""
CARDS = """
import json, sys
from dash.development.base_component import Component
from stepscope.dashboard.page.state import decode
from stepscope.dashboard.panels.profile.analysis_tables import tables_of
from stepscope.dashboard.panels.profile.settings import PageRequest
from stepscope.dashboard.panels.profile.views import page_tables
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.analyzed_traces import analyzed_traces_of
from stepscope.dashboard.traces.sources import trace_sources
from stepscope.summary.logdir import Logdir
from tests.dashboard.media import NoFollower

live = Live(sys.argv[1], lambda publish: NoFollower())
live.publish(Logdir(sys.argv[1], companion_patterns=["*.trace.json"]).update())
(source,) = trace_sources(live.snapshot())
requested = PageRequest.of(decode("profile.view=plugins"))
cards = page_tables(requested, tables_of(requested, analyzed_traces_of(live).get(source), None))
grids = [each.columnDefs for card in cards for each in card._traverse() if hasattr(each, "columnDefs")]
print(json.dumps([
    [[column["colId"] for column in columns] for columns in grids],
    [card.children for card in cards if "plugin-failed" in str(getattr(card, "className", ""))],
]))
"""


def test_the_profile_page_shows_any_table_and_names_those_that_it_cannot_show(tmp_path: Path) -> None:
    points = {"analyses": {name.lower(): f"mine:{name}" for name in ("WORDS", "ONE", "OTHER", "FIGURE", "TEXT")}}
    write_distribution(tmp_path, {"mine": OTHER_TABLES}, points)
    (tmp_path / "logs").mkdir()
    path = trace_in(tmp_path / "logs")
    done = run_python(tmp_path, "-c", CARDS, str(tmp_path / "logs"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        [["n"], ["n"], ["n"], ["a", "b"]],
        [
            "Another column: The plug-in 'other' of stepscope-mine 1.2 (stepscope.analyses) failed: "
            "TypeError: the table has no column 'n', only 'm'"
        ],
    ]
    for metric, name, reason in (
        ("largest", "figure", "ValueError: 'smallest' is not among its metrics"),
        ("written", "text", "TypeError: the metric 'written' is '7', expected a number or None"),
    ):
        failed = stepscope(tmp_path, "analyze", path, "--fail-if", f"{metric} > 2")
        assert failed.returncode == 2
        assert f"{name!r} of stepscope-mine 1.2 (stepscope.analyses) failed: figures: {reason}\n" in failed.stderr
        assert failed.stderr.endswith(f"stepscope: {metric} cannot be computed, because its plug-in failed.\n")


def test_every_field_of_every_record_is_described() -> None:
    for record in (Analysis, Column, MetricDefinition, ListedCollector, ListedVerb, Plugin, PluginFailure):
        source = ast.parse(textwrap.dedent(inspect.getsource(record))).body[0]
        assert isinstance(source, ast.ClassDef)
        assert ast.get_docstring(source)
        for field, after in itertools.pairwise([*source.body, ast.Pass()]):
            if isinstance(field, ast.AnnAssign):
                described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                assert described, f"{record.__name__}.{ast.unparse(field.target)}"


EXTENDING = (REPOSITORY / "docs" / "extending.md").read_text()


@pytest.mark.parametrize("record", [Analysis, ListedCollector, ListedVerb])
def test_the_guide_names_every_field_of_a_record(record: type) -> None:
    assert record.__name__ in EXTENDING
    assert [field.name for field in dataclasses.fields(record) if f"| `{field.name}` |" not in EXTENDING] == []
