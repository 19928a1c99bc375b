"""larmor: images from non-Cartesian k-space. docs/python.md in larmor's sources is the manual.

Every shape is that of the C library in NumPy's order: images are [y, x] or [z, y, x], and the columns of trajectories
and points go with the axes of images, so they are (ky, kx) or (kz, ky, kx). SPDX-License-Identifier: Apache-2.0
"""

from larmor import linop, nufft, prox, solve
from larmor._arrays import Device, device, devices
from larmor._library import (
    ArgumentError,
    BackendError,
    Error,
    FileError,
    FormatError,
    NumericError,
    OutOfMemoryError,
    ShapeError,
    Stopped,
    UnsupportedError,
)
from larmor._library import version as __version__
from larmor._recon import Reconstruction, ScanArrays, recon
from larmor._scan import (
    Samples,
    Scan,
    coil_maps,
    density,
    phantom,
    phantom_coils,
    phantom_kspace,
    read,
    read_meta,
    traj,
    trajectories,
    write,
)

__all__ = ["ArgumentError", "BackendError", "Device", "Error", "FileError", "FormatError", "NumericError",
           "OutOfMemoryError", "Reconstruction", "Samples", "Scan", "ScanArrays", "ShapeError", "Stopped",
           "UnsupportedError", "__version__", "coil_maps", "density", "device", "devices", "linop", "nufft", "phantom",
           "phantom_coils", "phantom_kspace", "prox", "read", "read_meta", "recon", "solve", "traj", "trajectories",
           "write"]
