"""The process groups of a trace's rank, as PyTorch has written them since 2.5.

Source: ``distributedInfo.pg_config`` of torch.profiler's traces, a list of ``pg_name``, ``pg_desc``, ``pg_size`` and
``ranks`` (torch.distributed.distributed_c10d, ``_get_all_pg_configs``); ``pg_desc`` is what the program calls a group,
such as "mesh_tp" for a device mesh's dimension "tp".
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

MOST_CHARACTERS: Final = 100
_FEW: Final = 6
"""Maximum number of ranks that are all named if they follow no rule."""


@dataclass(frozen=True)
class ProcessGroup:
    """A group of ranks that a rank is in, one of several that divide the job."""

    grouping: str
    """How the job is divided, such as "mesh_tp"."""
    group: str
    """Which part this is: its ranks, in the form of `ranks_in_words`, or its name if they are not stated."""
    size: int


def process_groups(information: Any) -> list[ProcessGroup]:
    """Return the groups that ``distributedInfo`` states, without those of all ranks, which divide nothing.

    A description shared by several groups of a rank, such as PyTorch's "undefined", does not tell how the job is
    divided.
    """
    if not isinstance(information, Mapping) or not isinstance(information.get("pg_config"), list):
        return []
    stated = [each for each in information["pg_config"] if isinstance(each, Mapping)]
    found = []
    for each in stated:
        description, name, ranks = each.get("pg_desc"), each.get("pg_name"), each.get("ranks")
        known = [rank for rank in ranks if isinstance(rank, int)] if isinstance(ranks, list) else []
        size = each.get("pg_size")
        size = size if isinstance(size, int) and 0 < size < 1 << 31 else len(known)
        if isinstance(description, str) and description and 1 < size != information.get("world_size"):
            whole = len(known) == size
            words = ranks_in_words(known) if whole else str(name)
            found.append(ProcessGroup(description[:MOST_CHARACTERS], words[:MOST_CHARACTERS], size))
    times = Counter(group.grouping for group in found)
    return [group for group in found if times[group.grouping] == 1]


def ranks_in_words(ranks: list[int]) -> str:
    """Return some ranks in words, such as "0–7", "0–56 by 8" or "0, 1, 5".

    Different sets have different words as long as they divide the ranks between them.
    """
    found = sorted(set(ranks))
    if len(found) == 1:
        return str(found[0])
    strides = {after - before for before, after in pairwise(found)}
    if len(strides) == 1 and (len(found) > 2 or strides == {1}):
        (stride,) = strides
        return f"{found[0]}–{found[-1]}" + (f" by {stride}" if stride > 1 else "")
    if len(found) <= _FEW:
        return ", ".join(map(str, found))
    return f"{found[0]}, {found[1]} … {found[-1]} ({len(found)})"
