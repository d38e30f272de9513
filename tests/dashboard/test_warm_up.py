"""Another process compiles the loops while a server starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
from stepscope.dashboard.server.compiler_process import compile_beside, hold_back
from stepscope.dashboard.curves import smoothing
import numpy as np
values = np.array([4.0, 0.0, 2.0])
before = compile_beside(hold_back([smoothing.KERNELS]))
plain = smoothing.smooth(values, 0.5)
print([group.name for group in before], smoothing.KERNELS.ready, plain.tolist())
print(smoothing.KERNELS.wait(200), smoothing.KERNELS.compiled, smoothing.smooth(values, 0.5).tolist())
print(compile_beside(hold_back([smoothing.KERNELS])))
"""


def test_curves_are_smoothed_before_and_after_the_loops_are_compiled(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    smooth = [4.0, 4 / 3, 12 / 7]
    assert (done.stdout, done.stderr) == (f"['charts'] False {smooth}\nTrue True {smooth}\n()\n", "")


HELD_UP = """
import psutil
from stepscope.dashboard.server.compiler_process import compile_beside, hold_back
from stepscope.dashboard.curves import smoothing
compile_beside(hold_back([smoothing.KERNELS]))
(first,) = psutil.Process().children()
first.suspend()
print(smoothing.KERNELS.wait(200), smoothing.KERNELS.compiled, first.is_running())
"""


def test_a_process_that_is_held_up_is_replaced_when_somebody_waits(tmp_path: Path) -> None:
    """Next to a training that keeps all processors busy, the first trace took minutes."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", HELD_UP], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True True False\n", "")


STOPPED = """
import signal, time
from pathlib import Path
from stepscope.dashboard.server.compiler_process import compile_beside, hold_back
from stepscope.dashboard.curves import smoothing
import psutil
compile_beside(hold_back([smoothing.KERNELS]))
(child,) = psutil.Process().children()
until = time.monotonic() + 200

def ignored():
    return int(Path(f"/proc/{child.pid}/status").read_text().split("SigIgn:")[1].split()[0], 16)

while not ignored() & 1 << signal.SIGINT - 1:
    assert time.monotonic() < until
    time.sleep(0.01)
child.send_signal(signal.SIGINT)
print(smoothing.KERNELS.wait(200), smoothing.KERNELS.compiled)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="which signals a process ignores is in /proc")
def test_ctrl_c_is_left_to_the_server(tmp_path: Path) -> None:
    """A terminal sends it to both, and the process that compiles printed a hundred lines of tracebacks."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", STOPPED], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True True\n", "")


EVERY_LOOP = """
from stepscope.dashboard.server import warm_up
for name, group in warm_up.GROUPS.items():
    warm_up.WARMERS[name]()
    loops = {(loop.__module__, loop.__name__): loop for loop in group.kernels() if hasattr(loop, "signatures")}
    ran = [place for place, loop in loops.items() if loop.signatures]
    # The machine code that is kept of a loop has that of the loops of its module that it calls in it.
    for place in ran:
        called = {(place[0], name) for name in loops[place].py_func.__code__.co_names}
        ran += loops.keys() & called - set(ran)
    print(name, len(loops) > 0, sorted(loops.keys() - set(ran)))
"""


def test_no_loop_is_left_to_be_compiled() -> None:
    """A server would have to compile it at every start."""
    done = subprocess.run([sys.executable, "-c", EVERY_LOOP], capture_output=True, text=True, check=True)
    names = ["event files", "charts", "small event files", "messages", "traces"]
    assert done.stdout.splitlines() == [f"{name} True []" for name in names]
