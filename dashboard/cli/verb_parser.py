"""The parser of one verb's arguments."""

import re
from argparse import PARSER, REMAINDER, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from stepscope.summary.errors import UserError


class VerbParser(ArgumentParser):
    """Names options that a verb does not have, with the one that was probably meant.

    `argparse` would instead report a required option whose name is mistyped as missing, and report leftover arguments
    with the usage of the command without a verb.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Namespace, list[str]]:  # type: ignore[override]
        """Parse; exit if arguments are left over.

        Raises:
            UserError: the verb does not have one of the options.
        """
        for name in self._unknown_options(args or ()):
            raise UserError(self._no_such_option(name))
        found, left_over = super().parse_known_args(args, namespace)
        if left_over:
            self.error(f"unrecognized arguments: {' '.join(left_over)}")
        return found, left_over

    def _unknown_options(self, arguments: Sequence[str]) -> Iterator[str]:
        # Other parsers may know the options behind these.
        if any(action.nargs in (PARSER, REMAINDER) for action in self._actions):
            return
        for argument in arguments:
            if argument == "--":
                return
            name = argument.partition("=")[0]
            if name in ("-h", "--help"):
                return
            # As for argparse, the rest is values: "-" alone, negative numbers, and text with spaces.
            if re.match(r"-[^\d.]", name) and " " not in argument and not self._is_known(name):
                yield name

    def _is_known(self, name: str) -> bool:
        if name.startswith("--"):
            return any(option.startswith(name) for option in self._option_string_actions)
        return name in self._option_string_actions or name[:2] in self._option_string_actions

    def _no_such_option(self, name: str) -> str:
        verb = self.prog.rpartition(" ")[2]
        # Dashes would make all options alike.
        known = {option.lstrip("-"): option for option in self._option_string_actions}
        near = get_close_matches(name.lstrip("-"), list(known), 1)
        meant = f" Did you mean {known[near[0]]}?" if near else ""
        return f"{name} is not an option of {verb}.{meant}\nAll of its options: {self.prog} --help"
