"""What servers of Stepscope ask of the tokens that they are given."""

from typing import Final

SHORTEST_TOKEN: Final = 16
"""Characters."""
