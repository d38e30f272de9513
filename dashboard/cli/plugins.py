"""``stepscope plugins``: list what other distributions add, by group, and what of it failed."""

from argparse import ArgumentParser, Namespace
from typing import Any, Final

import orjson

from stepscope.dashboard.cli.reading import printable, standard_output
from stepscope.dashboard.cli.text_tables import MOST_TEXT
from stepscope.dashboard.server.numbers import count
from stepscope.plugins import Extensions, Plugin, PluginFailure, registries

_NONE: Final = (
    "No plug-ins are installed. What a plug-in can add: "
    "https://github.com/stepscope/stepscope/blob/main/docs/extending.md"
)


class PluginsVerb:
    """Lists the records of each group; warnings on standard error name what failed."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the format of the list."""
        parser.add_argument("--json", action="store_true", help="print JSON, with the names of Stepscope's own records")

    def run(self, arguments: Namespace) -> int:
        """Print the list; failures cause warnings while records are loaded, and do not change the exit code."""
        groups = {group: _listed(extensions) for group, extensions in registries().items()}
        with standard_output() as stream:
            stream.write(_json(groups) if arguments.json else _lines(groups).encode())
        return 0


def _listed(extensions: Extensions[Any]) -> dict[str, Any]:
    good = [_row(plugin, *extensions.described(record)) for plugin, record in extensions.loaded()]
    bad = [_row(failure.plugin, failure.plugin.name, failure=failure) for failure in extensions.failures()]
    return {"own": list(extensions.own_names()), "others": good + bad}


def _row(plugin: Plugin, name: str, about: str = "", failure: PluginFailure | None = None) -> dict[str, Any]:
    dist = plugin.entry.dist
    return {
        "name": name,
        "distribution": dist.name if dist else None,
        "version": dist.version if dist else None,
        "place": plugin.entry.value,
        "about": about,
        "failure": None if failure is None else failure.reason,
    }


def _json(groups: dict[str, dict[str, Any]]) -> bytes:
    return orjson.dumps(groups, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _lines(groups: dict[str, dict[str, Any]]) -> str:
    rows = [row for listed in groups.values() for row in listed["others"]]
    froms = {id(row): f"{row['distribution']} {row['version']}" if row["distribution"] else "?" for row in rows}
    wide = min(MOST_TEXT, max([len(row["name"]) for row in rows], default=0))
    wide_from = min(MOST_TEXT, max(map(len, froms.values()), default=0))
    lines = []
    for group, listed in groups.items():
        lines.append(f"{group.replace('_', ' ')}: {count(len(listed['own']))} of Stepscope")
        for row in listed["others"]:
            what = row["about"] if row["failure"] is None else f"failed: {row['failure']}"
            lines.append(printable(f"  {row['name']:<{wide}}  {froms[id(row)]:<{wide_from}}  {what}").rstrip())
    return "\n".join([*lines, *([] if rows else [_NONE]), ""])
