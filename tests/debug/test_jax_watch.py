"""A JAX step function is watched: every operation of it, inside the compiled program."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope import debug, open_logdir
from stepscope.debug.health import health
from stepscope.summary.debugger.model import FIGURES
from stepscope.summary.debugger.recordings import RecordedData, read_recording

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402

from stepscope.debug.jax_health import JaxHealth, counts_and_measures  # noqa: E402
from tests.debug.health_values import VALUES  # noqa: E402


def recorded(folder: Path) -> RecordedData:
    (run,) = open_logdir(folder).runs.values()
    return read_recording(run)


@pytest.mark.parametrize("name", VALUES)
def test_arrays_measure_as_the_reference(name: str) -> None:
    value = VALUES[name]
    counts, measures = jax.jit(counts_and_measures)(value)
    dtype = str(jnp.result_type(value))
    size = value.size * (2 if dtype.startswith("complex") else 1)
    measured = JaxHealth(counts[None], measures[None], [size], [dtype])
    np.testing.assert_allclose(measured.figures()[0], health(value), rtol=2e-6, atol=1e-9)


def loss_of(params: dict[str, Any], x: Any, y: Any) -> Any:
    with jax.named_scope("dense"):
        hidden = jax.nn.relu(x @ params["kernel"] + params["bias"])
    ratio = y / hidden.sum(1)
    return (ratio**2).mean()


@jax.jit  # type: ignore[untyped-decorator]
def train_step(params: dict[str, Any], x: Any, y: Any) -> tuple[Any, Any]:
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    return jax.tree.map(lambda p, g: p - 1e-6 * g, params, gradients), loss


def start() -> dict[str, Any]:
    return {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}


def test_what_is_seen_of_a_step_and_its_figures(tmp_path: Path) -> None:
    x, y = jnp.array([[1.0, 2, 3], [4, 5, 6]]), jnp.ones(2)
    with debug.watch(train_step, tmp_path, every=2) as step:
        params: Any = start()
        for _ in range(3):
            params, _ = step(params, x, y)
    expected = start()
    for _ in range(3):
        expected, _ = train_step(expected, x, y)
    np.testing.assert_allclose(params["kernel"], expected["kernel"])
    data = recorded(tmp_path)
    names = [f"{tensor.phase} {tensor.name}" for tensor in data.tensors]
    assert names[:6] == [
        "parameter params/bias",
        "parameter params/kernel",
        "forward x",
        "forward y",
        "forward dense/dot_general",
        "forward dense/add",
    ]
    assert names[-2:] == ["update params/bias", "update params/kernel"]
    product = data.tensors[4]
    assert (product.op_type, product.module, product.dtype, product.shape) == (
        "jax.dot_general",
        "dense",
        "float32",
        (2, 2),
    )
    assert [data.tensors[n].name for n in product.inputs] == ["x", "params/kernel"]
    assert product.stack is not None
    assert data.stack(product.stack)[-1].code.strip().startswith("hidden = jax.nn.relu(x @ params")
    assert any(name.startswith("backward dense/dot_general") for name in names)
    found = data.observations(0, data.observation_count)
    assert sorted(set(found.steps.tolist())) == [0, 2]
    figures = dict(zip(FIGURES, found.figures[4].tolist(), strict=True))
    shown = [figures["size"], figures["minimum"], figures["maximum"], figures["mean"]]
    np.testing.assert_allclose(shown, [4, 6, 15, 10.5], rtol=1e-6)
    device = jax.devices()[0]
    places = {f"{device.platform}:{device.id}"}
    assert (found.devices is not None and {data.devices[place] for place in found.devices}) == places


def test_a_training_that_goes_bad_at_step_500_names_the_operation_and_its_line(tmp_path: Path) -> None:
    def train(step: Any) -> None:
        params: Any = start()
        for number in range(510):
            params, _ = step(params, jnp.full((4, 3), -1.0 if number == 500 else 1.0), jnp.ones(4))

    with debug.watch(train_step, tmp_path, every=100, on_alert=None) as watcher:
        step = debug.catch(watcher, watcher)
        with pytest.raises(debug.CaughtError) as caught:
            train(step)
    data = recorded(tmp_path)
    verdict = debug.first_bad(data)
    assert verdict is not None
    assert verdict.sentence == str(caught.value)
    assert verdict.sentence.startswith("Step 500: div (float32) is the first with 4 +Inf of 4 elements, at ")
    assert verdict.sentence.endswith(
        "in loss_of: ratio = y / hidden.sum(1). "
        "It produced them: its inputs were finite (y from 1 to 1; reduce_sum from 0 to 0)."
    )
    np.testing.assert_array_equal(np.load(tmp_path / "caught/step_500_div.npy"), np.full(4, np.inf, np.float32))
    np.testing.assert_array_equal(np.load(tmp_path / "caught/step_500_div_input1.npy"), np.zeros(4, np.float32))
    value = data.value(verdict.observation)
    assert value is not None
    assert np.isinf(value).all()


def seen(data: RecordedData) -> dict[str, list[float]]:
    """Return each tensor's maxima, one per appearance, in the order of first appearances."""
    found = data.observations(0, data.observation_count)
    maxima: dict[str, list[float]] = {}
    for number, maximum in zip(found.tensors, found.figure("maximum").tolist(), strict=True):
        maxima.setdefault(data.tensors[number].name, []).append(maximum)
    return maxima


