from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.kinds import PayloadError, decode
from stepscope.summary.kinds.custom_scalars import layout_of
from stepscope.summary.kinds.tensor_proto import numbers_tensor, strings_tensor
from stepscope.summary.proto.custom_scalars_pb2 import Layout
from stepscope.summary.proto.summary_pb2 import Summary

LAYOUT = {"Losses": {"both": ["Multiline", ["loss/.*", "acc"]], "band": ["Margin", ["acc", "low", "high"]]}}
BOTH = {"title": "both", "multiline": {"tag": ["loss/.*", "acc"]}}
BAND = {"title": "band", "margin": {"series": [{"value": "acc", "lower": "low", "upper": "high"}]}}


def test_a_layout() -> None:
    assert json_format.MessageToDict(layout_of(LAYOUT)) == {"category": [{"title": "Losses", "chart": [BOTH, BAND]}]}


def test_later_layouts_add_to_earlier_ones(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_custom_scalars(LAYOUT)
        writer.add_custom_scalars_multilinechart(["a"], "Losses", "both")
        writer.add_custom_scalars_multilinechart(["b"])
        writer.add_custom_scalars_marginchart(["c", "d", "e"], title="margin")
    series = open_logdir(tmp_path).series(".", "custom_scalars__config__")
    assert series is not None
    assert json_format.MessageToDict(series.read(3)) == {
        "category": [
            {"title": "Losses", "chart": [{"title": "both", "multiline": {"tag": ["a"]}}, BAND]},
            {
                "title": "default",
                "chart": [
                    {"title": "untitled", "multiline": {"tag": ["b"]}},
                    {"title": "margin", "margin": {"series": [{"value": "c", "lower": "d", "upper": "e"}]}},
                ],
            },
        ]
    }
    assert series.read(0) == layout_of(LAYOUT)


@pytest.mark.parametrize(
    ("layout", "error", "message"),
    [
        ([], TypeError, "category titles to charts, got list"),
        ({"a": []}, TypeError, "category 'a' must map chart titles to charts, got list"),
        ({"a": {"b": "Multiline"}}, TypeError, r"chart 'b' must be \[.*\], got 'Multiline'"),
        ({"a": {"b": ["Multiline", "tag"]}}, TypeError, r"got \['Multiline', 'tag'\]"),
        ({"a": {"b": ["Pie", ["tag"]]}}, TypeError, r"got \['Pie', \['tag'\]\]"),
        ({"a": {"b": ["Margin", ["x", "y"]]}}, ValueError, "got 2 tags"),
        ({"a": {"b": ["Multiline", [3]]}}, TypeError, "must be strings, got int"),
        ({3: {}}, TypeError, "must be strings, got int"),
    ],
)
def test_layouts_refuse(layout: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        layout_of(layout)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Summary.Value(), "as a tensor, got no value"),
        (Summary.Value(tensor=numbers_tensor(np.zeros(1))), "a tensor of strings"),
        (Summary.Value(tensor=strings_tensor([b"", b""], (2,))), r"one string with a layout, got shape \[2\]"),
        (Summary.Value(tensor=strings_tensor([b"\xff"], ())), "a Layout message"),
    ],
)
def test_what_is_no_layout(value: Summary.Value, message: str) -> None:
    with pytest.raises(PayloadError, match=message):
        decode("custom_scalars", value)


def test_an_array_of_one_layout() -> None:
    assert decode("custom_scalars", Summary.Value(tensor=strings_tensor([b""], (1,)))) == Layout()
