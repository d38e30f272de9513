"""The ``meta`` of the PR curves panel's charts; the page's types are generated from these classes."""

from typing import Final, Literal, NotRequired, TypedDict

from stepscope.dashboard.panels.steps import StepData
from stepscope.dashboard.server.arrays import TypedArray


class CardRun(TypedDict):
    """A run of a card."""

    run: str
    light: str
    dark: str
    color: str
    said: str
    """Remark on anything unusual about it."""
    wall: float | None
    seconds: float | None
    slider: NotRequired[StepData]
    """If each run has its own slider: what it offers, and its key in the URL."""
    key: NotRequired[str]


class RunMeta(CardRun):
    """A run that has no curve, or none at the step."""

    index: int | None
    step: int | None


class CurveMeta(CardRun):
    """A run with its curve: values by threshold, where F1 is highest, and from where nothing is predicted positive."""

    index: int
    step: int
    thresholds: TypedArray
    tp: TypedArray
    fp: TypedArray
    tn: TypedArray
    fn: TypedArray
    precision: TypedArray
    recall: TypedArray
    f1: TypedArray
    accuracy: TypedArray
    mcc: TypedArray
    fpr: TypedArray | None
    """For the ROC view."""
    tpr: TypedArray | None
    shown: int
    """Index from which nothing is predicted positive."""
    best: int | None
    baseline: float | None
    ap: float | None
    auc: float | None


class CardMeta(TypedDict):
    """The runs of a chart, and what their shared slider offers."""

    view: Literal["pr", "roc", "steps"]
    runs: list[RunMeta | CurveMeta]
    slider: StepData


class TrackMeta(TypedDict):
    """A line over steps."""

    role: Literal["track"]
    run: str
    color: str
    steps: TypedArray
    walls: TypedArray


MESSAGES: Final = (CardMeta, RunMeta, CurveMeta, TrackMeta)
