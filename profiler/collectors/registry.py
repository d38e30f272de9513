"""The collectors by name, imported when they are asked for: most of them need a library of their own."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from stepscope.profiler.collectors.base import Collector
from stepscope.summary.errors import UserError

COLLECTORS: Final[Mapping[str, str]] = {
    "resources": "stepscope.profiler.collectors.resources:ResourceCollector",
    "tracemalloc": "stepscope.profiler.collectors.tracemalloc:TracemallocCollector",
    "python": "stepscope.profiler.collectors.python_calls:PythonCallCollector",
    "asyncio": "stepscope.profiler.collectors.asyncio_tasks:AsyncioTaskCollector",
    "subprocesses": "stepscope.profiler.collectors.subprocesses:SubprocessCollector",
    "data_loading": "stepscope.profiler.collectors.data_loading:DataLoadingCollector",
    "torch": "stepscope.profiler.collectors.torch:TorchCollector",
    "cupti": "stepscope.profiler.collectors.cupti:CuptiCollector",
    "nvml": "stepscope.profiler.collectors.nvml:NvmlCollector",
}
"""Name -> where the class is, which can be made without arguments."""


def make_collector(collector: Collector | str) -> Collector:
    """Return a collector by its name, with its defaults; a collector is returned as it is.

    Raises:
        UserError: there is none of this name.
    """
    if not isinstance(collector, str):
        return collector
    if collector not in COLLECTORS:
        raise UserError(f"there is no collector {collector!r}. Expected one of: {', '.join(COLLECTORS)}.")
    module, _, name = COLLECTORS[collector].partition(":")
    made: Collector = getattr(import_module(module), name)()
    return made
