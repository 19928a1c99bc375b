"""Errors of the league's images: NRMSE within the object and outside it, SSIM, and shifts.

Images are arrays of two or three axes; voxel i of an axis of n voxels lies at (i - n // 2) / n fields of view.

SPDX-License-Identifier: Apache-2.0
"""

import numpy as np

EDGE = 0.05  # of the largest magnitude: voxels above it, and those around them, are the object
AROUND = 2  # voxels on each side
SSIM_STD = 1.5  # of the Gaussian window in voxels, Wang et al., IEEE Trans. Image Process. 13, 600 (2004)
SSIM_K1, SSIM_K2 = 0.01, 0.03  # of the same paper


def shifted_max(mask):
    """The mask and all that lies at most AROUND voxels from it along the axes."""
    for axis in range(mask.ndim):
        mask = np.any([np.roll(mask, s, axis) for s in range(-AROUND, AROUND + 1)], axis=0)
    return mask


def support(truth):
    """The voxels of the object: those above EDGE of the largest magnitude, and AROUND voxels more."""
    magnitude = abs(truth)
    return shifted_max(magnitude > EDGE * magnitude.max())


def scaled(image, truth, magnitude, mask):
    """The image times the factor at which it is nearest to the truth within the mask, and the truth."""
    if magnitude:
        image, truth = abs(image), abs(truth)
    power = np.vdot(image[mask], image[mask]).real
    factor = np.vdot(image[mask], truth[mask]) / power if power else 0
    return factor * image, truth


def smooth(image):
    """By a normalised Gaussian window, along each axis; its edges are repeated."""
    reach = int(3.5 * SSIM_STD + 0.5)
    window = np.exp(-0.5 * (np.arange(-reach, reach + 1) / SSIM_STD) ** 2)
    window /= window.sum()
    for axis in range(image.ndim):
        wide = np.pad(image, [(reach, reach) if a == axis else (0, 0) for a in range(image.ndim)], mode="edge")
        image = sum(w * np.take(wide, range(i, i + image.shape[axis]), axis) for i, w in enumerate(window))
    return image


def ssim(image, truth):
    """The mean structural similarity of magnitudes, whose range is the truth's largest magnitude."""
    x, y = abs(image), abs(truth)
    c1, c2 = (SSIM_K1 * y.max()) ** 2, (SSIM_K2 * y.max()) ** 2
    mx, my = smooth(x), smooth(y)
    vx, vy, cov = smooth(x * x) - mx * mx, smooth(y * y) - my * my, smooth(x * y) - mx * my
    return float(np.mean((2 * mx * my + c1) * (2 * cov + c2) / ((mx * mx + my * my + c1) * (vx + vy + c2))))


def errors(image, truth, magnitude=False):
    """{"inside", "outside", "ssim"}: errors relative to the truth's norm, after the best factor within the object.

    magnitude: of magnitudes, for images whose phase is that of maps from the data.
    """
    if image.shape != truth.shape:
        raise ValueError(f"image: got {image.shape}, expected {truth.shape} as the truth")
    if not np.all(np.isfinite(image)):
        return {"inside": float("inf"), "outside": float("inf"), "ssim": 0.0}
    image, truth = image.astype(complex), truth.astype(complex)  # whose squares single precision may not hold
    mask = support(truth)
    x, y = scaled(image, truth, magnitude, mask)
    norm = np.linalg.norm(y)
    return {
        "inside": float(np.linalg.norm((x - y)[mask]) / norm),
        "outside": float(np.linalg.norm((x - y)[~mask]) / norm),
        "ssim": ssim(x, y),
    }


def spectrum(image):
    return np.fft.fftshift(np.fft.fftn(np.fft.ifftshift(image)))


def shift(image, truth):
    """How far the image is shifted from the truth along each axis, in voxels: by the phase between their spectra.

    Of voxel pairs of the spectrum's middle third, by their power; right for shifts of less than a voxel or two.
    """
    cross = spectrum(image) * spectrum(truth).conj()
    middle = tuple(slice(n // 2 - n // 6, n // 2 + n // 6 + 1) for n in cross.shape)
    cross = cross[middle]
    found = []
    for axis, n in enumerate(image.shape):
        size = cross.shape[axis]
        step = np.take(cross, range(1, size), axis) * np.take(cross, range(size - 1), axis).conj()
        found.append(float(-np.angle(step.sum()) * n / (2 * np.pi)))
    return found


def turns(ndim):
    """(name, function) of the ways in which an image's axes may be reversed or exchanged, as it is first."""
    ways = [("as it is", lambda x: x), ("conjugated", np.conj)]
    for axis in range(ndim):
        ways.append(
            (f"axis {axis} reversed", lambda x, axis=axis: np.roll(np.flip(x, axis), 1 - x.shape[axis] % 2, axis))
        )
    for a in range(ndim):
        for b in range(a):
            ways.append((f"axes {b} and {a} exchanged", lambda x, a=a, b=b: np.swapaxes(x, a, b)))
    return ways


def orientation(image, truth):
    """(name, error) of the way in which the image is nearest to the truth."""
    tried = [
        (errors(way(image), truth)["inside"], name)
        for name, way in turns(truth.ndim)
        if way(image).shape == truth.shape
    ]
    error, name = min(tried)
    return name, error
