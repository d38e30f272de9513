"""Constants shared by `stepscope.summary.scan_kernel`, `stepscope.summary.plain_scan` and their caller."""

from typing import Final

LARGEST_RECORD: Final = 2**31
"""Protobuf's limit; a header that declares more is damaged, even if its CRC is correct."""

MOST_DIMENSIONS: Final = 32
"""Limit of `stepscope.summary.kinds.tensor_proto`, which decodes, and rejects, a tensor with more dimensions."""

NUMBER: Final = 0
"""Form of a row whose number is in the value column."""
BLOB: Final = 1
"""Form of a row whose payload must be decoded from its record."""

# Positions in the array of numbers that the kernel hands back.
POSITION, ROWS, TAGS, ARENA, DAMAGES, RECORDS, NEEDED, PREVIOUS_TAG = range(8)
LAYOUT_NUMBERS: Final = 8
"""Number of values that locate the variable parts of a record with one summary value that is a number."""
TEMPLATE_WORDS: Final = 24
"""Records of up to this many 8-byte words get a template."""
