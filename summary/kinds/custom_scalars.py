"""Custom scalars: a layout of charts, each of several scalar tags."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.protobuf.message import DecodeError

from stepscope.summary.bounded_messages import parse
from stepscope.summary.kinds.base import Kind, PayloadError
from stepscope.summary.kinds.tensor_proto import plugin_metadata, strings, strings_tensor
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.custom_scalars_pb2 import (
    Category,
    Chart,
    Layout,
    MarginChartContent,
    MultilineChartContent,
)
from stepscope.summary.proto.summary_pb2 import Summary

PLUGIN_NAME: Final = "custom_scalars"
TAG: Final = "custom_scalars__config__"
"""The only tag of this kind."""


def custom_scalars(layout: Layout) -> Summary.Value:
    """Return a value with the layout."""
    metadata = plugin_metadata(PLUGIN_NAME, summary_pb2.DATA_CLASS_TENSOR)
    return Summary.Value(tag=TAG, metadata=metadata, tensor=strings_tensor([layout.SerializeToString()], ()))


def layout_of(categories: Mapping[str, Mapping[str, Sequence[Any]]]) -> Layout:
    """Return the layout message for the argument of PyTorch's ``add_custom_scalars``.

    Args:
        categories: category title -> chart title -> ["Multiline", regular expressions that match the tags], or
            ["Margin", [tag of the value, of the lower bound, of the upper bound]].

    Raises:
        TypeError: a title or tag is not a string, or a chart is neither of the two.
        ValueError: a margin chart does not have three tags.
    """
    if not isinstance(categories, Mapping):
        raise TypeError(f"a layout must map category titles to charts, got {type(categories).__name__}")
    layout = Layout()
    for title, charts in categories.items():
        if not isinstance(charts, Mapping):
            raise TypeError(f"the category {title!r} must map chart titles to charts, got {type(charts).__name__}")
        category = Category(title=_checked_string(title), chart=[_chart(*chart) for chart in charts.items()])
        layout.category.append(category)
    return layout


def merged_layouts(first: Layout, second: Layout) -> Layout:
    """Merge layouts by category title; a chart of ``second`` replaces the one of the same title in ``first``."""
    merged = Layout()
    merged.CopyFrom(first)
    categories = {category.title: category for category in merged.category}
    for category in second.category:
        if category.title not in categories:
            merged.category.append(category)
            continue
        known = categories[category.title]
        charts = {chart.title: chart for chart in known.chart}
        for chart in category.chart:
            if chart.title in charts:
                charts[chart.title].CopyFrom(chart)
            else:
                known.chart.append(chart)
    return merged


def decode_layout(value: Summary.Value) -> Layout:
    """Return the message in a string tensor of one element.

    Raises:
        PayloadError: the value is not such a tensor, or its bytes are not a Layout.
    """
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected a layout as a tensor, got {value.WhichOneof('value') or 'no value'}")
    parts = strings(value.tensor)
    if parts.size != 1:
        raise PayloadError(f"expected one string with a layout, got shape {list(parts.shape)}")
    try:
        return parse(Layout, parts.item())
    except DecodeError as error:
        raise PayloadError(f"expected a Layout message, got {parts.item()[:20]!r}...: {error}") from error


def _chart(title: str, described: Sequence[Any]) -> Chart:
    wanted = f'the chart {title!r} must be ["Multiline", tags] or ["Margin", [value, lower, upper]]'
    if isinstance(described, str) or not isinstance(described, Sequence) or len(described) != 2:
        raise TypeError(f"{wanted}, got {described!r}")
    form, tags = described
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise TypeError(f"{wanted}, got {described!r}")
    names = [_checked_string(tag) for tag in tags]
    match form:
        case "Multiline":
            return Chart(title=_checked_string(title), multiline=MultilineChartContent(tag=names))
        case "Margin":
            if len(names) != 3:
                raise ValueError(f"{wanted}, got {len(names)} tags")
            value, lower, upper = names
            series = MarginChartContent.Series(value=value, lower=lower, upper=upper)
            return Chart(title=_checked_string(title), margin=MarginChartContent(series=[series]))
        case _:
            raise TypeError(f"{wanted}, got {described!r}")


def _checked_string(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"titles and tags of a layout must be strings, got {type(text).__name__}")
    return text


KIND: Final = Kind(plugin_name=PLUGIN_NAME, decode=decode_layout, about="how charts of scalars are laid out")
