"""A profile by JAX of three steps of training on an NVIDIA GPU, as ``gpu/jax.xplane.pb``.

    python gpu_jax.py FOLDER

Needs jax with CUDA, and a GPU.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import jax.numpy as jnp

LAYERS, WIDTH, BATCH = 3, 256, 64


def loss(weights: list[jax.Array], x: jax.Array) -> jax.Array:
    """Return the mean square of what some layers make of a batch."""
    for each in weights:
        x = jnp.tanh(x @ each)
    return (x * x).mean()


def trained(weights: list[jax.Array], x: jax.Array) -> list[jax.Array]:
    """Return the weights after a step."""
    return [each - 0.1 * gradient for each, gradient in zip(weights, jax.grad(loss)(weights, x), strict=True)]


def main(folder: Path) -> None:
    """Write ``gpu/jax.xplane.pb`` below a folder."""
    # Store sources by name, not by their location here.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    step = jax.jit(trained)
    weights = [jnp.full((WIDTH, WIDTH), 0.01, jnp.float32) for _ in range(LAYERS)]
    x = jnp.ones((BATCH, WIDTH))
    for _ in range(3):
        weights = jax.block_until_ready(step(weights, x))
    with TemporaryDirectory() as temporary:
        with jax.profiler.trace(temporary):
            for number in range(3):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    weights = jax.block_until_ready(step(weights, x))
        (written,) = Path(temporary).rglob("*.xplane.pb")
        target = folder / "gpu" / "jax.xplane.pb"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(written, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
