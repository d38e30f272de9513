"""Forks and process exits: nothing hangs, and nothing is lost."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from stepscope.summary import SummaryWriter, open_logdir, v1, v2
from stepscope.summary.kinds.histogram_binning import EdgeTable
from stepscope.summary.logdir import Logdir

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 60


def steps(folder: Path) -> dict[str, list[int]]:
    """The steps of each tag, from all files."""
    return {tag: series.steps.tolist() for tag, series in open_logdir(folder).runs["."].series.items()}


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, str(folder)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE, check=False)


def summary_writer(folder: Path) -> Callable[[str, int], object]:
    writer = SummaryWriter(folder)

    def add(tag: str, step: int) -> None:
        writer.add_scalar(tag, 1.0, step)
        writer.flush()

    return add


def scalars(folder: Path) -> Callable[[str, int], object]:
    writer = SummaryWriter(folder)
    return lambda tag, step: writer.add_scalars("main", {tag: 1.0}, step)


def embedding(folder: Path) -> Callable[[str, int], object]:
    writer = SummaryWriter(folder)
    return lambda tag, step: writer.add_embedding(np.eye(2), tag=tag, global_step=0)


def layout(folder: Path) -> Callable[[str, int], object]:
    writer = SummaryWriter(folder)
    return lambda tag, step: writer.add_custom_scalars_multilinechart([tag], tag, tag)


def file_writer(folder: Path) -> Callable[[str, int], object]:
    writer = v1.FileWriter(folder)
    return lambda tag, step: writer.add_summary(v1.scalar(tag, 1.0), step)


def cached_file_writer(folder: Path) -> Callable[[str, int], object]:
    return lambda tag, step: v1.FileWriterCache.get(folder).add_summary(v1.scalar(tag, 1.0), step)


def tensorflow2(folder: Path) -> Callable[[str, int], object]:
    writer = v2.create_file_writer(str(folder))

    def add(tag: str, step: int) -> None:
        with writer.as_default():
            v2.scalar(tag, 1.0, step)

    return add


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(
    "make",
    [summary_writer, scalars, embedding, layout, file_writer, cached_file_writer, tensorflow2],
    ids=lambda make: make.__name__,
)
def test_a_fork_amid_the_calls_of_other_threads(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    # A lock that another thread held once stayed locked in the child forever.
    add = make(tmp_path)
    stopping = threading.Event()

    def work(tag: str) -> None:
        step = 0
        while not stopping.is_set():
            add(tag, step)
            step += 1

    threads = [threading.Thread(target=work, args=(tag,)) for tag in ("a", "b")]
    for thread in threads:
        thread.start()
    ends = []
    try:
        for number in range(5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                # The alarm ends a child that hangs.
                signal.alarm(PATIENCE)
                add(f"child {number}", 0)
                os._exit(0)
            ends.append(os.waitpid(child, 0)[1])
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    assert ends == [0] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_while_another_thread_prepares_the_edges_of_a_histogram() -> None:
    numbers = np.linspace(0.0, 1.0, 10_000)
    preparing, forked = threading.Event(), threading.Event()

    def pause(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_name == "_cells_in_order":
            preparing.set()
            forked.wait(PATIENCE)

    def count() -> None:
        sys.settrace(pause)
        EdgeTable(np.array([0.0, 0.5, 1.0])).count(numbers)

    thread = threading.Thread(target=count)
    thread.start()
    assert preparing.wait(PATIENCE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        EdgeTable(np.array([0.0, 0.25, 1.0])).count(numbers)
        os._exit(0)
    forked.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("legacy", [False, True])
def test_the_thread_of_a_writer_imports_nothing(tmp_path: Path, legacy: bool) -> None:
    # A child that is forked during an import waits forever when it needs the same module.
    done = run(
        "import sys, threading; import numpy as np; from stepscope.summary import SummaryWriter\n"
        f"writer = SummaryWriter(sys.argv[1], legacy={legacy})\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if threading.current_thread() is not threading.main_thread(): print(name)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "writer.add_scalar('scalar', 1.0)\n"
        "writer.add_scalar_batch('batch', np.arange(100.0), np.arange(100))\n"
        "writer.add_histogram('histogram', np.arange(20_000.0))\n"
        "writer.add_image('image', np.zeros((3, 8, 8)))\n"
        "writer.add_video('video', np.zeros((1, 2, 3, 8, 8)))\n"
        "writer.add_audio('audio', np.zeros(10))\n"
        "writer.add_mesh('mesh', np.zeros((1, 3, 3)))\n"
        "writer.add_text('text', 'text')\n"
        "writer.close()\n",
        tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_calls_of_a_forked_child_leave_no_signals_that_no_thread_reads(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        for step in range(3):
            writer.add_scalar("t", 1.0, step)
        writer.flush()
        os._exit(writer._main._signals.qsize())
    assert os.waitpid(child, 0)[1] == 0
    writer.close()
    assert steps(tmp_path) == {"t": [0, 1, 2]}


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize(
    "write",
    [
        "w = SummaryWriter(f); [w.add_scalar('t', i, i) for i in range(100)]",
        "w = v1.FileWriter(f); [w.add_summary(v1.scalar('t', i), i) for i in range(100)]",
        "v2.create_file_writer(f).set_as_default(); [v2.scalar('t', i, step=i) for i in range(100)]",
    ],
    ids=["SummaryWriter", "v1", "v2"],
)
def test_what_a_process_of_multiprocessing_does_not_close(tmp_path: Path, method: str, write: str) -> None:
    # Functions registered with atexit do not run there.
    if os.name == "nt" and method != "spawn":
        pytest.skip("this system cannot fork")
    module = tmp_path / "work.py"
    module.write_text(
        "import multiprocessing, sys\nfrom stepscope.summary import SummaryWriter, v1, v2\n"
        f"def work(f):\n    {write}\n    globals().update(locals())\n"
        "if __name__ == '__main__':\n"
        f"    child = multiprocessing.get_context({method!r}).Process(target=work, args=(sys.argv[1],))\n"
        "    child.start(); child.join(); sys.exit(child.exitcode)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(module), str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert steps(tmp_path / "run") == {"t": list(range(100))}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_that_their_pool_terminates(tmp_path: Path, method: str) -> None:
    # A pool ends its workers with SIGTERM, which leaves no time to write what is queued.
    if os.name == "nt" and method != "spawn":
        pytest.skip("this system cannot fork")
    module = tmp_path / "work.py"
    module.write_text(
        "import multiprocessing, sys\nfrom stepscope.summary import SummaryWriter, v2\n"
        "inherited = SummaryWriter(sys.argv[1]) if sys.argv[2] == 'fork' else None\n"
        "def work(step):\n"
        "    writer = inherited or SummaryWriter(sys.argv[1])\n"
        "    writer.add_scalar('t', step, step); writer.add_text('text', str(step), step)\n"
        "    globals().setdefault('kept', []).append(writer)\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context(sys.argv[2]).Pool(2) as pool:\n"
        "        pool.map(work, range(40), chunksize=1)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(module), str(tmp_path / "run"), method]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    logdir = Logdir(tmp_path / "run", keep_superseded=True)
    found = {tag: sorted(series.steps.tolist()) for tag, series in logdir.update().runs["."].series.items()}
    assert found == {"t": list(range(40)), "text/text_summary": list(range(40))}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_ends_at_any_line_of_a_call_of_the_global_writer(tmp_path: Path) -> None:
    # A lock that it held once stayed locked for all others; an answer that it waited for was taken for their next.
    done = run(
        "import os, signal, sys, warnings; from stepscope.summary import GlobalSummaryWriter\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "writer = GlobalSummaryWriter(sys.argv[1])\n"
        "def work(left):\n"
        "    def trace(frame, event, argument):\n"
        "        nonlocal left\n"
        "        left -= event == 'line' and frame.f_code.co_filename.endswith(('global_writer.py', 'managers.py'))\n"
        "        if left == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return trace\n"
        "    sys.settrace(trace)\n"
        "    writer.add_scalar('of children', 1.0)\n"
        "ends = []\n"
        "while ends[-1:] != [0]:\n"
        "    child = os.fork()\n"
        "    if child == 0: work(len(ends) + 1); sys.exit(0)\n"
        "    ends.append(os.waitpid(child, 0)[1])\n"
        "    writer.add_scalar('t', 1.0)\n"
        "writer.close(); print(len(ends))\n",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    children = int(done.stdout)
    assert children > 2
    logdir = Logdir(tmp_path, keep_superseded=True)
    assert logdir.update().runs["."].series["t"].steps.tolist() == list(range(children))


@pytest.mark.parametrize(
    "late",
    [
        # By then the interpreter can start no thread: starting one once waited forever.
        "class Late:\n    def __del__(self): writer_of[0].add_scalar('late', 1, 1)\nlate = Late()\n",
        "class Late:\n"
        "    def __del__(self): writer_of[0].add_scalar('late', 1, 1); writer_of[0].close()\n"
        "late = Late()\n",
        "import atexit; atexit.register(lambda: writer_of[0].add_scalar('late', 1, 1))\n",
    ],
    ids=["__del__", "__del__ that closes", "atexit"],
)
def test_what_is_added_while_the_interpreter_ends(tmp_path: Path, late: str) -> None:
    done = run(
        "import sys\nwriter_of = []\n"
        + late
        + "from stepscope.summary import SummaryWriter\n"
        + "writer_of.append(SummaryWriter(sys.argv[1]))\nwriter_of[0].add_scalar('early', 1, 0)\n",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert steps(tmp_path) == {"early": [0], "late": [1]}


def test_a_file_that_fails_keeps_no_other_from_being_written(tmp_path: Path) -> None:
    done = run(
        "import os, resource, signal, sys; from stepscope.summary import SummaryWriter\n"
        "writer = SummaryWriter(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))\n"
        "for step in range(500): writer.add_scalar('t', step, step)\n"
        "for step in range(10): writer.add_scalars('main', {'key': step}, step)\n"
        "try: writer.flush()\n"
        "except OSError as error: print(error.strerror, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        tmp_path,
    )
    assert done.stdout.startswith("File too large; ")
    assert steps(tmp_path / "main_key") == {"main": list(range(10))}


def test_embeddings_of_several_writers_are_all_in_the_configuration(tmp_path: Path) -> None:
    # Each once read the configuration, added its own entry, and overwrote what the other had added in the meantime.
    def work(name: str) -> None:
        with SummaryWriter(tmp_path) as writer:
            for number in range(10):
                writer.add_embedding(np.eye(2), tag=f"{name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text.count("tensor_name:") == 20
