"""Makes ``tests/peers/pack`` again, each tool in an environment of its own, by uv.

    make peer-pack [FOLDER=...]

Into another folder, the new files can be compared with the old ones; times and numbers of processes differ. What is
recorded on an NVIDIA GPU stays as it is where there is none.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
REPOSITORY: Final = HERE.parents[1]
PACK: Final = REPOSITORY / "tests" / "peers" / "pack"


class Part(NamedTuple):
    """One script, with what has to be installed for it; nothing where the environment of the tests has it all."""

    script: str
    needs: tuple[str, ...] = ()


GPU: Final = "gpu"
"""The folder of what is recorded on one."""
RECORDED_ON_GPU: Final = (
    Part("gpu_training.py", ("torch==2.*", "numpy")),
    Part("gpu_jax.py", ("jax[cuda13]",)),
)
PARTS: Final = (
    Part("torch_logs.py"),
    Part("torch_profiles.py"),
    Part("tensorflow_logs.py", ("tensorflow==2.21.*", "tensorboard==2.20.*")),
    Part("debugger_dumps.py", ("tensorflow==2.21.*", "tensorboard==2.21.*")),
    Part("step_stats.py", ("tensorflow==2.21.*",)),
    Part("xprof_answers.py", ("xprof==2.*", "tensorflow==2.21.*")),
    Part("kineto_traces.py"),
    Part("hta_answers.py", ("HolisticTraceAnalysis==0.5.0", "pandas<3")),
    Part("tb_profiler_answers.py", ("torch-tb-profiler==0.4.3", "pandas<3")),
    Part("umap_answers.py", ("umap-learn==0.5.12",)),
)
LOGDIRS: Final = (
    "torch=torch",
    "tensorboardX=tensorboardX",
    "tensorflow1=tensorflow1/logdir",
    "tensorflow2=tensorflow2",
)


def command_of(part: Part) -> list[str]:
    """Return the command that makes a part in the working folder: what tools write has paths in it."""
    script = [str(HERE / part.script), "."]
    if not part.needs:
        return [sys.executable, *script]
    needs = [word for requirement in part.needs for word in ("--with", requirement)]
    return ["uv", "run", "--quiet", "--isolated", "--no-project", "--python", "3.11", *needs, *script]


def main() -> None:
    """Make every part, then ask TensorBoard about the log directories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=PACK)
    folder: Path = parser.parse_args().folder.resolve()
    has_gpu = shutil.which("nvidia-smi") is not None
    if folder.exists():
        for made in folder.iterdir():
            if made.is_dir() and (has_gpu or made.name != GPU):
                shutil.rmtree(made)
    folder.mkdir(parents=True, exist_ok=True)
    if not has_gpu and not (folder / GPU).exists():
        shutil.copytree(PACK / GPU, folder / GPU)
    for part in (*(RECORDED_ON_GPU if has_gpu else ()), *PARTS):
        print(part.script, flush=True)
        subprocess.run(command_of(part), check=True, cwd=folder)
    answers = [sys.executable, "-m", "tools.peer_pack.tensorboard_answers", str(folder), *LOGDIRS]
    subprocess.run(answers, check=True, cwd=REPOSITORY)


if __name__ == "__main__":
    main()
