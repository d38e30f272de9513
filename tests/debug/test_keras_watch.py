"""A Keras model is watched while it fits, on each installed backend."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepscope import debug, open_logdir
from stepscope.summary.debugger.recordings import RecordedData, read_recording

PROGRAM = Path(__file__).with_name("keras_program.py")


def recorded(folder: Path) -> RecordedData:
    (run,) = open_logdir(folder).runs.values()
    return read_recording(run)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[str, Path, Path]]:
    """A function that returns what was caught on a backend, and the folders of a watched and a caught training."""

    @cache
    def fit(backend: str) -> tuple[str, Path, Path]:
        if find_spec(backend) is None or find_spec("keras") is None:
            pytest.skip(f"Keras or {backend} is not installed")
        watched, caught = (tmp_path_factory.mktemp(f"{backend}_{how}") for how in ("watched", "caught"))
        done = subprocess.run(
            [sys.executable, str(PROGRAM), backend, str(watched), str(caught)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), watched, caught

    return fit


@pytest.mark.long
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_a_model_that_goes_bad_at_step_500_of_fit_names_the_operation_and_its_line(
    fitted: Callable[[str], tuple[str, Path, Path]], backend: str
) -> None:
    message, _, caught = fitted(backend)
    data = recorded(caught)
    verdict = debug.first_bad(data)
    assert verdict is not None
    assert verdict.sentence == message
    assert verdict.step == 500
    assert data.tensors[verdict.tensor].name == {"torch": "logarithm/aten.log", "jax": "logarithm/log"}[backend]
    assert "-Inf of 4 elements" in message
    assert "keras_program.py" in message
    assert "return ops.log(x)" in message
    assert "It produced them: its inputs were finite" in message
    parameters = [tensor.name for tensor in data.tensors if tensor.phase == "parameter"]
    assert parameters == ["dense.kernel", "dense.bias", "dense_1.kernel", "dense_1.bias"]
    updates = [tensor.name for tensor in data.tensors if tensor.phase == "update"]
    assert set(parameters) <= set(updates)


def test_layers_and_gradients_on_pytorch(fitted: Callable[[str], tuple[str, Path, Path]]) -> None:
    _, watched, _ = fitted("torch")
    data = recorded(watched)
    names = [f"{tensor.phase} {tensor.name}" for tensor in data.tensors]
    assert names[4:13] == [
        "forward Sequential:input",
        "forward dense",
        "forward logarithm",
        "forward dense_1",
        "forward Sequential",
        "backward dense_1",
        "backward Sequential",
        "backward logarithm",
        "backward dense",
    ]
    assert sorted(set(data.observations(0, data.observation_count).steps.tolist())) == [0, 100, 200, 300, 400, 500]
