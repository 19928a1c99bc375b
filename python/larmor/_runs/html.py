"""What notebooks show of images: a line and small pictures. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larmor.typing import Complexes, DType

MOST_PICTURES = 8
MOST_PIXELS = 160  # of a side
BRIGHTEST = 0.995  # part of the voxels that are not brighter than white


class Picture:
    """What has an image: an array, a line, and a small picture."""

    image: Complexes
    report: dict[str, Any]

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> NDArray[Any]:
        return as_array(self.image, dtype, copy)

    def __repr__(self) -> str:
        return f"<larmor.{type(self).__name__} {' x '.join(map(str, self.image.shape))} {self.image.dtype}>"

    def _repr_html_(self) -> str:
        return page(repr(self), [self.image], self.report["warnings"])


def as_array(x: Any, dtype: Any, copy: bool | None) -> Any:
    """What __array__ returns."""
    if copy is False and dtype is not None and np.dtype(dtype) != x.dtype:
        raise ValueError(f"an array of {np.dtype(dtype)} is a copy of one of {x.dtype}")
    return np.array(x, dtype) if copy else np.asarray(x, dtype)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(grey: Any) -> bytes:
    """A picture of bytes [y, x]."""
    rows, columns = grey.shape
    lines = b"".join(b"\0" + row.tobytes() for row in grey)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0))
            + _chunk(b"IDAT", zlib.compress(lines)) + _chunk(b"IEND", b""))


def thumbnail(image: Any) -> bytes:
    """The magnitudes of an image [y, x], or of the middle slice of [z, y, x], as a small picture."""
    plane = np.abs(np.asarray(image))
    while plane.ndim > 2:
        plane = plane[len(plane) // 2]
    step = -(-max(plane.shape) // MOST_PIXELS)
    plane = np.nan_to_num(plane[::step, ::step], posinf=0.0)
    white = np.quantile(plane, BRIGHTEST) or plane.max() or 1.0
    return png(np.ascontiguousarray(np.minimum(plane / white, 1) * 255).astype(np.uint8))


def page(line: str, images: Sequence[Any], warnings: Sequence[str]) -> str:
    """A line, warnings and the first images as HTML."""
    pictures = [f'<img alt="image {i}" src="data:image/png;base64,{base64.b64encode(thumbnail(x)).decode()}">'
                for i, x in enumerate(images[:MOST_PICTURES]) if x.size]
    more = f" and {len(images) - MOST_PICTURES} more" if len(images) > MOST_PICTURES else ""
    said = "".join(f"<br>{html.escape(warning)}" for warning in warnings)
    return f"<div><code>{html.escape(line)}</code>{said}<br>{' '.join(pictures)}{more}</div>"
