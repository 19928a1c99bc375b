"""
Samples of what the image may be, by preconditioned Langevin steps
==================================================================

A step goes along the gradient of the logarithm of the posterior density and adds noise, both preconditioned by
(A^H A / eta^2 + 1 / s^2)^-1, eta the deviation of the noise: larmor's conjugate gradients. Steps are then as long in
the directions that few samples tell of as in the others. The gradient of the prior is that of a denoiser, by
Tweedie's formula (D(x, sigma) - x) / sigma^2.
Source: Blumenthal et al., arXiv:2512.05791 (2025). SPDX-License-Identifier: Apache-2.0
"""

import numpy as np

import larmor
from larmor import linop, prior, solve

SHAPE, COILS, SPOKES = (24, 24), 4, 11


def scan(deviation, seed=1):
    """The operator, the samples and the object, whose k-space is the sum over its voxels."""
    traj = larmor.traj("golden", SHAPE, readouts=SPOKES, samples=48)
    A = linop.sense(larmor.phantom_coils(SHAPE, COILS), traj)
    truth = larmor.phantom(SHAPE).astype(np.complex64)
    clean = A @ truth
    return A, clean + solve.noise(clean.shape, deviation, seed=seed), truth


def normal(rng, shape):
    """Independent complex numbers, of deviation 1 of the real and of the imaginary part."""
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)


def stacked(A, eta, s):
    """B = [A / eta, 1 / s], so that B^H B is the inverse of the preconditioner, and B^H of noise has its
    covariance."""
    m, n = int(np.prod(A.out_shape)), int(np.prod(A.in_shape))

    def forward(x):
        return np.concatenate([(A @ x).ravel() / eta, x.ravel() / s]).astype(np.complex64)

    def adjoint(y):
        return A.H @ y[:m].reshape(A.out_shape) / eta + y[m:].reshape(A.in_shape) / s

    return linop.Function(forward, adjoint, A.in_shape, (m + n,))


def langevin(A, y, score, *, eta, s, steps, step=0.1, burn=50, seed=1):
    """Samples x of exp(-|A x - y|^2 / (2 eta^2)) p(x), score(x) the gradient of log p; [steps - burn, image...].

    step  1 would go to the mode of a Gaussian posterior at once; samples of one have 1 / (1 - step / 2) times its
          variance, and forget where they were after some 1 / step steps.
    """
    rng = np.random.default_rng(seed)
    B, x, kept = stacked(A, eta, s), np.zeros(A.in_shape, np.complex64), []
    for k in range(steps):
        pull = np.concatenate([(y - A @ x).ravel() / eta, s * score(x).ravel()])
        moved, _ = solve.cg(B, (step * pull + np.sqrt(2 * step) * normal(rng, pull.shape)).astype(np.complex64),
                            iterations=30, tol=1e-3)
        x = x + moved
        if k >= burn:
            kept.append(x)
    return np.stack(kept)


def of_denoiser(denoiser, sigma):
    """The gradient of the logarithm of a density that was blurred by sigma, which a denoiser knows (Tweedie)."""
    return lambda x: (denoiser(x, sigma) - x) / sigma**2


def main(steps=200):
    """The mean of samples, and their deviations, with total variation as the denoiser."""
    eta = 0.05 * np.sqrt(np.prod(SHAPE)) / 24
    A, y, truth = scan(eta)
    sigma = 0.05
    samples = langevin(A, y, of_denoiser(prior.named("tv", 0.5), sigma), eta=eta, s=sigma, steps=steps)
    mean, deviation = samples.mean(0), samples.std(0) / np.sqrt(2)
    plain, _ = solve.cg(A, y, lam=eta**2, iterations=50)
    error = np.linalg.norm(mean - truth) / np.linalg.norm(truth)
    before = np.linalg.norm(plain - truth) / np.linalg.norm(truth)
    print(f"error of cg {before:.3f}, of the mean of {len(samples)} samples {error:.3f}; deviations from "
          f"{deviation.min():.3f} to {deviation.max():.3f}")
    return before, error, deviation


if __name__ == "__main__":
    main()