def inputs(data: RecordedData, name: str) -> list[str]:
    (tensor,) = [tensor for tensor in data.tensors if tensor.name == name and tensor.phase == "forward"]
    return [data.tensors[number].name for number in tensor.inputs]


def test_every_iteration_of_a_scan_with_what_each_took(tmp_path: Path) -> None:
    def step_of(x: Any, factors: Any) -> Any:
        return jax.lax.scan(lambda carry, factor: (carry * factor, carry + 1), x, factors)

    with debug.watch(step_of, tmp_path) as step:
        last, added = step(jnp.ones(2), jnp.array([2.0, 3, 4]))
    np.testing.assert_array_equal(last, [24, 24])
    np.testing.assert_array_equal(added, [[2, 2], [3, 3], [7, 7]])
    data = recorded(tmp_path)
    forward = dict(list(seen(data).items())[1:-1])
    assert forward == {
        "factors": [4],
        "scan[0]/mul": [2],
        "scan[0]/add": [2],
        "scan[1]/mul": [6],
        "scan[1]/add": [3],
        "scan[2]/mul": [24],
        "scan[2]/add": [7],
        "scan": [24],
    }
    assert inputs(data, "scan[0]/mul") == ["x", "factors"]
    assert inputs(data, "scan[1]/mul") == ["scan[0]/mul", "factors"]
    assert inputs(data, "scan") == ["scan[2]/mul"]
    assert inputs(data, "scan:1") == ["scan[0]/add", "scan[1]/add", "scan[2]/add"]
    assert not [problem for problem in data.problems if "scan" in problem]


def test_a_scan_backwards_has_the_iterations_of_the_one_forwards(tmp_path: Path) -> None:
    def loss(x: Any, factors: Any) -> Any:
        with jax.named_scope("layers"):
            return jax.lax.scan(lambda carry, factor: (jnp.sin(carry) * factor, None), x, factors)[0].sum()

    def step_of(x: Any, factors: Any) -> Any:
        return x - jax.grad(loss)(x, factors)

    x, factors = jnp.array([1.0, 2]), jnp.array([2.0, 3, 4])
    with debug.watch(step_of, tmp_path) as step:
        np.testing.assert_allclose(step(x, factors), step_of(x, factors), rtol=1e-6)
    backward = [t.name for t in recorded(tmp_path).tensors if t.phase == "backward"]
    indexes = [name.partition("[")[2].partition("]")[0] for name in backward if "[" in name]
    assert list(dict.fromkeys(indexes)) == ["2", "1", "0"]


def test_iterations_of_a_while_and_only_the_branch_that_was_taken(tmp_path: Path) -> None:
    def step_of(x: Any, most: Any) -> Any:
        x = jax.lax.while_loop(lambda x: x < most, lambda x: x * 2, x)
        return jax.lax.cond(x > 5, lambda x: jnp.sqrt(x), lambda x: x + 0.5, x)

    with debug.watch(step_of, tmp_path, every=1) as step:
        assert [float(step(1.0, most)) for most in (3.0, 16.0)] == [4.5, 4]
    data = recorded(tmp_path)
    found = seen(data)
    assert {name: found[name] for name in found if "[" in name or ":" in name} == {
        "while[0]/mul": [2, 2],
        "while[1]/mul": [4, 4],
        "while:iterations": [2, 4],
        "cond[0]/add": [4.5],
        "while[2]/mul": [8],
        "while[3]/mul": [16],
        "cond[1]/sqrt": [4],
    }
    assert inputs(data, "cond[1]/sqrt") == ["while"]
    assert inputs(data, "cond") == ["cond[0]/add", "cond[1]/sqrt"]


