"""Video, boxes and figures, which are all stored as images."""

import sys
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageSequence

from stepscope.summary.kinds import decode, kind_of
from stepscope.summary.kinds.boxes import image_with_boxes
from stepscope.summary.kinds.figure import figures
from stepscope.summary.kinds.image import prepared_images
from stepscope.summary.kinds.video import prepared_video, video
from stepscope.summary.proto.summary_pb2 import Summary

BLACK, WHITE, GRAY = 0, 255, 128


def gif(value: Summary.Value) -> tuple[tuple[int, int], list[float], list[Any]]:
    """Size, milliseconds per frame, and frames as RGB."""
    assert kind_of(value) == "images"
    decoded = decode("images", value)
    (encoded,) = decoded.encoded
    picture = Image.open(BytesIO(encoded))
    assert (picture.format, picture.size) == ("GIF", (decoded.width, decoded.height))
    frames = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(picture)]
    durations = [frame.info["duration"] for frame in ImageSequence.Iterator(picture)]
    return picture.size, durations, frames


def flat_video(*shades: tuple[int, ...]) -> Any:
    """Videos with one shade per frame, [n, t, 1, 2, 3]."""
    levels = np.array(shades, np.uint8)
    return np.broadcast_to(levels[:, :, None, None, None], (*levels.shape, 1, 2, 3))


def test_a_video() -> None:
    size, durations, frames = gif(video("v", flat_video((BLACK, WHITE, GRAY)), 4))
    assert (size, durations) == ((3, 2), [250, 250, 250])
    assert [frame.tolist() for frame in frames] == [[[[shade] * 3] * 3] * 2 for shade in (BLACK, WHITE, GRAY)]


def test_several_videos_are_a_grid() -> None:
    size, _, (frame,) = gif(video("v", flat_video((WHITE,), (GRAY,), (GRAY,)), 4))
    assert size == (12, 2)
    assert frame[0, ::3, 0].tolist() == [WHITE, GRAY, GRAY, BLACK]
    size, _, (frame,) = gif(video("v", flat_video((WHITE,), (GRAY,), (GRAY,), (WHITE,)), 4))
    assert size == (6, 4)
    assert frame[::2, ::3, 0].tolist() == [[WHITE, GRAY], [GRAY, WHITE]]


def test_other_layouts_colors_and_rates_of_video() -> None:
    red_then_blue = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).reshape(1, 2, 3, 1, 1)
    _, durations, frames = gif(video("v", red_then_blue.transpose(1, 0, 3, 4, 2), 1000, "TNHWC"))
    assert durations == [10, 10]
    assert [frame.tolist() for frame in frames] == [[[[255, 0, 0]]], [[[0, 0, 255]]]]


