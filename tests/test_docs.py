"""What users can do is documented."""

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from stepscope.dashboard.cli.base import ListedVerb
from stepscope.dashboard.cli.verbs import VERBS
from stepscope.dashboard.panels.base import Panel
from stepscope.dashboard.panels.registry import PANELS

REPOSITORY = Path(__file__).resolve().parent.parent
GUIDE = "\n".join(path.read_text() for path in sorted((REPOSITORY / "docs").glob("*.md")))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_option_is_documented(verb: ListedVerb) -> None:
    parser = ArgumentParser(add_help=False)
    verb.load().add_arguments(parser)
    options = [option for action in parser._actions for option in action.option_strings if option.startswith("--")]
    assert f"stepscope {verb.name}" in GUIDE
    assert [option for option in options if option not in GUIDE] == []


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_every_panel_is_documented_with_its_picture(panel: Panel) -> None:
    assert f"## {panel.title}" in GUIDE
    assert f"screenshots/{panel.name}_" in GUIDE
    assert (REPOSITORY / "docs" / "screenshots" / f"{panel.name}_light.png").is_file()
    assert (REPOSITORY / "docs" / "screenshots" / f"{panel.name}_dark.png").is_file()


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"
