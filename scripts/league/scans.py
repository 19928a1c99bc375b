"""The league's scans: their list, and how each is simulated.

A scan is a folder: scan.h5 (ISMRMRD), kspace.npy [coils, readouts, samples], traj.npy [readouts, samples, axes] in
cycles per field of view, the same for BART (kspace, traj, maps), maps.npy [coils, x, y(, z)], truth.npy and
scan.json. Objects and k-space come from three simulators: `larmor phantom`, BART's `phantom -k`, and images of
voxels (SigPy's phantom, an MRI slice that matplotlib ships, smooth blobs), whose sums are taken by FINUFFT at
1e-12. Only the first is larmor's. The noise of a sample does not depend on R: a full grid of such samples has an
image of this SNR.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from metrics import support

sys.path.append(str(Path(__file__).resolve().parents[1] / "measure"))  # exact_scans and scenes, which need SciPy and h5py

COILS = 8
FULL = 1.5  # times as many readouts as Nyquist asks for, in the scans that prove the adapters
BLOBS = 14
BLOB_STD = 2.5  # voxels: at the edge of k-space such a blob has 4e-14 of its largest value


# ---- the list ----


def scan(name, source, traj, n, R, snr, seed=1, maps="own", level=0):
    """level: 0 in every selection, 1 not in --quick."""
    return {
        "name": name,
        "object": source,
        "traj": traj,
        "n": list(n),
        "R": R,
        "snr": snr,
        "seed": seed,
        "maps": maps,
        "level": level,
    }


def proofs():
    """Noiseless, full, smooth: a tool whose image is not the truth here is called in a wrong way."""
    return [
        scan("proof-golden", "blobs", "golden", (64, 64), 1 / FULL, 0, maps="given"),
        scan("proof-spiral", "blobs", "spiral", (64, 64), 1, 0, maps="given"),
        scan("proof-oblong", "blobs", "stars", (32, 32, 8), 1 / FULL, 0, maps="given"),
        scan("proof-koosh", "blobs", "koosh", (24, 24, 24), 1 / FULL, 0, maps="given"),
    ]


FLAT, SMALL, SOLID, STACK = (128, 128), (32, 32, 32), (48, 48, 48), (64, 64, 16)
SCANS = [  # object, trajectory, matrix, R, SNR, maps, level
    ("slice", "golden", FLAT, 3, 30, "own", 0),
    ("slice", "golden", FLAT, 1, 30, "given", 0),
    ("slice", "spiral", FLAT, 6, 5, "own", 0),
    ("bart", "golden", FLAT, 3, 5, "own", 0),
    ("sigpy", "spiral", FLAT, 3, 30, "given", 0),
    ("larmor-texture", "golden", FLAT, 1, 5, "given", 0),
    ("larmor-shepp-logan", "golden", FLAT, 6, 30, "own", 0),
    ("sigpy", "koosh", SMALL, 3, 30, "given", 0),
    ("sigpy", "koosh", SOLID, 3, 30, "given", 1),
    ("slice", "golden", FLAT, 6, 30, "own", 1),
    ("slice", "golden", (256, 256), 6, 5, "own", 1),
    ("slice", "spiral", FLAT, 1, 30, "own", 1),
    ("slice", "spiral", FLAT, 3, 5, "given", 1),
    ("bart", "golden", FLAT, 1, 30, "own", 1),
    ("bart", "spiral", FLAT, 6, 30, "given", 1),
    ("sigpy", "golden", FLAT, 6, 5, "own", 1),
    ("sigpy", "golden", FLAT, 1, 30, "own", 1),
    ("larmor-texture", "spiral", FLAT, 3, 30, "own", 1),
    ("larmor-shepp-logan", "spiral", FLAT, 3, 5, "own", 1),
    ("blobs", "golden", FLAT, 3, 5, "own", 1),
    ("sigpy", "koosh", SOLID, 6, 5, "given", 1),
    ("sigpy", "stars", STACK, 3, 30, "given", 1),
    ("larmor-texture", "koosh", SOLID, 3, 5, "given", 1),
    ("larmor-shepp-logan", "stars", STACK, 6, 30, "given", 1),
]


TRAJECTORIES = [  # of the survey: object, trajectory, matrix, maps
    ("slice", "golden", (64, 64), "own"),
    ("slice", "spiral", (64, 64), "own"),
    ("slice", "lines", (64, 64), "own"),
    ("sigpy", "koosh", (24, 24, 24), "given"),
]
SNRS = (20, 5, 50)  # the first is that whose times are taken


def survey():
    """Small scans of every kind of trajectory at three SNRs, R = 2."""
    return [(source, traj, n, 2, snr, maps, 0) for snr in SNRS for source, traj, n, maps in TRAJECTORIES]


def league(quick, seeds, listed=None):
    """Scans of the list, by default SCANS."""
    out = []
    for source, traj, n, R, snr, maps, level in listed or SCANS:
        for seed in seeds:
            if level == 0 or not quick:
                size = "x".join(map(str, n))
                out.append(
                    scan(
                        f"{source}-{traj}-{size}-R{R}-snr{snr}-{maps}-{seed}",
                        source,
                        traj,
                        n,
                        R,
                        snr,
                        seed,
                        maps,
                        level,
                    )
                )
    return out


# ---- objects of voxels ----


def grid(n):
    return np.meshgrid(*[(np.arange(m) - m // 2) / m for m in n], indexing="ij")


def blobs(n, rng):
    """Complex Gaussians at places without any symmetry."""
    image = np.zeros(n, complex)
    for _ in range(BLOBS):
        centre = rng.uniform(-0.22, 0.28, len(n))
        square = sum(((r - c) * m / BLOB_STD) ** 2 for r, c, m in zip(grid(n), centre, n))
        image += rng.uniform(0.3, 1) * np.exp(1j * rng.uniform(-1, 1)) * np.exp(-0.5 * square)
    return image


def mri_slice(n):
    """The head that matplotlib ships (mri_demo), averaged to n voxels, with a smooth phase."""
    import matplotlib.cbook

    with matplotlib.cbook.get_sample_data("s1045.ima.gz") as packed:
        data = packed.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    full = np.frombuffer(data, np.uint16).reshape(256, 256).astype(float).T
    f = 256 // n[0]
    image = full.reshape(n[0], f, n[1], f).mean((1, 3))
    x, y = grid(n)
    return image / image.max() * np.exp(1j * (1.2 * np.sin(2 * np.pi * (0.4 * x + 0.6 * y)) + x))


def voxels(scene, rng):
    """(object, coils) as images of voxels."""
    import sigpy
    import sigpy.mri

    n = tuple(scene["n"])
    if scene["object"] == "blobs":
        image = blobs(n, rng)
    elif scene["object"] == "slice":
        image = mri_slice(n)
    else:
        image = np.asarray(sigpy.shepp_logan(n), complex)
    maps = np.asarray(sigpy.mri.birdcage_maps((COILS, *n), nzz=4 if len(n) == 3 else 8))
    return image, maps


def sums(images, k):
    """1/N sum image exp(-2 pi i k r) of each image at k [points, axes] in cycles per field of view."""
    import finufft

    n = images.shape[1:]
    points = [np.ascontiguousarray(2 * np.pi * k[:, d] / n[d]) for d in range(len(n))]
    transform = finufft.nufft2d2 if len(n) == 2 else finufft.nufft3d2
    return transform(*points, np.ascontiguousarray(images, complex), eps=1e-12, isign=-1) / np.prod(n)


# ---- BART's files ----


def write_cfl(path, x):
    Path(f"{path}.hdr").write_text("# Dimensions\n" + " ".join(map(str, x.shape)) + "\n")
    np.asarray(x, np.complex64).ravel(order="F").tofile(f"{path}.cfl")


def read_cfl(path):
    sizes = [int(m) for m in Path(f"{path}.hdr").read_text().split("\n")[1].split()]
    return np.fromfile(f"{path}.cfl", np.complex64).reshape(sizes, order="F")


def cfl_traj(traj):
    points = np.zeros((3, traj.shape[1], traj.shape[0]))
    points[: traj.shape[2]] = traj.transpose(2, 1, 0)
    return points


def cfl_maps(maps):
    """[coils, x, y(, z)] as [x, y, z, coils]."""
    return np.moveaxis(maps if maps.ndim == 4 else maps[..., None], 0, -1)


# ---- simulators ----


def readouts(scene, rng):
    """A scan with its readouts, of which none has data."""
    from exact_scans import Scan
    from scenes import acquire

    s = Scan(tuple(scene["n"]), [], [None] * COILS)
    s.fov = tuple(2.0 * m for m in scene["n"])
    acquire(s, scene["traj"], scene["R"], rng)
    return s, np.array([r.k for r in s.readouts])


def by_voxels(scene, folder, rng):
    s, traj = readouts(scene, rng)
    image, maps = voxels(scene, rng)
    clean = sums(maps * image, traj.reshape(-1, traj.shape[2]))
    return s, traj, clean.reshape(COILS, *traj.shape[:2]), maps, image


def by_bart(scene, folder, rng):
    s, traj = readouts(scene, rng)
    n = scene["n"]
    at = str(folder / "bart_")
    write_cfl(at + "traj", cfl_traj(traj))
    for words in (
        ["-k", "-s", COILS, "-t", at + "traj", at + "kspace"],
        ["-S", COILS, "-x", n[0], at + "maps"],
        ["-k", "-x", n[0], at + "full"],
    ):
        subprocess.run(["bart", "phantom", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    clean = read_cfl(at + "kspace").squeeze().transpose(2, 1, 0)
    full = read_cfl(at + "full").squeeze()
    image = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(full))) * np.prod(n)
    return s, traj, clean.astype(complex), np.moveaxis(read_cfl(at + "maps").squeeze(), -1, 0), image


def read_ismrmrd(path):
    """(k-space [coils, readouts, samples], trajectory [readouts, samples, axes]); readouts are alike."""
    import h5py

    k, t = [], []
    with h5py.File(path, "r") as f:
        for a in f["dataset/data"][:]:
            head = a["head"]
            if int(head["flags"]) >> 18 & 1:  # noise
                continue
            k.append(a["data"].view(np.complex64).reshape(int(head["active_channels"]), -1))
            t.append(a["traj"].reshape(-1, int(head["trajectory_dimensions"])))
    return np.array(k).swapaxes(0, 1), np.array(t, float)


def by_larmor(scene, folder, larmor):
    words = [
        larmor,
        "phantom",
        "-o",
        folder / "scan.h5",
        "--traj",
        scene["traj"],
        "--matrix",
        ",".join(map(str, scene["n"])),
        "--undersampling",
        scene["R"],
        "--coils",
        COILS,
        "--phantom",
        scene["object"][len("larmor-") :],
        "--seed",
        scene["seed"],
        "--maps",
        folder / "maps.cfl",
        "--truth",
        folder / "truth.npy",
        "--force",
        "-q",
    ]
    words += ["--snr", scene["snr"]] if scene["snr"] else []
    subprocess.run([str(w) for w in words], check=True)
    kspace, traj = read_ismrmrd(folder / "scan.h5")
    image = np.load(folder / "truth.npy")
    maps = np.moveaxis(read_cfl(folder / "maps").reshape(*scene["n"], COILS), -1, 0)
    return (
        traj,
        kspace,
        maps,
        image.reshape(scene["n"][::-1]).T if image.shape[0] == 1 else image.reshape(scene["n"]),
    )


def simulate(scene, folder, larmor):
    """Make the scan's folder, unless it is there."""
    folder = Path(folder)
    if (folder / "scan.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([40, scene["seed"], sum(map(ord, scene["object"] + scene["traj"]))])
    if scene["object"].startswith("larmor-"):
        traj, kspace, maps, image = by_larmor(scene, folder, larmor)
    else:
        s, traj, clean, maps, image = (by_bart if scene["object"] == "bart" else by_voxels)(scene, folder, rng)
        kspace = clean + noise(scene, image, maps, clean.shape, rng)
        for r, y in zip(s.readouts, kspace.swapaxes(0, 1)):
            r.data = y
        from exact_scans import write

        write(folder / "scan.h5", s)
    save(folder, kspace, traj, maps, image)
    (folder / "scan.json").write_text(json.dumps(scene))


def noise(scene, image, maps, shape, rng):
    if not scene["snr"]:
        return 0
    shaded = abs(image) * np.sqrt((abs(maps) ** 2).sum(0))
    sigma = shaded[support(image)].mean() / scene["snr"] / np.sqrt(image.size)
    return sigma * (rng.normal(size=shape) + 1j * rng.normal(size=shape))


def save(folder, kspace, traj, maps=None, image=None):
    np.save(folder / "kspace.npy", kspace.astype(np.complex64))
    np.save(folder / "traj.npy", traj.astype(np.float32))
    write_cfl(folder / "kspace", kspace.transpose(2, 1, 0)[None])
    write_cfl(folder / "traj", cfl_traj(traj))
    if maps is not None:
        np.save(folder / "maps.npy", maps.astype(np.complex64))
        np.save(folder / "truth.npy", image.astype(np.complex64))
        write_cfl(folder / "maps", cfl_maps(maps))


# ---- real scans, of which nobody knows the truth ----

REAL = {"cardiac_radial25": (256, 256), "xe_kooshball_gas": (64, 64, 64)}


def real(name, source, folder):
    """A scan of shared data as a scan of the league without truth; its trajectory reaches half the matrix."""
    folder = Path(folder)
    n = REAL[name]
    scene = scan(name, "real", "as measured", n, 0, 0)
    if (folder / "scan.json").exists():
        return scene
    folder.mkdir(parents=True, exist_ok=True)
    kspace, traj = read_ismrmrd(source)
    traj = traj * (n[0] / 2 / abs(traj).max())
    save(folder, kspace, traj[..., : len(n)])
    if (folder / "scan.h5").is_symlink():
        os.unlink(folder / "scan.h5")
    os.symlink(Path(source).resolve(), folder / "scan.h5")
    (folder / "scan.json").write_text(json.dumps(scene))
    return scene
