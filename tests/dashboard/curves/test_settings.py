import pytest

from stepscope.dashboard.curves.settings import CurveParameters, own_settings
from stepscope.dashboard.curves.toolbar import example_metric
from stepscope.dashboard.page.state import decode

PARAMETERS = CurveParameters("scalars")


def test_the_axis_is_steps_until_a_metric_is_chosen() -> None:
    chosen = [
        PARAMETERS.of(decode(f"scalars.axis={axis}&scalars.axis_tag={tag}"))
        for axis, tag in (("metric", ""), ("metric", "epoch"), ("relative", "epoch"))
    ]
    assert [(one.x_axis, one.x_tag) for one in chosen] == [
        ("step", ""),
        ("metric", "epoch"),
        ("relative", "epoch"),
    ]


@pytest.mark.parametrize(
    ("entry", "own"),
    [
        ("loss:log,0.9,inliers", {"y_scale": "log", "smoothing": 0.9, "ignore_outliers": True}),
        ("loss:linear,0,all", {"y_scale": "linear", "smoothing": 0.0, "ignore_outliers": False}),
        ("loss:all", {"ignore_outliers": False}),
        ("loss:", {}),
        ("loss:1.5,nan,sqrt,", {}),
        ("other:log", {}),
        ("loss", {}),
    ],
)
def test_a_card_is_drawn_by_what_is_said_of_it(entry: str, own: dict[str, object]) -> None:
    assert own_settings([entry], "loss") == own


def test_a_card_goes_before_all_cards() -> None:
    view = decode("scalars.smoothing=0.5&scalars.y=log&scalars.card=a%253Ab%3Alinear")
    own, common = PARAMETERS.of(view, "a:b"), PARAMETERS.of(view, "other")
    assert [(one.y_scale, one.smoothing) for one in (own, common)] == [("linear", 0.5), ("log", 0.5)]


def test_the_example_of_a_metric_is_one_of_the_tags() -> None:
    assert example_metric(["loss", "train/Tokens", "epoch"]) == "epoch"
    assert example_metric(["loss", "train/Tokens"]) == "train/Tokens"
    assert example_metric(["loss", "lr"]) == "loss"
