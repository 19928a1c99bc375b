"""mri-nufft's reconstruction of a scan of the league, by FINUFFT.

Settings: optim (lsqr, lsmr, cg) or adjoint, density, iters, damp (in units of the operator's norm, squared for cg
as its gradient has it). mri-nufft's samples are in cycles per voxel, in the order of the image's axes.

SPDX-License-Identifier: Apache-2.0
"""

import adapter
import mrinufft
import numpy as np


def operator(a, density):
    """With the maps given, or those of the low frequencies, the first of its documentation."""
    samples = np.ascontiguousarray((a.traj / np.array(a.n)).reshape(-1, len(a.n)).astype(np.float32))
    kspace = np.ascontiguousarray(a.kspace.reshape(len(a.kspace), -1))
    density = {"name": density, "backend": "finufft"} if density else None
    maps = a.maps
    if maps is None:
        maps = {"name": "low_frequency", "kspace_data": kspace}
    return mrinufft.get_operator("finufft")(
        samples, a.n, n_coils=len(kspace), smaps=maps, density=density, squeeze_dims=True
    ), kspace


def reconstruct(a, settings, cache):
    density = settings.get("density")
    if density not in cache:
        cache[density] = operator(a, density)
    op, kspace = cache[density]
    optim = settings.get("optim", "lsqr")
    if optim == "adjoint":
        return op.adj_op(kspace) * adapter.rss(op.smaps)
    more = {"max_iter": settings["iters"]} if "iters" in settings else {}
    if settings.get("damp"):
        if "norm" not in cache:
            cache["norm"] = float(np.sqrt(op.get_lipschitz_cst()))
        more["damp"] = settings["damp"] * cache["norm"]
    elif settings.get("damp_as_is"):
        more["damp"] = settings["damp_as_is"]
    image = op.pinv_solver(kspace, optim=optim, progressbar=False, **more)
    return image * adapter.rss(op.smaps)


if __name__ == "__main__":
    adapter.loop(reconstruct)
