"""Response headers: what a browser may do with a response, how long it may keep it, and under which name."""

import re
from typing import Final
from unicodedata import category
from urllib.parse import quote

SAFE_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOK_AGAIN: Final = "private, no-cache"
UNCHANGING: Final = "private, max-age=86400, immutable"
_LONGEST_NAME: Final = 80
"""Maximum length of a file's name without its extension, in characters, each of which may take three bytes of 255."""


def attachment(tag: str, extension: str) -> dict[str, str]:
    """Return the header that names a download after its tag: RFC 6266, with letters of any language."""
    # The same rule as in web/core/download.ts: letters, marks and numbers stay.
    kept = re.sub("/+", "_", "".join(c if c in "_.-" or category(c)[0] in "LMN" else "/" for c in tag))[:_LONGEST_NAME]
    name = f"{kept if kept.strip('_') else 'scalars'}.{extension}"
    header = f'attachment; filename="{"".join(c if c.isascii() else "_" for c in name)}"'
    return {"Content-Disposition": header if name.isascii() else f"{header}; filename*=UTF-8''{quote(name)}"}
