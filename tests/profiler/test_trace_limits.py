"""How much memory reading may take."""

from pathlib import Path

import pytest

from stepscope.profiler.traces.limits import _left_in_groups, limits_of_memory

# Files below the root of the file system, and what they leave, from the innermost group on.
UNIFIED = {
    "proc/self/cgroup": "0::/jobs/7\n",
    "sys/fs/cgroup/jobs/7/memory.max": "1000\n",
    "sys/fs/cgroup/jobs/7/memory.current": "700\n",
    "sys/fs/cgroup/jobs/7/memory.stat": "anon 400\ninactive_file 200\nactive_file 100\n",
    "sys/fs/cgroup/jobs/memory.max": "max\n",
    "sys/fs/cgroup/jobs/memory.current": "700\n",
    "sys/fs/cgroup/memory.max": "900\n",
    "sys/fs/cgroup/memory.current": "800\n",
    "sys/fs/cgroup/memory.stat": "anon 800\n",
}
# A container that is told its path on the machine, and sees its group as the outermost.
VERSION_1 = {
    "proc/self/cgroup": "5:cpu,memory:/docker/7\n1:cpuset:/docker/7\n0::/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "700\n",
    "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 50\n",
}


@pytest.mark.parametrize(
    ("files", "left"), [(UNIFIED, [500, 100]), (VERSION_1, [350]), ({}, []), ({"proc/self/cgroup": "odd\n"}, [])]
)
def test_control_groups_leave_what_they_do_not_use_but_for_idle_files(
    files: dict[str, str], left: list[int], tmp_path: Path
) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert list(_left_in_groups(tmp_path)) == left
    # Of a machine with more free memory than the group, no more is read than is always read.
    assert (limits_of_memory(tmp_path).file_bytes == 64 << 20) == bool(left)
