"""What users can do is documented."""

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from docs import analysis_columns
from stepscope.dashboard.cli.base import ListedVerb
from stepscope.dashboard.cli.verbs import VERBS
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.registry import PANELS
from stepscope.debug.rules import ALL

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
GUIDE = "\n".join(path.read_text() for path in sorted(DOCS.rglob("*.md")))
OUTSIDE = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
"""Pages that are not of the site, whose links the build of the site does not check."""


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_option_is_documented(verb: ListedVerb) -> None:
    parser = ArgumentParser(add_help=False)
    verb.load().add_arguments(parser)
    options = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    assert f"stepscope {verb.name}" in GUIDE
    assert [option for option in options if option not in GUIDE] == []


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_every_panel_has_its_page_with_its_picture(panel: Panel) -> None:
    page = (DOCS / "panels" / f"{panel.name}.md").read_text()
    assert page.startswith(f"# {panel.title}\n")
    assert f"screenshots/{panel.name}_" in page
    assert (DOCS / "screenshots" / f"{panel.name}_light.png").is_file()
    assert (DOCS / "screenshots" / f"{panel.name}_dark.png").is_file()
    assert f"panels/{panel.name}.md" in (DOCS / "dashboard.md").read_text()


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in (*OUTSIDE, *DOCS.rglob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#\s]+)#?([^)\s]*)\)", page.read_text()):
            if "://" not in target:
                file = page.parent / target
                assert file.exists(), f"{page.name} links to {target}"
                assert not anchor or anchor in anchors(file), f"{page.name} links to {target}#{anchor}"


def test_every_rule_of_the_debugger_is_documented_with_its_thresholds() -> None:
    page = (DOCS / "debugging.md").read_text()
    assert [rule.name for rule in ALL if f"| `{rule.name}` | {rule.about} | {rule.source} |" not in page] == []


def test_the_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) < 130


def test_the_readme_and_the_start_page_lead_to_every_task() -> None:
    for page in (REPOSITORY / "README.md", DOCS / "index.md"):
        text = page.read_text()
        assert [task.name for task in (DOCS / "tasks").glob("*.md") if f"tasks/{task.name}" not in text] == []


def test_every_file_that_the_guide_for_contributors_names_is_there() -> None:
    named = re.findall(r"`([\w./]+/[\w./]*)`", (REPOSITORY / "CONTRIBUTING.md").read_text())
    assert len(named) > 20
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


def paths_that_are_not_there(text: str) -> list[str]:
    """Return the paths in backquotes that a text presents as files or folders of the code, but that do not exist.

    A path may begin anywhere below the top folders that its chapter names; ``<name>`` and ``*`` match any name.
    """
    wrong = []
    for chapter in re.split(r"(?m)^## ", re.sub(r"(?ms)^```.*?^```$", "", text)):
        named = re.findall(r"`([\w./<>*-]+)`", chapter)
        paths = [
            name for name in named if name.endswith((".py", ".ts", "/")) or re.fullmatch(r"[a-z_]+/[\w./-]+", name)
        ]
        tops = {path.partition("/")[0] for path in paths} & TOP_FOLDERS
        for path in paths:
            pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
            if not any(REPOSITORY.glob(pattern)) and not any(any((REPOSITORY / top).rglob(pattern)) for top in tops):
                wrong.append(path)
    return wrong


TOP_FOLDERS = {
    "benchmarks",
    "core",
    "dashboard",
    "debug",
    "docs",
    "profiler",
    "sample_logs",
    "summary",
    "tests",
    "tools",
}


@pytest.mark.parametrize("page", ["architecture.md", "decisions.md"])
def test_every_file_that_the_design_names_is_there(page: str) -> None:
    assert paths_that_are_not_there((DOCS / "design" / page).read_text("utf-8")) == []


def test_every_folder_of_the_packages_is_in_the_design() -> None:
    text = (DOCS / "design" / "architecture.md").read_text("utf-8")
    folders = [
        folder.parent.relative_to(REPOSITORY)
        for package in ("summary", "profiler", "debug", "dashboard")
        for folder in (REPOSITORY / package).glob("*/__init__.py")
    ]
    assert len(folders) > 15
    assert [str(folder) for folder in folders if not re.search(rf"`[a-z/]*{folder.name}/", text)] == []


def test_a_file_of_the_design_that_is_gone_is_found() -> None:
    text = "## Read: `summary/`\n\n`writer.py`, `kinds/<kind>.py`, `v1/`, `gone.py`, `kinds/gone.py`, `summary/gone/`"
    assert paths_that_are_not_there(text) == ["gone.py", "kinds/gone.py", "summary/gone/"]


def test_every_column_of_every_analysis_is_documented() -> None:
    """Write the page again with: python -m docs.analysis_columns."""
    assert analysis_columns.PAGE.read_text() == analysis_columns.written()
