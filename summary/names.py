"""Names of tags and runs as displayed: bounded, and without characters that make one name look like another."""

import hashlib
import re
from typing import Final

LONGEST_NAME: Final = 4096
"""Maximum number of characters of a name that can be displayed and requested."""
_KEPT: Final = 4000
"""Number of characters displayed of a longer name."""
_REORDERING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Unicode's embeddings, overrides and isolates, after which text is displayed in a different order."""


def in_order(text: str) -> str:
    r"""Return text, such as code, with characters that reorder it replaced by escapes, such as ``\u202e``."""
    return text if text.isascii() else _REORDERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def readable_name(name: str) -> str:
    r"""Return a name as displayed, which is usually the name itself.

    Characters that reorder text are replaced by escapes, such as ``\u202e``. A name longer than `LONGEST_NAME` is
    shortened to its beginning, followed by its length and a hash of the whole name.
    """
    if len(name) > LONGEST_NAME:
        digest = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=4).hexdigest()
        name = f"{readable_name(name[:_KEPT])[:_KEPT]}... ({len(name):,} characters, {digest})"
    if not name.isascii() and _REORDERING.search(name):
        name = readable_name(in_order(name))
    return name
