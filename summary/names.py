"""Names of tags and runs as they are shown: bounded, and without characters that let one look like another."""

import hashlib
import re
from typing import Final

LONGEST_NAME: Final = 4096
"""Characters of a name that can be shown and asked for."""
_KEPT: Final = 4000
"""Characters of a longer one that are shown."""
_REORDERING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Unicode's embeddings, overrides and isolates, after which text is drawn in another order than it has."""


def in_order(text: str) -> str:
    r"""Return text such as code with what reorders it written as its escape, such as ``\u202e``."""
    return text if text.isascii() else _REORDERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def readable_name(name: str) -> str:
    r"""Return the name itself, as a rule.

    What reorders text is written as its escape, such as ``\u202e``. Of a name beyond `LONGEST_NAME` the beginning is
    taken, with its length and a hash of all of it.
    """
    if len(name) > LONGEST_NAME:
        digest = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=4).hexdigest()
        name = f"{readable_name(name[:_KEPT])[:_KEPT]}... ({len(name):,} characters, {digest})"
    if not name.isascii() and _REORDERING.search(name):
        name = readable_name(in_order(name))
    return name