@pytest.mark.parametrize("bad", [None, 500])
def test_of_a_long_loop_the_first_later_iteration_that_goes_bad_is_seen(tmp_path: Path, bad: int | None) -> None:
    numbers = np.full(1_000, 2, np.float32)
    if bad is not None:
        numbers[[bad, bad + 10]] = -1

    def step_of(x: Any, numbers: Any) -> Any:
        return jax.lax.scan(lambda total, number: (total, jnp.log(number)), x, numbers)[0]

    with debug.watch(step_of, tmp_path, on_alert=None) as step:
        step(jnp.ones(2), jnp.array(numbers))
    data = recorded(tmp_path)
    found = seen(data)
    assert len([name for name in found if name.endswith("/log")]) == 64
    assert found["scan[later]:iteration"] == [999 if bad is None else bad]
    assert (
        "Of the 1,000 iterations of scan the first 63 are observed, plus the first later one with a non-finite value,"
        " or else the last."
    ) in data.problems
    verdict = debug.first_bad(data)
    assert (verdict and data.tensors[verdict.tensor].name) == (None if bad is None else "scan[later]/log")


def test_a_step_that_goes_bad_inside_of_nested_loops_names_iteration_operation_and_line(tmp_path: Path) -> None:
    def inner(carry: Any, x: Any) -> Any:
        return carry, jnp.log(x - carry)

    def outer(carry: Any, row: Any) -> Any:
        _, logarithms = jax.lax.scan(inner, carry, row)
        return carry, jax.lax.cond(carry > 0, lambda x: x.sum(), lambda x: x.min(), logarithms)

    def step_of(x: Any, rows: Any) -> Any:
        return x, jax.lax.scan(outer, x, rows)[1]

    with debug.watch(step_of, tmp_path, every=100, on_alert=None) as watcher:
        step = debug.catch(watcher, watcher)
        step(jnp.float32(1), jnp.full((3, 4), 3.0))
        with pytest.raises(debug.CaughtError) as caught:
            step(jnp.float32(1), jnp.full((3, 4), 3.0).at[1, 2].set(-5))
    message = str(caught.value)
    assert message.startswith("Step 1: scan[1]/scan[2]/log (float32) is the first with 1 NaN of 1 element, at ")
    assert message.endswith(
        "in test_a_step_that_goes_bad_inside_of_nested_loops_names_iteration_operation_and_line.<locals>.inner: "
        "return carry, jnp.log(x - carry). "
        "It produced them: its inputs were finite (scan[1]/scan[2]/sub from -6 to -6)."
    )
    (value,) = (tmp_path / "caught").glob("*log.npy")
    assert np.isnan(np.load(value))
    (given,) = (tmp_path / "caught").glob("*log_input0.npy")
    assert np.load(given) == -6


def test_a_loop_that_changes_what_is_outside_of_it_is_seen_as_one_operation_and_said_so(tmp_path: Path) -> None:
    def body(carry: Any, _: None) -> Any:
        jax.debug.print("{}", carry)
        return carry * 2, None

    def step_of(x: Any) -> Any:
        return jax.lax.scan(body, x, None, length=3)[0]

    with debug.watch(step_of, tmp_path) as step:
        np.testing.assert_array_equal(step(jnp.ones(2)), [8, 8])
    data = recorded(tmp_path)
    assert [tensor.name for tensor in data.tensors] == ["x", "scan", "x"]
    assert "scan has side effects: it is observed as one operation, by its outputs." in data.problems


def test_values_themselves_and_histograms_are_written_in_recorded_steps(tmp_path: Path) -> None:
    x, y = jnp.array([[1.0, 2, 3], [4, 5, 6]]), jnp.ones(2)
    for detail in ("full", "histogram"):
        with debug.watch(train_step, tmp_path / detail, every=2, tensors=detail) as step:
            params: Any = start()
            for _ in range(4):
                params, _ = step(params, x, y)
    data = recorded(tmp_path / "full")
    observed = data.observations(0, data.observation_count)
    assert sorted(set(observed.steps.tolist())) == [0, 2]
    for number in range(data.observation_count):
        value = data.value(number)
        assert value is not None
        np.testing.assert_allclose(health(value), observed.figures[number], rtol=2e-6, atol=1e-9)
    (run,) = open_logdir(tmp_path / "histogram").runs.values()
    tags = [series.tag for series in run.of_kind("histograms")]
    assert sorted(tags) == sorted(f"{tensor.phase}/{tensor.name}" for tensor in data.tensors)
    assert {tuple(series.steps.tolist()) for series in run.of_kind("histograms")} == {(0, 2)}


def test_values_of_types_that_numpy_has_not_are_written_as_float32(tmp_path: Path) -> None:
    def double(x: Any) -> Any:
        return x * 2

    with debug.watch(double, tmp_path, every=1, tensors="full", framework="jax") as step:
        step(jnp.array([1.5, -2], jnp.bfloat16))
    value = recorded(tmp_path).value(1)
    assert value is not None
    np.testing.assert_array_equal(value, np.array([3, -4], np.float32))
