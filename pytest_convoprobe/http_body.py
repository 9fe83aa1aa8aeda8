"""The body of a response, unpacked piece by piece and never beyond a limit."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

ACCEPTED = "gzip"
"""The value of the header `Accept-Encoding`: what `unpacked` can stop in the middle of."""

_PIECE = 65_536
_ZLIB = 15
_EITHER = 32 + _ZLIB  # finds out by itself whether it is gzip or zlib


class DecodingError(Exception):
    """A body that isn't packed as its header says, or in a way that nobody asked for."""


async def unpacked(pieces: AsyncIterator[bytes], encoding: str, most: int) -> bytes | None:
    """The whole body, or None if it has more than `most` bytes. `encoding` is the header `Content-Encoding`.

    A small answer may unpack to gigabytes, and one piece of it to many megabytes: so what comes out is
    limited, not what comes in. Raises `DecodingError` for what can't be unpacked.
    """
    body, unpacker = bytearray(), _unpacker(encoding)
    async for piece in pieces:
        if unpacker is None:
            body += piece
        else:
            body += _more(unpacker, piece, most + 1 - len(body))
        if len(body) > most:
            return None
    return bytes(body)


async def unpacked_pieces(pieces: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The body of a stream as it comes, in pieces of at most 64 KB however well it was packed.

    Raises `DecodingError` for what can't be unpacked.
    """
    unpacker = _unpacker(encoding)
    async for piece in pieces:
        if unpacker is None:
            yield piece
            continue
        while piece:
            if more := _more(unpacker, piece, _PIECE):
                yield more
            piece = unpacker.unconsumed_tail


def _unpacker(encoding: str) -> zlib._Decompress | None:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(_EITHER)
    raise DecodingError(f"it is packed with `{name[:40]}`, but {ACCEPTED} was asked for")


def _more(unpacker: zlib._Decompress, piece: bytes, room: int) -> bytes:
    try:
        return unpacker.decompress(piece, max(1, room))
    except zlib.error as error:
        raise DecodingError(str(error)) from None
