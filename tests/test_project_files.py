"""The files around the code: the dashboard's image, public CI, and the versions that tests have of what they need."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parent.parent
PROJECTS = {"stepscope": "pyproject.toml", "stepscope-core": "core/pyproject.toml"}
HADOLINT = Path(sysconfig.get_path("scripts")) / "hadolint"


def has_docker() -> bool:
    """Whether the command exists and a daemon answers."""
    return (
        shutil.which("docker") is not None and subprocess.run(["docker", "info"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="hadolint is not installed here"
)
def test_the_dockerfile_has_no_faults() -> None:
    told = subprocess.run([HADOLINT, REPOSITORY / "Dockerfile"], capture_output=True, text=True)
    assert told.stdout == ""


def test_the_image_runs_as_a_plain_user_and_asks_for_a_token() -> None:
    lines = (REPOSITORY / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("FROM ")] == [
        "FROM python:3.13-slim AS wheels",
        "FROM python:3.13-slim",
    ]
    assert [line for line in lines if line.startswith("USER ")] == ["USER 1000"]
    assert lines[-1] == 'CMD ["serve", "--logdir", "/logs", "--host", "0.0.0.0"]'


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not has_docker(), reason="no Docker daemon answers here")
def test_the_image_is_built_and_tells_its_version() -> None:
    subprocess.run(["docker", "build", "--quiet", "--tag", "stepscope:test", REPOSITORY], check=True)
    told = subprocess.run(
        ["docker", "run", "--rm", "stepscope:test", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("stepscope ")


@pytest.mark.parametrize("name", ["ci.yml", "newest.yml"])
def test_public_ci_runs_what_make_test_runs_with_pinned_actions(name: str) -> None:
    workflow = (REPOSITORY / ".github" / "workflows" / name).read_text()
    used = re.findall(r"uses: (\S+)", workflow)
    assert used != []
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []
    assert "run: .ci/run" in workflow


def test_public_ci_runs_the_oldest_and_the_newest_python() -> None:
    assert 'python: ["3.11", "3.14"]' in (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text()


def asked_for(name: str, *extras: str) -> Iterator[Requirement]:
    """What one of this repository's distributions needs of others."""
    project = tomllib.loads((REPOSITORY / PROJECTS[name]).read_text())["project"]
    for text in [
        *project["dependencies"],
        *(each for extra in extras for each in project["optional-dependencies"][extra]),
    ]:
        requirement = Requirement(text)
        if requirement.name in PROJECTS:
            yield from asked_for(requirement.name, *requirement.extras)
        else:
            yield requirement


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_the_tests_have_one_version_of_each_dependency_which_its_requirement_allows(python: str) -> None:
    def is_meant(requirement: Requirement) -> bool:
        there = {"python_version": python, "python_full_version": f"{python}.9"}
        return requirement.marker is None or requirement.marker.evaluate(there)

    lines = (REPOSITORY / "tests" / "constraints.txt").read_text().splitlines()
    pinned = [pin for line in lines if not line.startswith("#") and is_meant(pin := Requirement(line))]
    versions = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pinned}
    assert len(versions) == len(pinned)
    asked = [each for each in asked_for("stepscope", "test") if is_meant(each)]
    unmet = [each for each in asked if not each.specifier.contains(versions.get(canonicalize_name(each.name), ""))]
    assert unmet == [], "run `make constraints`"


def commands_of(text: str) -> set[str]:
    """What the lines of a Makefile or the entries of hooks run, without options and places."""
    told = re.sub(r"\$\(BIN\)/|\.venv/bin/|env DENO_NO_UPDATE_CHECK=1 ", "", text.replace("$(DENO)", "deno"))
    return {
        " ".join(word for word in line.split() if not word.startswith("--") and word != ".")
        for line in told.splitlines()
    }


def test_a_commit_is_checked_by_what_make_lint_runs() -> None:
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    hooks = (REPOSITORY / ".pre-commit-config.yaml").read_text().split("- id: ")[1:]
    entries = [found[1] for hook in hooks for found in re.finditer(r"entry: (.*)", hook)]
    assert commands_of("\n".join(entries)) == commands_of(recipe)
    files = {hook.split()[0]: found[1] for hook in hooks for found in re.finditer(r"files: (.*)", hook)}

    # Other tests may be making a bundle, in a folder that is gone while this one looks: os.walk passes over it.
    tops = ("benchmarks", "dashboard", "examples", "tests")
    walked = [each for top in tops for each in os.walk(REPOSITORY / top) if "bundle" not in each[0]]
    names = [Path(folder, name).relative_to(REPOSITORY).as_posix() for folder, _, found in walked for name in found]
    scripts = [name for name in names if name.endswith((".ts", ".js"))]
    assert "dashboard/web/core/commands.ts" in scripts
    settings = json.loads((REPOSITORY / "deno.json").read_text())
    for hook, of_make in (("deno-fmt", settings["fmt"]["include"]), ("deno-lint", settings["lint"]["include"])):
        taken = {name for name in scripts if re.search(files[hook], name)}
        parts = [re.escape(each).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*") for each in of_make]
        assert taken == {name for name in scripts if re.match(rf"(?:{'|'.join(parts)})(?:/|$)", name)}
