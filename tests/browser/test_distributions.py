"""Both distributions, built and installed outside the checkout, beside a program's own files of the same names."""

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Collection, Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page

from tests.installed import REPOSITORY, closure, environment, needs

pytestmark = pytest.mark.long

CORE, WHOLE = REPOSITORY / "core", REPOSITORY
# The bundle of the tests, and one that was just being made.
LEFT: Final = ("debug_bundle", ".bundle-made")
RAISES: Final = "raise AssertionError('a file of the program was imported')\n"
TRAINING: Final = """\
import sys
from stepscope import Profile, SummaryWriter, annotate, open_logdir

with SummaryWriter("logs/run") as writer, Profile("logs/run") as profile:
    for step in range(3):
        with annotate("forward"):
            writer.add_scalar("loss", 1 / 2**step, step)
        profile.step()
snapshot = open_logdir("logs")
print(snapshot.series("run", "loss").values.tolist(), profile.recording.steps)
print(SummaryWriter.__module__, sys.modules["stepscope"].__file__)
"""


class Built(NamedTuple):
    sdist: Path
    wheel: Path


def build(project: Path, folder: Path, left: Collection[str] = ()) -> Built:
    """The sdist of a project, and the wheel that is built from its contents, by the installed tools.

    Before the wheel is built, the files ``left`` are put beside these, as they may be in a checkout.
    """
    hatchling = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t"]
    subprocess.run([*hatchling, "sdist"], cwd=project, check=True, env=plain_environment())
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        # Python 3.11.0 to 3.11.3, which Debian 12 has, do not know filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    source = folder / sdist.name.removesuffix(".tar.gz")
    for name in left:
        (source / name).parent.mkdir(parents=True)
        (source / name).touch()
    subprocess.run([*hatchling, "wheel"], cwd=source, check=True)
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


def plain_environment() -> dict[str, str]:
    """This process's environment variables except those that lead Python to the checkout or change what is served."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STEPSCOPE_"))}


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(CORE, tmp_path_factory.mktemp("core"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(WHOLE, tmp_path_factory.mktemp("whole"), [f"stepscope/dashboard/web/{name}/left.js" for name in LEFT])


@pytest.fixture(scope="module")
def core_programs(core: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = closure(needs(CORE / "pyproject.toml"))
    return environment(tmp_path_factory.mktemp("only-core"), [core.wheel], found.values())


@pytest.fixture(scope="module")
def programs(core: Built, whole: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = closure([*needs(CORE / "pyproject.toml"), *needs(WHOLE / "pyproject.toml")])
    return environment(tmp_path_factory.mktemp("both"), [core.wheel, whole.wheel], found.values())


@pytest.fixture
def working_folder(tmp_path: Path) -> Path:
    """The folder of a program whose own modules have the names of Stepscope's packages."""
    folder = tmp_path / "project"
    (folder / "dashboard").mkdir(parents=True)
    for name in ("summary.py", "profiler.py", "dashboard/__init__.py"):
        (folder / name).write_text(RAISES)
    (folder / "train.py").write_text(TRAINING)
    return folder


def names(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if ".dist-info/" not in name]


def run(command: list[str | Path], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, env=plain_environment(), capture_output=True, text=True)


def test_each_wheel_has_one_top_level_package_and_no_file_of_the_other(core: Built, whole: Built) -> None:
    of_core, of_whole = names(core.wheel), names(whole.wheel)
    assert {name.split("/")[0] for name in of_core + of_whole} == {"stepscope"}
    assert {name.split("/")[1] for name in of_core} == {
        "__init__.py", "__main__.py", "command.py", "debug", "plugins.py", "profiler", "py.typed", "record_fields.py",
        "summary",
    }  # fmt: skip
    assert {name.split("/")[1] for name in of_whole} == {"dashboard"}


def test_the_wheels_have_every_module_and_the_pages_bundle(core: Built, whole: Built) -> None:
    packages = ("summary", "profiler", "debug", "dashboard")
    modules = {str(path.relative_to(REPOSITORY)) for name in packages for path in (REPOSITORY / name).rglob("*.py")}
    found = {name.removeprefix("stepscope/") for name in names(core.wheel) + names(whole.wheel)}
    assert modules <= found
    assert {"dashboard/web/main_bundle/main.js", "dashboard/web/main_bundle/main.js.br"} <= found
    assert not [name for name in found if name.endswith((".ts", ".css")) and "_bundle/" not in name]
    assert not [name for name in found if name.endswith("/left.js")]


