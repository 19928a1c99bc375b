"""A page of images for a browser. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any

from larmor import _arguments, _arrays, _scan
from larmor._library import created, ffi, lib, text
from larmor._runs.recon import Reconstruction
from larmor.typing import ArrayLike, Path

_open: set[View] = set()  # served until they are closed, or the process ends


class View(_arguments.Made):
    """A page that is served to browsers, until it is closed; `address` is what they open."""

    def __init__(self, page: bytes, address: str, port: int) -> None:
        opts, where = ffi.new("larmor_view_opts *", {"port": port}), ffi.new("char[]", address.encode())
        opts.address = where
        self._view = created(lib.larmor_view_open, "larmor_view", lib.larmor_view_close, page, len(page), opts)
        self.address: str = text(lib.larmor_view_address(self._view))
        _open.add(self)

    def close(self) -> None:
        """Serve no longer; a second time does nothing."""
        if self in _open:
            _open.remove(self)
            ffi.release(self._view)

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<larmor.View {self.address}>" if self in _open else "<larmor.View, closed>"


def _page(image: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="larmor-view-") as folder:
        page = pathlib.Path(folder, "page.html")
        if isinstance(image, Reconstruction):
            image.write_page(page)
        elif isinstance(image, (str, os.PathLike)):
            if str(image).lower().endswith(".html"):
                return pathlib.Path(image).read_bytes()
            images, metas = _scan.read_images(image)
            _scan.write_page(page, list(images), metas, title=os.fspath(image))
        else:
            x = _arrays.as_input(image)
            _scan.write_page(page, [x], [{"fov_mm": tuple(float(n) for n in x.shape)}], title="image")
        return page.read_bytes()


def view(image: Reconstruction | ArrayLike | Path, *, port: int = 0, address: str = "127.0.0.1") -> View:
    """Serve images to a browser on this machine, as the program's `larmor view` does.

    image    of larmor.recon, an array [y, x] or [z, y, x], or the path of an image or of a page that ends in .html.
    port     0: any that is free. address: where to listen; another than 127.0.0.1 lets others look.
    """
    return View(_page(image), address, port)
