"""larmor: images from non-Cartesian k-space. docs/python.md in larmor's sources is the manual.

Every shape is that of the C library in NumPy's order: images are [y, x] or [z, y, x], and the columns of trajectories
and points go with the axes of images, so they are (ky, kx) or (kz, ky, kx). SPDX-License-Identifier: Apache-2.0
"""

from larmor import linop, nufft, prox, solve
from larmor._arrays import Device, device, devices
from larmor._calibration import (
    basis,
    compression,
    delayed,
    delays,
    espirit,
    field_map,
    girf,
    nlinv,
    noise_level,
    resize,
    whiten,
    whitening,
    write_scan,
)
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
from larmor._recon import (
    CoilMaps,
    FieldMaps,
    Finding,
    Reconstruction,
    ScanArrays,
    examine,
    field_maps,
    find_maps,
    recon,
)
from larmor._scan import (
    Samples,
    Scan,
    coil_maps,
    density,
    describe,
    phantom,
    phantom_coils,
    phantom_kspace,
    read,
    read_meta,
    traj,
    trajectories,
    write,
)

__all__ = ["ArgumentError", "BackendError", "CoilMaps", "Device", "Error", "FieldMaps", "FileError", "Finding",
           "FormatError", "NumericError", "OutOfMemoryError", "Reconstruction", "Samples", "Scan", "ScanArrays",
           "ShapeError", "Stopped", "UnsupportedError", "__version__", "basis", "coil_maps", "compression", "delayed",
           "delays", "density", "describe", "device", "devices", "espirit", "examine", "field_map", "field_maps",
           "find_maps", "girf", "linop", "nlinv", "noise_level", "nufft", "phantom", "phantom_coils", "phantom_kspace",
           "prox", "read", "read_meta", "recon", "resize", "solve", "traj", "trajectories", "whiten", "whitening",
           "write", "write_scan"]
