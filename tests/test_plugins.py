"""What other distributions add: one file and one line each, seen wherever built-in records are; failures survived."""

import json
from pathlib import Path

import pytest

from stepscope.plugins import GROUPS, SWITCH, plugin_failures, registries
from tests.plugin_distributions import run_python, stepscope, write_distribution

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
    assert "greet is not a verb" in without.stderr


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
        "stepscope: greet cannot be used, as its plug-in failed.\n"
    )
    listed = stepscope(tmp_path, "--help")
    assert "    greet " in listed.stdout
    assert listed.returncode == 0
    assert listed.stderr == (
        "The plug-in 'heavy' of stepscope-mine 1.2 (stepscope.verbs) failed: SystemExit: no license\n"
        "The plug-in 'seven' of stepscope-mine 1.2 (stepscope.verbs) failed: "
        "TypeError: other:VERB is of the type int, not ListedVerb\n"
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


def test_plugins_lists_what_there_is_and_what_failed(tmp_path: Path) -> None:
    points = {"verbs": {"greet": "mine:VERB", "gone": "gone:VERB"}, "collectors": {"mine": "collector:COLLECTOR"}}
    write_distribution(tmp_path, {"mine": VERB, "collector": COLLECTOR}, points)
    done = stepscope(tmp_path, "plugins")
    assert done.returncode == 0
    assert done.stdout.splitlines()[done.stdout.splitlines().index("collectors: 9 of Stepscope") :][:5] == [
        "collectors: 9 of Stepscope",
        "  mine   stepscope-mine 1.2  that it ran",
        "verbs: 16 of Stepscope",
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
