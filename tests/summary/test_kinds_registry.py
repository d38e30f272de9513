"""Kinds of summaries are records in one list, to which other distributions can add theirs."""

import csv
import json
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from stepscope.summary.kinds import Kind, registry, scalar, tensor
from stepscope.summary.kinds.registry import KINDS
from tests.extending_chapters import commands_of, install, program_of, undocumented_fields
from tests.plugin_distributions import REPOSITORY, run_python, stepscope, write_distribution

CHAPTER = "A kind of summary"
BROKEN = """
import numpy as np
from stepscope.summary.kinds import Kind, PayloadFile, Table
from stepscope.summary.kinds.tensor_proto import numbers
decode = lambda value: numbers(value.tensor)
def fail(value):
    raise ZeroDivisionError("the flux is zero")
UNDECODED = Kind(plugin_name="undecoded", decode=fail, about="x", table=Table({"a": "int"}, lambda rows: []))
EXITS = Kind(plugin_name="exits", decode=lambda value: exit("no license"), about="x", table=Table({"a": "int"}, list))
SHORT = Kind(plugin_name="short", decode=decode, about="x", table=Table({"a": "int", "b": "str"}, lambda rows: [(1,)]))
ODD = Kind(plugin_name="odd", decode=decode, about="x", table=Table({"a": "int"}, lambda rows: [(1 << 70,)]))
CLIMBING = Kind(plugin_name="climbing", decode=decode, about="x", files=lambda rows: [PayloadFile(b"", "/../../x")])
TAKEN = Kind(plugin_name="images", decode=decode, about="x")
SLASH = Kind(plugin_name="a/b", decode=decode, about="x")
RESERVED = Kind(plugin_name="runs", decode=decode, about="x")
COLUMN = Kind(plugin_name="column", decode=decode, about="x", table=Table({"step": "int"}, lambda rows: []))
LEGACY = Kind(plugin_name="legacy", decode=decode, about="x", legacy_field="image")
OLD = Kind(plugin_name="old", decode=decode, about="x", legacy_field="obsolete_old_style_histogram")
OLD_TOO = Kind(plugin_name="old_too", decode=decode, about="x", legacy_field="obsolete_old_style_histogram")
NAMELESS = Kind(plugin_name="nameless", decode=decode, about="x", table=Table({" ": "int"}, lambda rows: []))
OBJECTS = Kind(plugin_name="objects", decode=decode, about="x", array=lambda rows: [object()])
HUGE = Kind(plugin_name="huge", decode=decode, about="x", array=lambda rows: np.broadcast_to(1.0, (1 << 40,)))
DOTLESS = Kind(plugin_name="dotless", decode=decode, about="x", files=lambda rows: [PayloadFile(b"", "tar.gz")])
MODERN = Kind(plugin_name="modern", decode=decode, about="x", legacy_form=lambda value: 3)
NOTHING = 3
"""


@pytest.fixture(scope="module")
def spectrum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the distribution from docs/extending.md, and logs of its kind."""
    folder = tmp_path_factory.mktemp("spectrum")
    install(CHAPTER, folder, "stepscope-spectrum")
    found = run_python(folder, "-c", program_of(CHAPTER))
    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout == "[('run', 'noise', 7, [50.0, 100.0], [0.5, 0.25])]\n(2, 2)\n"
    return folder


def test_a_kind_is_one_module_and_one_name_in_the_list() -> None:
    modules = [path.stem for path in (REPOSITORY / "summary" / "kinds").glob("*.py")]
    records = [
        each
        for module in modules
        for each in vars(import_module(f"stepscope.summary.kinds.{module}")).values()
        if isinstance(each, Kind)
    ]
    assert {kind.plugin_name: kind for kind in records} == dict(KINDS)


@pytest.mark.parametrize("record", ["Kind", "Table", "PayloadFile"])
def test_every_field_of_the_records_is_documented(record: str) -> None:
    assert undocumented_fields("summary/kinds/base.py", record) == []


def test_the_commands_of_the_documentation_export_a_kind_of_somebody_else(spectrum: Path) -> None:
    for command in commands_of(CHAPTER):
        assert stepscope(spectrum, *command).returncode == 0
    [row] = csv.DictReader((spectrum / "spectra.csv").open())
    assert (row["run"], row["tag"], row["step"]) == ("run", "noise", "7")
    assert (json.loads(row["frequency"]), json.loads(row["amplitude"]), row["error"]) == ([50, 100], [0.5, 0.25], "")
    [file] = [path for path in (spectrum / "spectra").rglob("*") if path.is_file()]
    assert file.relative_to(spectrum).as_posix() == "spectra/run/noise/7.json"
    assert json.loads(file.read_text()) == [[50, 0.5], [100, 0.25]]


def test_a_kind_of_somebody_else_is_among_the_tensors_with_and_without_its_distribution(spectrum: Path) -> None:
    for switch in ("1", "0"):
        found = stepscope(
            spectrum, "export", "--logdir", "logs", "--kind", "tensors", "--format", "json", STEPSCOPE_PLUGINS=switch
        )
        [row] = json.loads(found.stdout)
        assert (row["kind"], row["shape"], row["error"]) == ("spectrum", [2, 2], None)


def test_without_its_distribution_nobody_knows_a_kind(spectrum: Path) -> None:
    found = stepscope(spectrum, *commands_of(CHAPTER)[0], STEPSCOPE_PLUGINS="0")
    assert found.returncode == 2
    assert "invalid choice: 'spectrum'" in found.stderr


def test_the_dashboard_has_routes_for_a_kind_of_somebody_else(spectrum: Path) -> None:
    found = run_python(
        spectrum,
        "-c",
        """
