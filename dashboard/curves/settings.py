"""URL parameters for the drawing of curves and the arrangement of their cards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import unquote

from stepscope.dashboard.page.state import Setting, View, choice, flag, names, number, text
from stepscope.dashboard.runs import settings as run_settings
from stepscope.dashboard.runs.settings import Alignment, BandStatistic, LineStatistic

XAxis = Literal["step", "relative", "wall", "metric"]
Scale = Literal["linear", "log"]
Best = Literal["none", "min", "max"]


@dataclass(frozen=True)
class CurveSettings:
    """Settings for drawing curves."""

    smoothing: float = 0.6
    x_axis: XAxis = "step"
    x_tag: str = ""
    """The scalar on the horizontal axis if ``x_axis`` is "metric"."""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    ignore_outliers: bool = False
    best: Best = "none"
    """The point of each line that is marked."""
    line: LineStatistic = "mean"
    band: BandStatistic = "std"
    members: bool = False
    """Whether the runs of a group are drawn too."""
    align: Alignment = "interpolate"


class CurveParameters:
    """The URL parameters of a panel of curves."""

    def __init__(self, panel: str) -> None:
        self.smoothing: Final = number(f"{panel}.smoothing", 0.6, 0.0, 0.999)
        self.x_axis: Final = choice(f"{panel}.axis", "step", get_args(XAxis))
        self.x_tag: Final = text(f"{panel}.axis_tag", "")
        self.x_scale: Final = choice(f"{panel}.x", "linear", get_args(Scale))
        self.y_scale: Final = choice(f"{panel}.y", "linear", get_args(Scale))
        self.outliers: Final = flag(f"{panel}.ignore_outliers", False)
        self.best: Final = choice(f"{panel}.best", "none", get_args(Best))
        self.legend: Final = flag(f"{panel}.legend", True)
        """Whether charts of few lines have a legend."""
        self.own: Final = names(f"{panel}.card")
        """Settings of single cards that replace the panel's: see `own_settings`."""
        self.ranges: Final = names(f"{panel}.range")
        """Visible parts of cards, zoomed or typed: see ``curves/web/cards.ts``."""
        self.zoom: Final = text(f"{panel}.zoom", "")
        """Visible part of the horizontal axis, as ``low,high``, for all cards without their own."""
        self.marks: Final = names(f"{panel}.marks")
        """Positions of the measuring marks A and B on the horizontal axis."""
        self.profiled: Final = flag(f"{panel}.profiled", True)
        """Whether the steps that traces cover are shaded: see ``curves/web/profiled_steps.ts``."""
        self.heights: Final = names(f"{panel}.height")
        self.full: Final = names(f"{panel}.full")
        """Key of the card that fills the window."""

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        """All settings of the panel."""
        return (
            self.smoothing, self.x_axis, self.x_tag, self.x_scale, self.y_scale, self.outliers, self.best, self.legend,
            self.own, self.ranges, self.zoom, self.marks, self.profiled, self.heights, self.full,
        )  # fmt: skip

    def of(self, view: View, key: str = "") -> CurveSettings:
        """Return the settings of the card ``key`` in a view.

        The axis shows steps until a metric is chosen for it.
        """
        x_tag = self.x_tag.of(view)
        x_axis = cast(XAxis, self.x_axis.of(view))
        common = CurveSettings(
            smoothing=self.smoothing.of(view),
            x_axis="step" if x_axis == "metric" and not x_tag else x_axis,
            x_tag=x_tag,
            x_scale=cast(Scale, self.x_scale.of(view)),
            y_scale=cast(Scale, self.y_scale.of(view)),
            ignore_outliers=self.outliers.of(view),
            best=cast(Best, self.best.of(view)),
            line=cast(LineStatistic, run_settings.LINE.of(view)),
            band=cast(BandStatistic, run_settings.BAND.of(view)),
            members=run_settings.MEMBERS.of(view),
            align=cast(Alignment, run_settings.ALIGN.of(view)),
        )
        return replace(common, **own_settings(self.own.of(view), key))


def own_settings(entries: Sequence[str], key: str) -> Mapping[str, Any]:
    """Return the settings that one card overrides, from entries such as ``train/loss:log,0.9,inliers``.

    The key is followed by a scale of the vertical axis, a smoothing, and whether that axis fits "all" values or the
    "inliers"; each may be missing.
    """
    own: dict[str, Any] = {}
    for entry in entries:
        name, _, words = entry.rpartition(":")
        if unquote(name) != key:
            continue
        for word in words.split(","):
            if word in get_args(Scale):
                own["y_scale"] = word
            elif word in ("inliers", "all"):
                own["ignore_outliers"] = word == "inliers"
            elif (smoothing := _number(word)) is not None:
                own["smoothing"] = smoothing
    return own


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0.0 <= value <= 0.999 else None


class ArrangementParameters:
    """The URL parameters of a panel whose cards of curves the user arranges."""

    def __init__(self, panel: str) -> None:
        self.pinned: Final = names(f"{panel}.pin")
        """Keys of the cards that come first."""
        self.order: Final = names(f"{panel}.order")
        """Keys of cards in the user's order within their groups."""
        self.combined: Final = names(f"{panel}.chart")
        """Charts of several tags: see ``curves/web/entries.ts``."""

    @property
    def settings(self) -> tuple[Setting[Any], ...]:
        """All settings of the arrangement."""
        return self.pinned, self.order, self.combined
