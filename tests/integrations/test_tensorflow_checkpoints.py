"""Checkpoints written by TensorFlow, read without it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.summary.checkpoints.dispatch import open_checkpoint_at
from tests.summary.bundles import of_arrays

tf: Any = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: see make test-integrations")

MATRIX = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8", "bool"])
def test_variables_of_all_types(tmp_path: Path, dtype: str) -> None:
    variable = tf.Variable(tf.cast(np.abs(MATRIX) * 3, dtype))
    tf.train.Checkpoint(table=variable).write(str(tmp_path / "ckpt"))
    checkpoint = open_checkpoint_at(tmp_path / "ckpt.index")
    (info,) = [tensor for tensor in checkpoint.tensors if tensor.is_matrix]
    assert (info.name, info.label, info.dtype) == ("table/.ATTRIBUTES/VARIABLE_VALUE", "table", dtype)
    assert checkpoint.read(info.name).tolist() == tf.cast(variable, tf.float32).numpy().tolist()


def test_partitioned_variables_and_shards(tmp_path: Path) -> None:
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        rows = tf.reshape(tf.range(600, dtype=tf.float32), (300, 2))
        with v1.variable_scope("p", partitioner=v1.fixed_size_partitioner(3)):

            def part(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
                return tf.slice(rows, partition_info.var_offset, shape)

            v1.get_variable("w", shape=[300, 2], initializer=part)
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            path = v1.train.Saver(sharded=True).save(session, str(tmp_path / "model.ckpt"), global_step=5)
    assert open_checkpoint_at(path).read("p/w").tolist() == np.arange(600.0).reshape(300, 2).tolist()


def test_tensorflow_reads_what_the_tests_write(tmp_path: Path) -> None:
    of_arrays(a=MATRIX, b=MATRIX.astype("f8")).write(tmp_path / "ckpt")
    assert tf.train.list_variables(str(tmp_path / "ckpt")) == [("a", [7, 3]), ("b", [7, 3])]
    assert tf.train.load_variable(str(tmp_path / "ckpt"), "b").tolist() == MATRIX.tolist()
