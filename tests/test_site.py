"""The documentation as a site: every page, link and anchor exists, and nothing is requested from other hosts."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it strictly: a missing page, link or anchor, or a docstring that cannot be read, is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, env=environment)
    assert told.returncode == 0, told.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(REPOSITORY / "docs").with_suffix("") for path in (REPOSITORY / "docs").rglob("*.md")}
    missing = [page for page in pages if page.name != "index" and not (site / page / "index.html").is_file()]
    assert missing == []


def test_search_finds_tasks_panels_and_the_api(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {"tasks/slow_step/", "panels/timeline/", "api/summary/", "api/profiler/"} <= places


def test_the_api_reference_has_methods_with_what_their_docstrings_say(site: Path) -> None:
    page = (site / "api" / "summary" / "index.html").read_text()
    assert 'id="stepscope.summary.writer.SummaryWriter"' in page
    assert "add_scalar_batch" in page


def test_the_pages_load_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?https?:|<link[^>]*rel=\"?stylesheet[^>]*href=\"?https?:"
    )
    assert [path for path in site.rglob("*.html") if loaded.search(path.read_text())] == []
    # Material's repository box asks GitHub for the repository's stars.
    assert 'data-md-component="source"' not in (site / "index.html").read_text()
