"""The documentation of what other distributions may add is complete."""

import re
from inspect import get_annotations
from pathlib import Path

import pytest

from stepscope.dashboard.panels.base import Panel
from tests.extending_chapters import TEXT, named_files, program_of
from tests.plugin_distributions import pip_install, stepscope

REPOSITORY = Path(__file__).resolve().parents[1]
HOST = (REPOSITORY / "dashboard" / "web" / "page" / "plugin_host.ts").read_text("utf-8")


@pytest.mark.parametrize("field", list(get_annotations(Panel)))
def test_every_field_of_a_panel_is_documented(field: str) -> None:
    assert f"\n| `{field}` | " in TEXT


@pytest.mark.parametrize("method", [name for name, value in vars(Panel).items() if callable(value)])
def test_every_method_of_a_panel_is_documented(method: str) -> None:
    assert f"\n| `{method}(" in TEXT


def test_every_member_of_the_pages_api_is_documented() -> None:
    [body] = re.findall(r"export interface PluginContext \{(.*?)\n\}", HOST, re.DOTALL)
    members = re.findall(r"^  (?:readonly )?(\w+)[(:]", body, re.MULTILINE)
    assert len(members) > 10
    assert [member for member in members if f"| `context.{member}" not in TEXT] == []
    [version] = re.findall(r"export const API = (\d+);", HOST)
    assert f"| `api` | `{version}`" in TEXT


def test_the_smallest_distribution_of_the_page_is_installed_by_pip_and_works(tmp_path: Path) -> None:
    project, site = tmp_path / "greet", tmp_path / "site"
    project.mkdir()
    (project / "pyproject.toml").write_text(named_files(TEXT.split("\n## ", 1)[0])["pyproject.toml"])
    (project / "stepscope_greet.py").write_text(program_of("A verb"))
    pip_install(project, site)
    assert "  greet  stepscope-greet 1.0  greet somebody\n" in stepscope(site, "plugins").stdout
    assert stepscope(site, "greet", "you").stdout == "hello you\n"
