"""File name endings of images and clips, by content."""

from typing import Final

_MAGIC: Final = (
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"BM", ".bmp"),
)


def media_ending(content: bytes) -> str:
    """Return the name ending for a file with this content, such as ".png"; ".bin" for unknown content."""
    if content.startswith(b"RIFF"):
        return ".webp" if content[8:12] == b"WEBP" else ".wav"
    return next((ending for magic, ending in _MAGIC if content.startswith(magic)), ".bin")
