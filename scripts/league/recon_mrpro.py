"""mrpro's reconstruction of a scan of the league.

Settings: algorithm (direct, sense, regularised, tv), iters, weight: for tv as it is or, relative, in units of the
image's largest magnitude; for regularised in units of the operator's squared norm. mrpro reads scan.h5; its
trajectory is in cycles per field of view, and its images are [z, y, x].

SPDX-License-Identifier: Apache-2.0
"""

import adapter
import numpy as np
import torch
from mrpro.algorithms import reconstruction as recon
from mrpro.data import CsmData, KData, KTrajectory
from mrpro.operators import SensitivityOp


def read(a):
    """The file, with the trajectory of the scan: axes without one are zero."""
    points = np.zeros((3, *a.traj.shape[:2]), np.float32)
    points[: len(a.n)] = a.traj.transpose(2, 0, 1)
    kx, ky, kz = (torch.as_tensor(p)[:, None, None, None, :] for p in points)
    return KData.from_file(a.folder / "scan.h5", KTrajectory(kz=kz, ky=ky, kx=kx))


def to_mrpro(maps):
    """[coils, x, y(, z)] as [1, coils, z, y, x]."""
    maps = maps if maps.ndim == 4 else maps[..., None]
    return torch.as_tensor(np.ascontiguousarray(maps.transpose(0, 3, 2, 1)))[None]


def from_mrpro(tensor, n):
    return tensor.numpy().reshape(n[::-1]).T


def begin(a, cache):
    cache["kdata"] = read(a)
    csm = SensitivityOp(to_mrpro(a.maps)) if a.maps is not None else CsmData.from_idata_walsh
    cache["direct"] = recon.DirectReconstruction(cache["kdata"], csm=csm)
    cache["image"] = cache["direct"](cache["kdata"]).data
    maps = cache["direct"].csm_op.csm_tensor if hasattr(cache["direct"].csm_op, "csm_tensor") else None
    cache["rss"] = None if maps is None else maps.abs().square().sum(-4).sqrt()


def made(settings, cache):
    kdata, direct = cache["kdata"], cache["direct"]
    common = {"fourier_op": direct.fourier_op, "csm": direct.csm_op, "dcf": direct.dcf_op}
    more = {"n_iterations": settings["iters"]} if "iters" in settings else {}
    weight = settings.get("weight")
    if settings["algorithm"] == "sense":
        return recon.IterativeSENSEReconstruction(kdata, **common, **more)
    if settings["algorithm"] == "regularised":
        if "norm" not in cache:
            start = torch.randn_like(cache["image"])
            op = direct.fourier_op @ direct.csm_op
            cache["norm"] = float(op.operator_norm(start, dim=None, max_iterations=20).max()) ** 2
        return recon.RegularizedIterativeSENSEReconstruction(
            kdata, **common, **more, regularization_weight=weight * cache["norm"]
        )
    if settings.get("relative"):
        weight = weight * float(cache["image"].abs().max())
    axes = (-2, -1) if kdata.header.encoding_matrix.z == 1 else (-3, -2, -1)
    return recon.TotalVariationRegularizedReconstruction(
        kdata,
        **common,
        regularization_dim=axes,
        regularization_weight=float(weight),
        max_iterations=settings.get("iters", 257),
    )


def reconstruct(a, settings, cache):
    if "kdata" not in cache:
        begin(a, cache)
    if settings["algorithm"] == "direct":
        image = cache["image"]
    else:
        image = made(settings, cache)(cache["kdata"]).data
    if cache["rss"] is not None:
        image = image * cache["rss"].reshape(image.shape)
    return from_mrpro(image, a.n)


if __name__ == "__main__":
    torch.set_num_threads(adapter.THREADS)
    with torch.inference_mode():
        adapter.loop(reconstruct)
