"""The options of the command ``tensorboard``, and their equivalents here."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from stepscope.summary.errors import UserError

_FALSE: Final = ("false", "0", "no")
_TRUE: Final = ("true", "1", "yes")


@dataclass(frozen=True)
class Flag:
    """One of TensorBoard's options."""

    here: Callable[[str], Sequence[str]] | None = None
    """Converts the option's value to the equivalent options here; None for an option without effect here."""
    why: str = ""
    """For an option without effect: why nothing is lost, or what is lost."""
    has_value: bool = True
    is_switch: bool = False
    """Whether the option may also stand alone, as here; the next word is its value only if it says true or false."""
    loses: bool = False
    """Whether ignoring the option would show something other than requested, so it cannot be ignored silently."""


def _logdirs(value: str) -> list[str]:
    return [f"--logdir={given}" for given in value.split(",") if given]


def _reload_interval(value: str) -> list[str]:
    try:
        once = float(value) == 0
    except ValueError:
        once = False
    # In TensorBoard, 0 loads once; here the files are still followed, but rarely.
    return [f"--reload-interval={3600 if once else value}"]


def _same(name: str) -> Callable[[str], Sequence[str]]:
    return lambda value: [f"{name}={value}"]


FLAGS: Final = {
    "logdir": Flag(_same("--logdir")),
    "logdir_spec": Flag(_logdirs),
    "host": Flag(_same("--host")),
    "bind_all": Flag(lambda _: ["--host=0.0.0.0"], has_value=False),
    "port": Flag(lambda value: [] if value == "default" else [f"--port={value}"]),
    "reuse_port": Flag(lambda value: [] if value.lower() in _FALSE else ["--reuse-port"], is_switch=True),
    "path_prefix": Flag(_same("--path-prefix")),
    "window_title": Flag(_same("--window-title")),
    "reload_interval": Flag(_reload_interval),
    "purge_orphaned_data": Flag(lambda value: ["--keep-superseded"] if value.lower() in _FALSE else []),
    "inspect": Flag(lambda _: [], has_value=False),
    "tag": Flag(_same("--tag")),
    "event_file": Flag(_same("--event-file")),
    "version_tb": Flag(lambda _: [], has_value=False),
    "samples_per_plugin": Flag(why="every point is read and shown"),
    "load_fast": Flag(why="there is one way to read, and it is fast"),
    "extra_data_server_flags": Flag(why="there is no data server"),
    "grpc_creds_type": Flag(why="there is no data server"),
    "max_reload_threads": Flag(why="all processor cores are used"),
    "reload_task": Flag(why="a thread follows the log directory"),
    "reload_multifile": Flag(why="all files of a run are followed"),
    "reload_multifile_inactive_secs": Flag(why="all files of a run are followed, however old"),
    "detect_file_replacement": Flag(why="files that are replaced are always noticed"),
    "generic_data": Flag(why="all panels read the same way"),
    "grpc_data_provider": Flag(why="data of a gRPC server cannot be read; give --logdir", loses=True),
    "db": Flag(why="databases cannot be read; give --logdir", loses=True),
    "db_import": Flag(why="databases cannot be created; give --logdir", has_value=False, loses=True),
}
"""All of TensorBoard's options, by name."""


@dataclass(frozen=True)
class Translated:
    """A command line with Stepscope's options."""

    arguments: list[str]
    remarks: list[str]
    """One sentence for each option without effect."""


def translated(arguments: Sequence[str]) -> Translated:
    """Return a command line of ``serve`` with TensorBoard's options replaced by their equivalents here.

    With ``--inspect``, it is a command line of the verb ``inspect``.

    Raises:
        UserError: an option needs something that does not exist here, or has no value.
    """
    said: list[str] = []
    remarks: list[str] = []
    verb = list(arguments[:1])
    rest = list(arguments[1:])
    while rest:
        argument = rest.pop(0)
        option, equals, value = argument.partition("=")
        name = option[2:].replace("-", "_") if option.startswith("--") else ""
        flag = FLAGS.get(name)
        if flag is None:
            said.append(argument)
            continue
        stands_alone = flag.is_switch and not (rest and rest[0].lower() in (*_TRUE, *_FALSE))
        if flag.has_value and not equals and not stands_alone:
            if not rest:
                raise UserError(f"{option} has no value. Expected one, as in {option}=VALUE")
            value = rest.pop(0)
        if name == "version_tb":
            return Translated(["--version"], [])
        if name == "inspect":
            verb = ["inspect"]
        if flag.here is not None:
            said += flag.here(value)
        elif flag.loses and (value or not flag.has_value):
            raise UserError(f"{option} is a TensorBoard option that Stepscope does not support: {flag.why}.")
        else:
            given = f"{option}={shlex.quote(value)}" if flag.has_value else option
            remarks.append(f"{given} is a TensorBoard option that Stepscope does not need: {flag.why}.")
    return Translated([*verb, *said], remarks)