import json
from pathlib import Path
from tests.dashboard.routes import client_with_companions
client = client_with_companions(Path("logs"))
listed = client.get("/data/plugins_listing").json()
answers = [client.get(f"/data/plugin/{path}") for path in (
    "spectrum/tags", "spectrum/table?run=run&tag=noise", "images/tags", "spectrum/table?run=run&tag=gone", "gone/tags"
)]
print(json.dumps([listed["spectrum"]["enabled"], listed["images"]["enabled"], [each.json() for each in answers]]))
""",
    )
    assert found.returncode == 0, found.stderr
    listed, images, (tags, table, no_images, no_tag, no_kind) = json.loads(found.stdout)
    assert (listed, images) == (True, False)
    assert tags == {"run": {"noise": {"displayName": "noise", "description": ""}}}
    assert [(row["step"], row["frequency"], row["error"]) for row in table] == [(7, [50, 100], None)]
    assert no_images == {}
    assert no_tag["detail"].startswith("No spectrum for run 'run', tag 'gone'")
    assert no_kind["detail"].startswith("No plug-in adds the kind 'gone'")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a distribution whose kinds all fail, and logs of them."""
    folder = tmp_path_factory.mktemp("broken")
    values = ("undecoded", "exits", "short", "odd", "climbing", "objects", "huge", "dotless", "modern")
    names = (*values, "nameless", "taken", "reserved", "slash", "column", "nothing", "legacy", "old", "old_too")
    points = {name: f"broken_kinds:{name.upper()}" for name in names} | {"gone": "broken_kinds:GONE"}
    write_distribution(folder, {"broken_kinds": BROKEN}, {"kinds": points}, "stepscope-broken")
    found = run_python(
        folder,
        "-c",
        """
import numpy as np
from stepscope import SummaryWriter
from stepscope.summary.kinds.tensor_proto import numbers_tensor, plugin_metadata
from stepscope.summary.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary
with SummaryWriter("logs/run") as writer:
    writer.add_scalar("loss", 0.5, 0)
    for kind in ("undecoded", "exits", "short", "odd", "climbing", "objects", "huge", "dotless", "modern", "unknown"):
        metadata = plugin_metadata(kind, DATA_CLASS_TENSOR)
        writer.add_value(Summary.Value(tag=kind, metadata=metadata, tensor=numbers_tensor(np.zeros(2))), 0)
""",
    )
    assert (found.stdout, found.stderr) == ("", "")
    return folder


def exported(folder: Path, kind: str) -> CompletedProcess[str]:
    return stepscope(folder, "export", "--logdir", "logs", "--kind", kind, "--format", "json")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("undecoded", "decode: ZeroDivisionError: the flux is zero (broken_kinds, line 7)"),
        ("exits", "decode: SystemExit: no license (broken_kinds, line 9)"),
        ("short", "rows: ValueError: expected rows of 2 elements (a, b), got 1"),
        ("odd", f"rows: ValueError: expected a 64-bit integer, got {1 << 70}"),
    ],
)
def test_what_fails_in_a_kind_is_an_error_of_its_values(broken: Path, kind: str, reason: str) -> None:
    found = exported(broken, kind)
    assert found.returncode == 0, found.stderr
    [row] = json.loads(found.stdout)
    assert row["a"] is None
    plugin = f"The plug-in {kind!r} of stepscope-broken 1.2 (stepscope.kinds) failed"
    assert row["error"] == f"{plugin}: {reason}"
    assert found.stderr.count(row["error"]) == 1


