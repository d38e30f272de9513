"""What Stepscope's servers require of their tokens."""

from typing import Final

SHORTEST_TOKEN: Final = 16
"""Minimum length, in characters."""