@pytest.mark.parametrize(
    ("frames", "options", "error", "message"),
    [
        (np.zeros((2, 1, 4, 4)), {}, ValueError, r"5 axes for 'NTCHW', got shape \(2, 1, 4, 4\)"),
        (np.zeros((1, 1, 5, 4, 4)), {}, ValueError, r"1, 2, 3 or 4 channels, got 5"),
        (np.zeros((1, 0, 3, 4, 4)), {}, ValueError, "must have pixels"),
        (np.zeros((1, 1, 3, 4, 4), complex), {}, TypeError, "must be real numbers"),
        (np.zeros((1, 1, 3, 4, 4)), {"fps": 0}, ValueError, "above 0 and finite, got 0"),
        (
            np.broadcast_to(np.uint8(0), (1, 1, 1, 1, 65536)),
            {},
            ValueError,
            "at most 65535 pixels a side, got 65536 x 1",
        ),
        (np.broadcast_to(np.uint8(0), (4, 1, 1, 33000, 1)), {}, ValueError, "got 2 x 66000 in a grid"),
        (np.zeros((1, 1, 3, 4, 4)), {"dataformats": "NCHW"}, ValueError, "letters NTCHW in any order, got 'NCHW'"),
    ],
)
def test_videos_refuse(frames: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    for make in (video, prepared_video):
        with pytest.raises(error, match=message):
            make("v", frames, **{"fps": 4, **options})


def test_prepared_videos_are_of_the_frames_at_the_call() -> None:
    frames = flat_video((BLACK, WHITE, GRAY)).copy()
    expected = video("v", frames, 4)
    later = prepared_video("v", frames, 4)
    frames[:] = 7
    assert later.encode() == expected
    assert later.held_bytes == frames.nbytes


def test_the_slowest_video_that_gif_can_say() -> None:
    _, durations, _ = gif(video("v", flat_video((BLACK, WHITE)), 1e-9))
    assert durations == [655_350, 655_350]


@pytest.mark.parametrize("shades", [(BLACK, BLACK, BLACK), (BLACK, BLACK, BLACK, WHITE)])
def test_a_picture_that_stands_still_for_longer_than_gif_can_say(shades: tuple[int, ...]) -> None:
    _, durations, frames = gif(video("v", flat_video(shades), 1 / 400))
    # A picture that is alone is shown for ever; before Pillow 10.2, its time is that of one frame.
    assert len(frames) == 1 or durations == [655_350, 400_000]
    assert [int(frame[0, 0, 0]) for frame in frames] == sorted(set(shades))


def png(value: Summary.Value) -> Any:
    decoded = decode("images", value)
    (encoded,) = decoded.encoded
    array = np.asarray(Image.open(BytesIO(encoded)))
    assert array.shape[:2] == (decoded.height, decoded.width)
    return array


def test_images_in_the_form_of_pytorch_are_a_grid() -> None:
    grays = np.arange(1, 10, dtype=np.uint8).reshape(9, 1, 1)
    drawn = png(prepared_images("i", grays, "NHW", legacy=True).encode())
    assert drawn.tolist() == [[1, 2, 3, 4, 5, 6, 7, 8], [9, 0, 0, 0, 0, 0, 0, 0]]


RED = [255, 0, 0]


def test_a_box() -> None:
    drawn = png(image_with_boxes("b", np.full((1, 8, 10), WHITE, np.uint8), [[1, 2, 6, 5]]))
    expected = np.full((8, 10, 3), WHITE)
    expected[1:7, 1:7] = RED
    # Lines are two pixels wide; along each side, one of the two is inside.
    expected[3:5, 3:5] = WHITE
    assert drawn.tolist() == expected.tolist()


def test_the_inside_of_a_box_stays() -> None:
    drawn = png(image_with_boxes("b", np.zeros((12, 12, 3), np.uint8), [[0, 0, 11, 11]], dataformats="HWC"))
    assert drawn[2:10, 2:10].tolist() == np.zeros((8, 8, 3)).tolist()
    # One of the line's two pixels would be above the picture.
    assert drawn[0].tolist() == [RED] * 12


def test_labels_and_rescaling() -> None:
    white = np.full((40, 60), WHITE, np.uint8)
    box = [[4, 4, 55, 35]]
    plain = png(image_with_boxes("b", white, box, dataformats="HW"))
    labeled = png(image_with_boxes("b", white, box, dataformats="HW", labels="cat"))
    assert png(image_with_boxes("b", white, box, dataformats="HW", labels=["cat"])).tolist() == labeled.tolist()
    changed = np.argwhere((plain != labeled).any(axis=2))
    # Black letters on red, inside the lower left corner of the box.
    assert len(changed) > 50
    assert (changed.min(axis=0) >= [18, 4]).all()
    assert (changed.max(axis=0) <= [35, 40]).all()
    assert png(image_with_boxes("b", white, np.zeros((0, 4)), 0.5, "HW")).tolist() == [[[WHITE] * 3] * 30] * 20


@pytest.mark.parametrize(
    ("boxes", "options", "error", "message"),
    [
        ([1, 2, 3, 4], {}, ValueError, r"shape \[n, 4\], got \(4,\)"),
        ([[1, 2, 3, np.nan]], {}, ValueError, "must be finite"),
        ([[1, 2, 3, 4]], {"labels": [3]}, TypeError, "must be strings, got int"),
        ([[1, 2, 3, 4]], {"rescale": 0}, ValueError, "above 0 and finite, got 0"),
        ([[1, 2, 3, 4]], {"dataformats": "NHW"}, ValueError, "one image, got 3"),
    ],
)
def test_boxes_refuse(boxes: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        image_with_boxes("b", np.zeros((3, 8, 8), np.uint8), boxes, **options)


def test_figures() -> None:
    module = pytest.importorskip("matplotlib.figure", reason="Matplotlib is not installed")
    drawn = [module.Figure(figsize=(0.2, 0.1), dpi=100, facecolor=shade) for shade in ("red", "white")]
    canvases = [figure.canvas for figure in drawn]
    value = figures("f", drawn)
    assert [figure.canvas for figure in drawn] == canvases
    decoded = decode("images", value)
    pictures = [np.asarray(Image.open(BytesIO(encoded))).tolist() for encoded in decoded.encoded]
    assert pictures == [[[RED] * 20] * 10, [[[255] * 3] * 20] * 10]
    assert decode("images", figures("f", drawn[0])).encoded == decoded.encoded[:1]
    with pytest.raises(ValueError, match=r"of the same size in pixels, got \['20 x 10', '30 x 10'\]"):
        figures("f", [drawn[0], module.Figure(figsize=(0.3, 0.1), dpi=100)])


def test_figures_of_pyplot_are_closed() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(0.1, 0.1))
    figures("f", figure, close=False)
    assert pyplot.get_fignums() == [figure.number]
    figures("f", figure)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("drawn", "error", "message"),
    [("plot.png", TypeError, "must be a Matplotlib Figure or a list of them, got str"), ([], ValueError, r"got \[\]")],
)
def test_figures_refuse(drawn: Any, error: type[Exception], message: str) -> None:
    loaded = set(sys.modules)
    with pytest.raises(error, match=message):
        figures("f", drawn)
    assert not {name for name in set(sys.modules) - loaded if name.startswith("matplotlib")}
