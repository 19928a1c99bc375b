"""The backend "larmor" of mri-nufft: importing this module registers it.

    import larmor.mrinufft
    from mrinufft import get_operator
    A = get_operator("larmor")(samples, shape, n_coils=8)

One plan serves both directions. On the processor. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mrinufft._array_compat import _array_to_numpy
from mrinufft._utils import proper_trajectory
from mrinufft.operators.base import FourierOperatorCPU, _ToggleGradPlanMixin

from larmor import _scan, linop, nufft

__all__ = ["MRILarmor"]


class _Plans:
    """What mri-nufft calls a raw operator: transforms of n_trans arrays, without scaling."""

    def __init__(self, samples: Any, shape: tuple[int, ...], n_trans: int = 1, eps: float = 1e-6,
                 **options: Any) -> None:
        self.shape, self.n_trans = tuple(shape), n_trans
        self.dtype = np.complex64 if samples.dtype == np.float32 else np.complex128
        self.options = {**options, "batch": n_trans, "dtype": self.dtype, "units": "radians"}
        least = nufft.least_tol(2, self.shape, **{k: v for k, v in self.options.items() if k != "units"})
        self.options["tol"] = max(float(eps), least)
        self.samples = samples
        self.plan = nufft.Plan(2, self.shape, both_directions=True, **self.options).set_points(samples)
        self.other: nufft.Plan | None = None  # with the opposite sign, for gradients of the trajectory

    def set_points(self, samples: Any) -> None:
        self.samples = samples
        self.plan.set_points(samples)
        self.other = None

    def op(self, coeffs: Any, image: Any) -> Any:
        """Image to k-space, written to coeffs."""
        x: Any = np.reshape(image, (self.n_trans, *self.shape))
        coeffs[...] = self.plan.execute(x).reshape(coeffs.shape)
        return coeffs

    def adj_op(self, coeffs: Any, image: Any) -> Any:
        """k-space to image, written to image."""
        y: Any = np.reshape(coeffs, (self.n_trans, len(self.samples)))
        image[...] = self.plan.adjoint(y).reshape(image.shape)
        return image

    def toggle_grad_traj(self) -> None:
        """Change the sign of the exponent."""
        other = self.other
        if other is None:
            sign = 1 if self.plan.sign == -1 else -1
            other = nufft.Plan(2, self.shape, sign=sign, **self.options).set_points(self.samples)
        self.plan, self.other = other, self.plan


class MRILarmor(FourierOperatorCPU, _ToggleGradPlanMixin):  # type: ignore[misc]
    """MRI's Fourier operator on larmor. Arguments as of mri-nufft's other backends; eps is the tolerance, and the
    others are those of larmor.nufft.Plan."""

    backend = "larmor"
    available = True
    autograd_available = True

    def __init__(self, samples: Any, shape: tuple[int, ...], density: Any = False, n_coils: int = 1,
                 n_batchs: int = 1, n_trans: int = 1, smaps: Any = None, squeeze_dims: bool = True,
                 **options: Any) -> None:
        points = self._points(samples)
        super().__init__(points, shape, density, n_coils=n_coils, n_batchs=n_batchs, n_trans=n_trans, smaps=smaps,
                         raw_op=_Plans(points, tuple(shape), n_trans, **options), squeeze_dims=squeeze_dims)

    @staticmethod
    def _points(samples: Any) -> Any:
        return np.ascontiguousarray(_array_to_numpy(proper_trajectory(samples, normalize="pi")))

    def update_samples(self, new_samples: Any, unsafe: bool = False) -> None:
        """Take another trajectory; unsafe: it is in radians already."""
        self._samples = new_samples if unsafe else self._points(new_samples)
        self.raw_op.set_points(np.ascontiguousarray(_array_to_numpy(self._samples)))
        self.compute_density(self._density_method)

    def gram_op(self, image: Any) -> Any:
        """A^H W A of images [..., *shape], W the density, without coils: one convolution instead of two NUFFTs."""
        x = np.asarray(image, self.cpx_dtype)
        batch = math.prod(x.shape[:x.ndim - self.ndim])
        cycles = self.samples * (np.array(self.shape) / (2 * np.pi))
        density = None if self.density is None else np.asarray(self.density, np.float64)
        made = linop.toeplitz(cycles, self.shape, weights=density, batch=batch, dtype=self.cpx_dtype,
                              tol=self.raw_op.options["tol"])
        return (made @ x.reshape(batch, *self.shape)).reshape(x.shape) / self.norm_factor**2

    @classmethod
    def pipe(cls, kspace_loc: Any, volume_shape: Any, max_iter: int = 10, osf: float = 2, normalize: bool = True,
             **options: Any) -> Any:
        """Pipe and Menon's density weights; osf does not matter, as larmor's kernel has a width of its own."""
        points = cls._points(kspace_loc)
        shape = tuple(int(n) for n in volume_shape)
        cycles = points * (np.array(shape) / (2 * np.pi))
        weights = _scan.density(cycles[None], shape, "pipe", iterations=max_iter)[0].astype(points.dtype)
        if normalize:
            test = cls(points, shape, **options)
            ones = np.ones(shape, test.cpx_dtype)
            weights = weights / np.mean(np.abs(test.adj_op(weights * test.op(ones))))
        return weights.squeeze()
