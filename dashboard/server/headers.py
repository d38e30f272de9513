"""Response headers: what a browser may do with a response, how long it may keep it, and under which name."""

from typing import Final

SAFE_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOK_AGAIN: Final = "private, no-cache"
UNCHANGING: Final = "private, max-age=86400, immutable"


def attachment(tag: str, extension: str) -> dict[str, str]:
    """Return the header that names a download after its tag."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in tag)[:100] or "scalars"
    return {"Content-Disposition": f'attachment; filename="{safe}.{extension}"'}
