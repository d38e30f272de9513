"""The verbs of ``stepscope``: its own, in the order of ``stepscope --help``, and those of other distributions."""

import re
from typing import Final

from stepscope.dashboard.cli.base import ListedVerb
from stepscope.plugins import Extensions
from stepscope.record_fields import check_place

VERBS: Final = (
    ListedVerb(
        "serve",
        "follow a log directory and serve the dashboard (the default)",
        "stepscope.dashboard.cli.serve:ServeVerb",
    ),
    ListedVerb(
        "demo",
        "serve sample logs, to see what the dashboard shows",
        "stepscope.dashboard.cli.demo:DemoVerb",
    ),
    ListedVerb(
        "trace",
        "show one or more trace files on the Timeline, wherever they are",
        "stepscope.dashboard.cli.trace:TraceVerb",
    ),
    ListedVerb(
        "ls",
        "list the runs of a log directory: tags, points, last step, times, size and damage",
        "stepscope.dashboard.cli.ls:ListRunsVerb",
    ),
    ListedVerb(
        "inspect",
        "print what the event files hold, and what was skipped in them",
        "stepscope.dashboard.cli.inspect:InspectVerb",
    ),
    ListedVerb(
        "index",
        "read a log directory ahead of the first start, or into an index that several servers share",
        "stepscope.dashboard.cli.index:IndexVerb",
    ),
    ListedVerb(
        "export",
        "write what a log directory holds as CSV, JSON or Parquet, or its images and audio as files",
        "stepscope.dashboard.cli.export:ExportVerb",
    ),
    ListedVerb(
        "capture",
        "record running programs, through their profiler.server, into a log directory",
        "stepscope.dashboard.cli.capture:CaptureVerb",
    ),
    ListedVerb(
        "timeline",
        "convert a StepStats or RunMetadata file into a Chrome trace",
        "stepscope.dashboard.cli.timeline:TimelineVerb",
    ),
    ListedVerb(
        "convert",
        "convert a trace between Chrome JSON, StepStats and a compact cache",
        "stepscope.dashboard.cli.convert:ConvertVerb",
    ),
    ListedVerb(
        "analyze",
        "report where the time of a trace went, and check its metrics",
        "stepscope.dashboard.cli.analyze:AnalyzeVerb",
    ),
    ListedVerb(
        "debug",
        "report which tensor of a run became non-finite first, and where it was produced",
        "stepscope.dashboard.cli.debug:DebugVerb",
    ),
    ListedVerb(
        "graph",
        "show the graph of a model file, or write it into a run of a log directory",
        "stepscope.dashboard.cli.graph:GraphVerb",
    ),
    ListedVerb(
        "project",
        "show embeddings or weights from a file in the Projector",
        "stepscope.dashboard.cli.project:ProjectVerb",
    ),
    ListedVerb(
        "plugins",
        "list plug-ins that other packages add to Stepscope, and which of them failed",
        "stepscope.dashboard.cli.plugins:PluginsVerb",
    ),
    ListedVerb(
        "warm-up",
        "compile Stepscope's code ahead of the first start in a new image or environment",
        "stepscope.dashboard.cli.warm_up:WarmUpVerb",
    ),
    ListedVerb(
        "pb2text",
        "convert a GraphDef, MetaGraphDef or SavedModel to text protobuf",
        "stepscope.dashboard.cli.convert_graph:PbToTextVerb",
    ),
    ListedVerb(
        "text2pb",
        "convert a GraphDef, MetaGraphDef or SavedModel to binary protobuf",
        "stepscope.dashboard.cli.convert_graph:TextToPbVerb",
    ),
)
"""Stepscope's own verbs. Each is one module in this folder and one entry here."""


def _check(verb: ListedVerb) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", verb.name):
        raise ValueError(f"its name is {verb.name!r}, expected lowercase letters, digits and hyphens")
    check_place(verb.path)


OTHERS: Final = Extensions(
    "verbs",
    ListedVerb,
    lambda verb: verb.name,
    taken=lambda: [verb.name for verb in VERBS],
    check=_check,
    about_of=lambda verb: verb.help,
)
"""Verbs of other distributions."""


def all_verbs() -> tuple[ListedVerb, ...]:
    """Return Stepscope's own verbs and those of other distributions, whose records are imported by this call."""
    return (*VERBS, *OTHERS.records())
