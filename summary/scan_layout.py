"""What the two scans, `stepscope.summary.scan_kernel` and `stepscope.summary.plain_scan`, and their caller share."""

from typing import Final

LARGEST_RECORD: Final = 2**31
"""Protobuf's limit; a header that claims more is damage, even where its CRC is right."""

MOST_DIMENSIONS: Final = 32
"""As `stepscope.summary.kinds.tensor_proto` takes them; a tensor of more is decoded, and refused, there."""

NUMBER: Final = 0
"""Form of a row whose number is in the value column."""
BLOB: Final = 1
"""Form of a row whose payload is to be decoded from its record."""

# Positions in the array of numbers that the kernel hands back.
POSITION, ROWS, TAGS, ARENA, DAMAGES, RECORDS, NEEDED, PREVIOUS_TAG = range(8)
LAYOUT_NUMBERS: Final = 8
"""Of a record of the shape "one summary value that is a number": where its variable parts lie."""
TEMPLATE_WORDS: Final = 24
"""Records of up to this many 8-byte words get a template."""
