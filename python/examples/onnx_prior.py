"""
A network of ONNX as a prior
============================

A small residual network learns to take noise from patches of phantoms (PyTorch), is written as a file of ONNX, and
reconstructs a scan by ONNX Runtime in the place of a penalty. ``main("network.onnx")`` takes a network that is there:
its input and output are real numbers [1, 3, y, x] and [1, 2, y, x], the real part, the imaginary part and sigma, all
over the largest magnitude, and the noise. SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import tempfile

import numpy as np
import onnxruntime

import larmor
from larmor import prior

SHAPE, COILS, SPOKES = (48, 48), 4, 17


def denoiser_of(path):
    """The network of a file, as larmor takes it: channels in, noise out."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def noise(channels, sigma):
        unit = max(float(np.percentile(np.hypot(*channels), 99.5)), 1e-30)  # networks know images of one size
        level = np.full((1, *channels.shape[1:]), sigma / unit, np.float32)
        found = session.run(None, {name: np.concatenate([channels / unit, level])[None].astype(np.float32)})[0]
        return unit * found[0]

    return prior.Function(noise, form="channels", residual=True, name="network")


def train(path, steps=300, features=24, seed=0):
    """A network in a file, trained on turned phantoms with noise of many levels."""
    import torch

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layers = [torch.nn.Conv2d(3, features, 3, padding=1), torch.nn.ReLU()]
            for _ in range(3):
                layers += [torch.nn.Conv2d(features, features, 3, padding=1), torch.nn.ReLU()]
            self.layers = torch.nn.Sequential(*layers, torch.nn.Conv2d(features, 2, 3, padding=1))

        def forward(self, x):
            return self.layers(x)

    def batch(count=8):
        clean = [larmor.phantom(SHAPE, degrees=float(rng.uniform(0, 180)), size=float(rng.uniform(0.6, 1)))
                 for _ in range(count)]
        image = np.stack(clean) * np.exp(2j * np.pi * rng.uniform(size=(count, 1, 1)))
        image = image / abs(image).max(axis=(1, 2), keepdims=True)
        sigma = np.exp(rng.uniform(np.log(0.01), np.log(0.3), size=(count, 1, 1)))
        noise = sigma * (rng.normal(size=image.shape) + 1j * rng.normal(size=image.shape))
        noisy = image + noise
        given = np.stack([noisy.real, noisy.imag, np.broadcast_to(sigma, image.shape)], 1).astype(np.float32)
        wanted = np.stack([noise.real, noise.imag], 1).astype(np.float32)
        return torch.from_numpy(given), torch.from_numpy(wanted), torch.from_numpy(sigma.astype(np.float32))[:, None]

    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)
    for _ in range(steps):
        given, wanted, sigma = batch()
        loss = (((network(given) - wanted) / sigma) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    torch.onnx.export(network, torch.zeros(1, 3, *SHAPE), str(path), input_names=["image"], dynamo=False)
    return float(loss.detach())


def main(path=None, steps=300):
    """Errors of the image by cg and of that with the network, of an object that was not in its training."""
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = pathlib.Path(folder, "network.onnx")
            print(f"trained: {train(path, steps):.3f} of the noise is left")
        traj = larmor.traj("golden", SHAPE, readouts=SPOKES)
        kspace = larmor.phantom_kspace(traj, coils=COILS, noise=3e-4, degrees=77.0).astype(np.complex64)
        scan, maps = larmor.ScanArrays(kspace, traj, SHAPE), larmor.phantom_coils(SHAPE, COILS)
        truth = larmor.phantom(SHAPE, degrees=77.0)
        errors = []
        for options in ({"method": "cg"}, {"prior": denoiser_of(path)}):
            image = larmor.recon(scan, maps=maps, device="cpu", **options).images[0]
            errors.append(float(np.linalg.norm(image - truth) / np.linalg.norm(truth)))
    print(f"error of cg {errors[0]:.3f}, with the network {errors[1]:.3f}")
    return errors


if __name__ == "__main__":
    main()
