"""Headings of analysis columns, in the page and in the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from stepscope.profiler.analysis.records import Column

HEADINGS: Final[Mapping[str, str]] = {
    "gb_per_s": "GB/s",
    "gflops_per_s": "GFLOP/s",
    "flops": "FLOPs",
    "blocks_per_sm": "Blocks per SM",
    "tensor_core_eligible": "TC eligible",
    "tensor_core_self_percent": "TC self",
    "tensor_core_total_percent": "TC total",
    "sm_efficiency": "SM efficiency",
    "utilization": "Utilization",
    "std": "Std",
    "p25": "25%",
    "p50": "50%",
    "p75": "75%",
    "op": "Op type",
    "op_type": "Op type",
    "cpu": "CPU",
    "memcpy": "Copies",
    "runtime": "Runtime calls",
    "dataloader": "Data loading",
    "cpu_exec": "Host operators",
}
"""Headings that differ from the column's name in words."""
MOMENTS: Final = ("start_ns", "end_ns", "time_ns")
"""Columns that are points in time; all other times are durations."""


def heading(column: str) -> str:
    """Return a human-readable column name."""
    if column in HEADINGS:
        return HEADINGS[column]
    for end in ("_ns", "_percent", "_bytes"):
        column = column.removesuffix(end)
    if column in HEADINGS:
        return HEADINGS[column]
    words = column.replace("_", " ")
    return words[:1].upper() + words[1:]


def headings(names: Sequence[str], known: Mapping[str, Column] = MappingProxyType({})) -> dict[str, str]:
    """Return the headings of a table's columns; those that would be the same say which is a share or a time.

    Args:
        names: names of the columns.
        known: what is known about some of them, by name; their own headings take precedence over those from names.
    """
    found = {name: (known[name].heading if name in known else "") or heading(name) for name in names}
    shares = {name for name in names if name.endswith("_percent")}
    others = Counter(words for name, words in found.items() if name not in shares)
    for name, words in list(found.items()):
        if name in shares and others[words]:
            found[name] = f"{words} %"
        elif name.endswith("_ns") and others[words] > 1:
            found[name] = f"{words} time"
    return found
