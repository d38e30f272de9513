"""Message descriptors in every version of protobuf."""

from types import SimpleNamespace

import pytest

from stepscope.summary.descriptors import is_repeated
from stepscope.summary.proto.graph_pb2 import GraphDef


@pytest.mark.parametrize(("field", "expected"), [("node", True), ("library", False)])
def test_lists_are_told_by_descriptors_of_any_age(field: str, expected: bool) -> None:
    assert is_repeated(GraphDef.DESCRIPTOR.fields_by_name[field]) is expected
    # As in protobuf 4: 1 is optional, 3 is repeated.
    assert is_repeated(SimpleNamespace(label=3 if expected else 1)) is expected
