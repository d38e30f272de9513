"""`SummaryWriter` compared with PyTorch's and tensorboardX's classes of that name: names, order and defaults."""

import inspect
from typing import Any

import pytest

from stepscope.summary import SummaryWriter

ONLY_BY_KEYWORD = {
    "torch.utils.tensorboard": {},
    "tensorboardX": {
        "__init__": {"logdir", "log_dir", "comet_config"},
        "add_hparams": {"name", "global_step"},
        "add_onnx_graph": {"onnx_model_file"},
        "add_image_with_boxes": {"dataformats", "labels"},
        "add_scalar": {"display_name", "summary_description"},
    },
}
"""Parameters that do not stand where theirs do: PyTorch has others in their places."""


def writer_class(module: str) -> Any:
    return pytest.importorskip(module, reason=f"{module} is not installed").SummaryWriter


def methods(writer: Any) -> dict[str, list[inspect.Parameter]]:
    found = {
        name: [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) and parameter.name != "self"
        ]
        for name, function in inspect.getmembers(writer, inspect.isfunction)
        if not name.startswith("_") or name == "__init__"
    }
    assert len(found) > 20
    return found


@pytest.fixture(params=["torch.utils.tensorboard", "tensorboardX"])
def peer_module(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_nothing_is_missing(peer_module: str) -> None:
    theirs, ours = methods(writer_class(peer_module)), methods(SummaryWriter)
    assert theirs.keys() - ours.keys() == set()
    missing = {
        name: {parameter.name for parameter in theirs[name]} - {parameter.name for parameter in ours[name]}
        for name in theirs.keys() & ours.keys()
    }
    assert {name: names for name, names in missing.items() if names} == {}


def test_names_order_and_defaults(peer_module: str) -> None:
    theirs, ours = methods(writer_class(peer_module)), methods(SummaryWriter)
    by_keyword: dict[str, set[str]] = ONLY_BY_KEYWORD[peer_module]
    different = {}
    for name in theirs.keys() & ours.keys():
        absent = by_keyword.get(name, set())
        positional = [parameter for parameter in ours[name] if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
        for place, parameter in enumerate(theirs[name]):
            found = positional[place].name if place < len(positional) else "nothing"
            by_place = parameter.kind is not parameter.KEYWORD_ONLY and parameter.name not in absent
            if by_place and found != parameter.name:
                different[name, parameter.name] = f"at place {place} is {found}"
        defaults = {parameter.name: parameter.default for parameter in ours[name]}
        for parameter in theirs[name]:
            required = parameter.default is inspect.Parameter.empty
            if parameter.name in defaults and not required and defaults[parameter.name] != parameter.default:
                different[name, parameter.name] = f"{defaults[parameter.name]!r} instead of {parameter.default!r}"
    assert different == {}


def test_what_is_only_by_keyword_stands_elsewhere_indeed(peer_module: str) -> None:
    theirs, ours = methods(writer_class(peer_module)), methods(SummaryWriter)
    for name, names in ONLY_BY_KEYWORD[peer_module].items():
        places = {
            parameter.name: place
            for place, parameter in enumerate(ours[name])
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        }
        for place, parameter in enumerate(theirs[name]):
            if parameter.name in names:
                assert places.get(parameter.name) != place, f"{name} takes {parameter.name} in its place"
