"""Encoded pictures: their formats, detected from their first bytes, and how they are sent to a browser."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from fastapi import HTTPException, Request, Response

from stepscope.dashboard.server.headers import LOOK_AGAIN, SAFE_HEADERS
from stepscope.dashboard.server.numbers import file_size
from stepscope.summary.counts import counted
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.image import Images
from stepscope.summary.series import Series

_SIGNATURES: Final = (
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF87a"),
    ("image/gif", 0, b"GIF89a"),
    ("image/webp", 8, b"WEBP"),
    ("image/bmp", 0, b"BM"),
)
EXTENSIONS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
}
"""The served formats and their file extensions; SVG and HTML, which can contain scripts, are never served."""


@dataclass(frozen=True)
class Picture:
    """One picture, ready to send."""

    mime_type: str
    data: bytes

    @property
    def etag(self) -> str:
        return f'"{blake2b(self.data, digest_size=12).hexdigest()}"'


def sniff(data: bytes) -> str:
    """Return the MIME type, detected from the first bytes.

    Raises:
        PayloadError: it is none of `EXTENSIONS`.
    """
    for mime_type, offset, signature in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature and (offset == 0 or data[:4] == b"RIFF"):
            return mime_type
    if not data:
        raise PayloadError("the image is empty: 0 bytes")
    raise PayloadError(f"{file_size(len(data))} that are not PNG, JPEG, GIF, WebP or BMP; they begin with {data[:8]!r}")


def picture(images: Images, sample: int) -> Picture:
    """Return one sample.

    Raises:
        PayloadError: the sample does not exist, or its format is not served.
    """
    if not 0 <= sample < len(images.encoded):
        raise PayloadError(f"there is no sample {sample}: this step has {counted(len(images.encoded), 'image')}")
    data = images.encoded[sample]
    return Picture(sniff(data), data)


def read_picture(series: Series, index: int, sample: int) -> Picture:
    """Return a picture of a series.

    Raises:
        HTTPException: 404 if the point does not exist; 422 if it cannot be read or is not a picture.
    """
    try:
        return picture(series.read(index), sample)
    except IndexError as error:
        raise HTTPException(404, f"{error}.") from error
    except PayloadError as error:
        raise HTTPException(422, f"No image: {error}.") from error


def picture_answer(request: Request, found: Picture, headers: dict[str, str]) -> Response:
    """Return the picture's bytes, or 304 if the client has them; never sent as anything but a picture."""
    headers = {**SAFE_HEADERS, "Cache-Control": LOOK_AGAIN, "ETag": found.etag, **headers}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.data, media_type=found.mime_type, headers=headers)
