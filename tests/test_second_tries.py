"""A browser test that fails by chance: a failure locally, and in CI a second try that is reported."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).with_name("conftest.py")
TESTS = """
from pathlib import Path
import pytest

def first_try(name):
    seen = Path(__file__).with_name(f"{name}.seen")
    first = not seen.exists()
    seen.touch()
    return first

@pytest.fixture
def playwright():
    pass

@pytest.fixture
def page(playwright):
    yield
    assert not first_try("page"), "an error in the console"

def test_by_chance(playwright):
    assert not first_try("by_chance"), "the panel was late"

def test_whose_page_complained(page):
    pass

@pytest.mark.browser
def test_always():
    assert False, "no panel at all"

def test_without_a_browser():
    assert not first_try("without"), "two is not three"
"""


def outcome(folder: Path, ci: str, *options: str) -> str:
    shutil.copy(CONFTEST, folder)
    (folder / "test_page.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    browser: drives one\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"CI": ci}
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:dash", *options]
    told = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert told.returncode == 1
    return told.stdout


def test_in_ci_a_second_try_is_told_with_the_first_error(tmp_path: Path) -> None:
    told = outcome(tmp_path, "true", "-n", "1")
    assert re.findall("^FLAKY (.*)$", told, re.MULTILINE) == [
        "test_page.py::test_by_chance",
        "test_page.py::test_whose_page_complained",
    ]
    section = told.partition(" flaky ")[2].partition(" short test summary ")[0]
    assert "the panel was late" in section
    assert "an error in the console" in section
    assert "no panel at all" not in section
    assert set(re.findall("^(?:FAILED|ERROR) (.*) - ", told, re.MULTILINE)) == {
        "test_page.py::test_always",
        "test_page.py::test_without_a_browser",
    }


def test_at_home_a_failure_is_one(tmp_path: Path) -> None:
    told = outcome(tmp_path, "")
    assert "FLAKY" not in told
    assert set(re.findall("^(?:FAILED|ERROR) (.*) - ", told, re.MULTILINE)) == {
        "test_page.py::test_by_chance",
        "test_page.py::test_whose_page_complained",
        "test_page.py::test_always",
        "test_page.py::test_without_a_browser",
    }
