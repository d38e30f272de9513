"""Marks by which pages tell whether their data is still the same."""

import subprocess
import sys

from stepscope.dashboard.server.fingerprint import fingerprint

PRINT = "from stepscope.dashboard.server.fingerprint import fingerprint; print(fingerprint((7, 'loss')))"


def test_equal_values_have_equal_marks_in_one_server_and_others_in_another() -> None:
    assert fingerprint((7, "loss")) == fingerprint((7, "loss")) != fingerprint((8, "loss"))
    found = [subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True).stdout for _ in range(2)]
    assert [len(mark.strip()) for mark in found] == [16, 16]
    assert found[0] != found[1]