def test_each_wheel_leads_to_the_project(core: Built, whole: Built) -> None:
    for wheel in (core.wheel, whole.wheel):
        with ZipFile(wheel) as archive:
            (about,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
        urls = re.findall(r"^Project-URL: (\w+), https://github\.com/stepscope/stepscope", about, re.MULTILINE)
        assert sorted(urls) == ["Changelog", "Documentation", "Homepage", "Issues"]


def megabytes(wheels: Collection[Path], needed: Collection[Distribution]) -> float:
    """The size of what is installed, without the bytecode that some installers compile."""
    files = [Path(str(each.locate_file(file))) for each in needed for file in each.files or () if file.suffix != ".pyc"]
    size = sum(path.stat().st_size for path in files if path.exists())
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            size += sum(member.file_size for member in archive.infolist())
    return size / 1e6


@pytest.mark.skipif(sys.platform != "linux", reason="libraries of other systems have other sizes")
def test_neither_distribution_brings_more_than_it_may(core: Built, whole: Built) -> None:
    # The last NumPy for Python 3.11 is that much larger than later ones.
    more = 5 if sys.version_info < (3, 12) else 0
    needed = closure(needs(CORE / "pyproject.toml")).values()
    assert len(needed) + 1 <= 8
    assert megabytes([core.wheel], needed) <= 60 + more
    needed = closure([*needs(CORE / "pyproject.toml"), *needs(WHOLE / "pyproject.toml")]).values()
    assert len(needed) + 2 <= 72
    assert megabytes([core.wheel, whole.wheel], needed) <= 650 + more


def test_core_alone_logs_every_kind_profiles_and_reads(core_programs: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_bytes((REPOSITORY / "tests/core_program.py").read_bytes())
    done = run([core_programs / "python", program, tmp_path / "logs"], tmp_path)
    assert done.stdout.endswith('"forward": 3, "loss": true, "kinds": [], "unread": []}\n'), done.stderr


@pytest.mark.parametrize("command", [["stepscope"], ["python", "-m", "stepscope"]])
def test_without_the_dashboard_the_command_says_what_to_install(
    core_programs: Path, working_folder: Path, command: list[str]
) -> None:
    done = run([core_programs / command[0], *command[1:], "--logdir", "x"], working_folder)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "stepscope: The dashboard is not installed: stepscope-core has what training code needs to log and profile. "
        "Run: pip install stepscope\n",
    )


def test_a_program_with_modules_of_the_same_names_logs_profiles_and_reads(programs: Path, working_folder: Path) -> None:
    done = run([programs / "python", "train.py"], working_folder)
    (installed,) = programs.parent.glob("[lL]ib/**/site-packages/stepscope/__init__.py")
    assert done.stdout == f"[1.0, 0.5, 0.25] (0, 1, 2)\nstepscope.summary.writer {installed}\n", done.stderr


@pytest.fixture
def served(programs: Path, working_folder: Path) -> Iterator[str]:
    """The address at which the installed command serves the sample logs."""
    command = [str(programs / "stepscope"), "--logdir", str(REPOSITORY / "sample_logs"), "--port", "0", "--no-cache"]
    process = subprocess.Popen(command, cwd=working_folder, env=plain_environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = ""
    while "http://" not in line:
        line = process.stdout.readline()
        assert process.poll() is None
    yield next(word for word in line.split() if word.startswith("http://"))
    process.terminate()
    process.communicate()


@pytest.mark.browser
def test_the_installed_command_serves_logs_and_the_page_draws_them(served: str, page: Page) -> None:
    page.goto(served)
    page.locator(".scalars-card canvas").first.wait_for()
    page.wait_for_function(
        """() => [...document.querySelectorAll('.scalars-card canvas')].some((canvas) => {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return data.some((value) => value > 0);
        })"""
    )
