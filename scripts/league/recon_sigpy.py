"""SigPy's reconstruction of a scan of the league.

Settings: app (sense, wavelet, tv), lamda (in units of the image's largest magnitude after 10 iterations of CG),
iters. SigPy's coordinates are in cycles per field of view, in the order of the image's axes; its transform has
exp(-2 pi i k r).

SPDX-License-Identifier: Apache-2.0
"""

import adapter
import numpy as np
import sigpy.mri.app as app

QUICK_ITERS = 10  # of the image that the scale is taken from
APPS = {"sense": app.SenseRecon, "wavelet": app.L1WaveletRecon, "tv": app.TotalVariationRecon}


def maps_of(a):
    """Those given, or JSENSE's, which needs no Cartesian grid."""
    if a.maps is not None:
        return a.maps
    return app.JsenseRecon(a.kspace, coord=a.traj, img_shape=a.n, show_pbar=False).run()


def reconstruct(a, settings, cache):
    if "maps" not in cache:
        cache["maps"] = maps_of(a)
    maps = cache["maps"]
    common = {"coord": a.traj, "show_pbar": False}
    if "iters" in settings:
        common["max_iter"] = settings["iters"]
    if settings["app"] == "sense" and not settings.get("lamda"):
        return app.SenseRecon(a.kspace, maps, **common).run() * adapter.rss(maps)
    if "scale" not in cache:
        quick = app.SenseRecon(a.kspace, maps, coord=a.traj, show_pbar=False, max_iter=QUICK_ITERS).run()
        cache["scale"] = abs(quick).max()
    y = a.kspace / cache["scale"]
    return APPS[settings["app"]](y, maps, lamda=settings["lamda"], **common).run() * adapter.rss(maps)


if __name__ == "__main__":
    np.seterr(all="ignore")
    adapter.loop(reconstruct)