def test_what_is_no_array_of_numbers_is_an_error_of_its_value(broken: Path) -> None:
    errors = {row["tag"]: row["error"] for row in json.loads(exported(broken, "tensors").stdout)}
    assert "failed: array: TypeError: the array must be numbers, got list [<object" in errors["objects"]
    assert errors["huge"].endswith(
        f"failed: array: ValueError: the array has {8 << 40:,} bytes, expected at most {1 << 31:,}"
    )


def test_a_legacy_form_that_is_no_value_is_named(broken: Path) -> None:
    found = run_python(
        broken,
        "-c",
        """
import numpy as np
from stepscope import SummaryWriter
from stepscope.summary.kinds.tensor_proto import numbers_tensor, plugin_metadata
from stepscope.summary.proto.summary_pb2 import DATA_CLASS_TENSOR, Summary
with SummaryWriter("legacy/run", legacy=True) as writer:
    metadata = plugin_metadata("modern", DATA_CLASS_TENSOR)
    try:
        writer.add_value(Summary.Value(tag="m", metadata=metadata, tensor=numbers_tensor(np.zeros(2))), 0)
    except ValueError as error:
        print(error)
""",
    )
    assert found.stdout == (
        "The plug-in 'modern' of stepscope-broken 1.2 (stepscope.kinds) failed: "
        "legacy_form: TypeError: expected a Summary.Value, got 3\n"
    )


def test_a_kind_cannot_write_outside_the_folder(broken: Path) -> None:
    found = stepscope(broken, "export", "--logdir", "logs", "--kind", "climbing", "-o", "out")
    assert "expected the ending of a file" in found.stderr
    assert "Wrote 0 files of climbing" in found.stderr
    assert not list(broken.rglob("x"))


def test_the_ending_of_a_file_has_a_dot(broken: Path) -> None:
    assert stepscope(broken, "export", "--logdir", "logs", "--kind", "dotless", "-o", "dotted").returncode == 0
    assert [path.name for path in (broken / "dotted").rglob("*") if path.is_file()] == ["0.tar.gz"]


def test_what_cannot_be_a_kind_is_named_and_everything_else_goes_on(broken: Path) -> None:
    found = exported(broken, "scalars")
    assert [row["value"] for row in json.loads(found.stdout)] == [0.5]
    for name, reason in (
        ("taken", "ValueError: the name 'images' is taken by Stepscope: choose another"),
        ("reserved", "ValueError: a kind cannot be called 'runs'"),
        (
            "slash",
            "ValueError: its plugin_name is 'a/b', expected letters, digits, underscores and hyphens",
        ),
        ("column", "ValueError: every table already has a column 'step'"),
        (
            "legacy",
            "ValueError: its legacy_field is 'image', expected None or 'obsolete_old_style_histogram'",
        ),
        (
            "old_too",
            "ValueError: the legacy_field 'obsolete_old_style_histogram' is taken by stepscope-broken 1.2: "
            "choose another",
        ),
        ("nameless", "ValueError: a column of its table has no name"),
        ("nothing", "TypeError: broken_kinds:NOTHING is of the type int, not Kind"),
        ("gone", "AttributeError: module 'broken_kinds' has no attribute 'GONE'"),
    ):
        assert f"{name!r} of stepscope-broken 1.2 (stepscope.kinds) failed: {reason}" in found.stderr


def test_logging_looks_for_no_plug_in(spectrum: Path) -> None:
    found = run_python(
        spectrum,
        "-c",
        """
import sys
from stepscope import SummaryWriter
with SummaryWriter("elsewhere/run") as writer:
    writer.add_scalar("loss", 0.5, 0)
    writer.add_histogram("w", [1.0, 2.0], 0)
print([name for name in ("stepscope.summary.kinds.registry", "stepscope_spectrum") if name in sys.modules])
""",
    )
    assert (found.stdout, found.stderr) == ("[]\n", "")


def test_a_legacy_field_is_that_of_one_kind() -> None:
    fields = [kind.legacy_field for kind in KINDS.values() if kind.legacy_field is not None]
    assert sorted(fields) == sorted(set(fields))


def test_the_kind_of_what_nobody_knows_is_that_of_tensors() -> None:
    value = tensor.tensor("t", np.arange(3))
    assert registry.decode("nobody knows this", value).array.tolist() == [0, 1, 2]
    assert registry.kind_named("scalars") is scalar.KIND
