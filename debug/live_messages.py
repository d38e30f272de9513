"""The answer to a viewer of live tensors."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepscope.debug.live_frames import Frame, LiveRequest, ShownTensor
from stepscope.debug.pictures import pixels


def frame_message(frame: Frame, frames: tuple[Frame, ...], request: LiveRequest) -> dict[str, Any]:
    """Return a frame as JSON-compatible values: pixels in base64, sections with the most change first.

    Args:
        frame: the frame to show.
        frames: the last ones, oldest first, by which change is judged.
        request: how to show it.
    """
    earlier: dict[tuple[str, tuple[int, ...]], list[NDArray[np.float32]]] = {}
    for other in frames:
        for tensor in other.tensors:
            earlier.setdefault((tensor.name, tensor.plane.values.shape), []).append(tensor.plane.values)
    values: dict[str, NDArray[np.float32]] = {}
    change: dict[str, float] = {}
    for tensor in frame.tensors:
        shown = tensor.plane.values
        varied = variance(shown, earlier.get((tensor.name, shown.shape), []))
        finite = tensor.plane.finite
        extent = float(finite.var()) if finite.size else 0.0
        moved = varied[np.isfinite(varied)]
        change[tensor.name] = float(moved.mean()) / extent if moved.size and extent > 0 else 0.0
        values[tensor.name] = varied if request.show == "variance" else shown
    limits = _limits(frame, values, request)
    sections: dict[str, list[ShownTensor]] = {}
    for tensor in frame.tensors:
        sections.setdefault(tensor.section, []).append(tensor)
    changes = {
        name: sum(change[tensor.name] for tensor in tensors) / len(tensors) for name, tensors in sections.items()
    }
    return {
        "number": frame.number,
        "step": frame.step,
        "wall_time": frame.wall_time,
        "left_out": frame.left_out,
        "sections": [
            {
                "name": section,
                "change": changes[section],
                "tensors": [
                    _tensor_message(tensor, values[tensor.name], limits[tensor.name], change[tensor.name])
                    for tensor in sections[section]
                ],
            }
            for section in sorted(sections, key=lambda section: -changes[section])
        ],
    }


def variance(shown: NDArray[np.float32], earlier: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the variance of each shown value over the frames that have the array in the same form."""
    if len(earlier) < 2:
        return np.where(np.isfinite(shown), np.float32(0), shown)
    with np.errstate(invalid="ignore"):
        found = np.stack(earlier).astype(np.float64).var(axis=0).astype(np.float32)
    return np.where(np.isneginf(shown), shown, found)


def _limits(
    frame: Frame, values: Mapping[str, NDArray[np.float32]], request: LiveRequest
) -> dict[str, tuple[float, float]]:
    own: dict[str, tuple[float, float]] = {}
    for tensor in frame.tensors:
        shown = values[tensor.name][np.isfinite(values[tensor.name])]
        own[tensor.name] = (float(shown.min()), float(shown.max())) if shown.size else (0.0, 0.0)
    if request.scaling == "tensor":
        return own
    if request.scaling == "fixed":
        return dict.fromkeys(own, (request.lowest, request.highest))
    sections: dict[str, tuple[float, float]] = {}
    for tensor in frame.tensors:
        low, high = own[tensor.name]
        lowest, highest = sections.get(tensor.section, (low, high))
        sections[tensor.section] = (min(low, lowest), max(high, highest))
    return {tensor.name: sections[tensor.section] for tensor in frame.tensors}


def _tensor_message(
    tensor: ShownTensor, values: NDArray[np.float32], limits: tuple[float, float], change: float
) -> dict[str, Any]:
    plane = tensor.plane
    if plane.layout == "colors":
        drawn = np.rint(np.nan_to_num(np.clip(plane.values, 0, 1)) * 255).astype(np.uint8)
    else:
        drawn = pixels(values, *limits)
    finite = plane.finite
    return {
        "name": tensor.name,
        "layout": plane.layout,
        "shape": list(plane.shape),
        "dtype": plane.dtype,
        "width": plane.values.shape[1],
        "height": plane.values.shape[0],
        "shown": plane.shown,
        "axes": list(plane.axes),
        "not_finite": plane.not_finite,
        "mean": float(finite.mean(dtype=np.float64)) if finite.size else None,
        "lowest": limits[0],
        "highest": limits[1],
        "change": change,
        "pixels": base64.b64encode(drawn.tobytes()).decode("ascii"),
    }
