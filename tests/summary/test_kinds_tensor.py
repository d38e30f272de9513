from typing import Any

import numpy as np
import pytest
import torch

from stepscope.summary.kinds import PayloadError, decode, kind_of
from stepscope.summary.kinds import tensor as tensor_module
from stepscope.summary.kinds.tensor import tensor
from stepscope.summary.kinds.tensor_proto import strings_tensor
from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto, TensorShapeProto


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">f4", ">i8"]
)
def test_every_dtype(dtype: str) -> None:
    array = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype)
    value = tensor("t", array.T)
    assert (value.tag, kind_of(value)) == ("t", "tensor")
    read = decode("tensor", Summary.Value.FromString(value.SerializeToString())).array
    assert read.dtype == np.dtype(dtype).newbyteorder("=")
    assert read.tolist() == array.T.tolist()
    assert not read.flags.writeable


@pytest.mark.parametrize("values", [3, [], [[1.5], [np.nan]], np.zeros((0, 3), np.int8)])
def test_every_shape(values: Any) -> None:
    read = decode("tensor", tensor("t", values)).array
    np.testing.assert_array_equal(read, np.asarray(values))
    assert read.shape == np.shape(values)


def test_complex_numbers_as_pairs_of_numbers() -> None:
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=2)])
    stored = TensorProto(dtype=types_pb2.DT_COMPLEX64, tensor_shape=shape, scomplex_val=[1, 2, 3, -4])
    assert decode("tensor", Summary.Value(tensor=stored)).array.tolist() == [1 + 2j, 3 - 4j]
    stored.scomplex_val.append(5)
    with pytest.raises(PayloadError, match="pairs of real and imaginary parts, got 5 numbers"):
        decode("tensor", Summary.Value(tensor=stored))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (["a"], TypeError, "the tensor 't' must be numbers, got list .* of dtype <U1"),
        (np.zeros(1, np.longdouble), TypeError, f"expected one of the dtypes .*, got {np.dtype(np.longdouble)}"),
        (np.broadcast_to(np.float64(0), (1 << 28,)), ValueError, r"smaller than 2 GiB, got 2147483648 bytes"),
    ],
)
def test_tensors_refuse(values: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tensor("t", values)


def test_the_size_of_a_bfloat16_tensor_is_that_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_module, "_LARGEST", 8)
    value = tensor("t", torch.tensor([1, 2, 3, 4], dtype=torch.bfloat16))
    assert len(value.tensor.tensor_content) == 8
    with pytest.raises(ValueError, match=r"must be smaller than 2 GiB, got 10 bytes \(shape \(5,\)\)"):
        tensor("t", torch.zeros(5, dtype=torch.bfloat16))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Summary.Value(simple_value=1), "a tensor, got simple_value"),
        (Summary.Value(tensor=strings_tensor([b"a"], ())), "a numeric tensor, got DT_STRING"),
    ],
)
def test_what_is_no_tensor(value: Summary.Value, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        decode("tensor", value)
