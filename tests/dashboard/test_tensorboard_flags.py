"""TensorBoard's options: each works, or tells why it is not needed."""

from argparse import ArgumentParser

import pytest
from tensorboard.plugins.core.core_plugin import CorePluginLoader

from stepscope.dashboard.cli.main import main, make_parser
from stepscope.dashboard.cli.tensorboard_flags import FLAGS, translated

WORKS = {
    "--logdir=x": ["--logdir=x"],
    "--logdir_spec=a:/x,b:/y": ["--logdir=a:/x", "--logdir=b:/y"],
    "--host=box": ["--host=box"],
    "--bind_all": ["--host=0.0.0.0"],
    "--port=7": ["--port=7"],
    "--port=default": [],
    "--reuse_port=true": ["--reuse-port"],
    "--reuse_port=False": [],
    "--path_prefix=/notes": ["--path-prefix=/notes"],
    "--window_title=Ours": ["--window-title=Ours"],
    "--reload_interval=5": ["--reload-interval=5"],
    "--reload_interval=0": ["--reload-interval=3600"],
    "--purge_orphaned_data=false": ["--keep-superseded"],
    "--purge_orphaned_data=true": [],
}
REFUSED = ("grpc_data_provider", "db", "db_import")
INSPECT = ("inspect", "tag", "event_file", "version_tb")


def flags_of_tensorboard() -> dict[str, bool]:
    """Every option of the installed TensorBoard, and whether it takes a value."""
    parser = ArgumentParser(add_help=False)
    CorePluginLoader().define_flags(parser)
    return {action.option_strings[0].removeprefix("--"): action.nargs != 0 for action in parser._actions}


def test_every_option_of_tensorboard_is_known() -> None:
    assert {name: flag.has_value for name, flag in FLAGS.items()} == flags_of_tensorboard()
    tried = {option.removeprefix("--").partition("=")[0] for option in WORKS}
    assert {name for name, flag in FLAGS.items() if flag.here is not None} == {*tried, *INSPECT}
    assert {name for name, flag in FLAGS.items() if flag.loses} == set(REFUSED)


@pytest.mark.parametrize("option", WORKS)
@pytest.mark.parametrize("apart", [False, True])
def test_an_option_that_works(option: str, apart: bool) -> None:
    given = option.split("=", 1) if apart else [option]
    found = translated(["serve", *given])
    assert found.arguments == ["serve", *WORKS[option]]
    assert found.remarks == []
    make_parser("serve").parse_args([*found.arguments, "--logdir=x"])


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (["--logdir=x", "--reuse-port"], ["--logdir=x", "--reuse-port"]),
        (["--reuse-port", "--logdir", "x"], ["--reuse-port", "--logdir=x"]),
        (["--reuse-port", "x"], ["--reuse-port", "x"]),
    ],
)
def test_an_option_that_is_a_switch_here_needs_no_value(given: list[str], arguments: list[str]) -> None:
    assert translated(["serve", *given]).arguments == ["serve", *arguments]


@pytest.mark.parametrize("name", [name for name, flag in FLAGS.items() if flag.here is None and not flag.loses])
def test_an_option_without_effect_says_why_nothing_is_lost(name: str) -> None:
    found = translated(["serve", f"--{name}", "1", "--no-cache"])
    assert found.arguments == ["serve", "--no-cache"]
    assert found.remarks == [f"--{name}=1 is a TensorBoard option that Stepscope does not need: {FLAGS[name].why}."]


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_that_would_show_something_else_is_an_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--logdir", "x", f"--{name}=y"]) == 2
    reason = f"is a TensorBoard option that Stepscope does not support: {FLAGS[name].why}."
    assert capsys.readouterr().err == f"stepscope: --{name} {reason}\n"


def test_inspect_is_the_verb() -> None:
    assert translated(["serve", "--inspect", "--logdir", "x", "--tag=loss"]).arguments == [
        *("inspect", "--logdir=x", "--tag=loss")
    ]
    assert translated(["serve", "--inspect", "--event_file", "x"]).arguments == ["inspect", "--event-file=x"]
    assert translated(["serve", "--version_tb"]).arguments == ["--version"]


def test_an_option_at_the_end_has_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--logdir"]) == 2
    assert "--logdir has no value" in capsys.readouterr().err
