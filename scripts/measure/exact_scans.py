"""Scans with exact k-space, for the programs beside this file: ellipses, ellipsoids and Gaussians, coils that are sums of
plane waves, readouts, and ISMRMRD files.

Lengths are in fields of view and spatial frequencies in cycles per field of view. k-space is the Fourier integral of the
object times the coils; nothing is put on a grid on the way. Needs NumPy, SciPy and h5py.
SPDX-License-Identifier: Apache-2.0
"""
import h5py
import numpy as np
from scipy.special import j1

NOISE, REVERSE, NAVIGATION, PHASECORR, CALIB, CALIB_IMAGING, DUMMY = 19, 22, 23, 24, 20, 21, 27
BLOCK = 8192  # samples that are integrated at a time
RING_FREQUENCY = 0.45  # of a coil of ring_coils, in cycles per field of view


# ---- objects: lists of ellipsoids (amplitude, centre, half axes, angle about z in degrees) and of Gaussians
# (amplitude, centre, standard deviation), lengths in fields of view ----

def shepp():
    return [(1, (0, 0, 0), (.345, .46, .4), 0), (-.8, (0, -.009, 0), (.331, .437, .38), 0),
            (-.2, (.11, 0, 0), (.055, .155, .2), -18), (-.2, (-.11, 0, 0), (.08, .205, .2), 18),
            (.3, (0, .175, 0), (.105, .125, .15), 0), (.3, (0, .05, 0), (.03, .03, .03), 0),
            (.3, (-.04, -.3, 0), (.03, .02, .03), 0), (.4, (.03, -.3, 0), (.02, .03, .03), 20)]


def brain(rng):
    e = [(1, (.01, .02, 0), (.36, .42, .38), 5), (-.45, (.01, .03, 0), (.31, .37, .33), 5)]
    for _ in range(9):
        size = rng.uniform(.03, .11, 3)
        e.append((rng.uniform(-.3, .5), tuple(rng.uniform(-.2, .2, 3)), tuple(size), rng.uniform(0, 180)))
    return e


def bottles(rng):
    e = []
    for i in range(5):
        a = 2 * np.pi * i / 5 + rng.uniform(0, .4)
        e.append((rng.uniform(.4, 1), (.24 * np.cos(a), .24 * np.sin(a), .1 * np.sin(2 * a)), (.09, .09, .3), 0))
    return e + [(.7, (.02, -.03, .05), (.07, .1, .2), 30)]


def vessels(rng):
    e = [(.15, (0, 0, 0), (.4, .36, .35), 0)]
    for _ in range(14):
        e.append((rng.uniform(.5, 1.5), tuple(rng.uniform(-.25, .25, 3)),
                  (rng.uniform(.012, .03), rng.uniform(.04, .15), .1), rng.uniform(0, 180)))
    return e


def phased(rng):
    """Parts with phases of their own."""
    return [(A * np.exp(1j * rng.uniform(-1, 1)), c, r, t) for A, c, r, t in brain(rng)]


OBJECTS = {"shepp": lambda rng: shepp(), "brain": brain, "bottles": bottles, "vessels": vessels, "phased": phased}


def moved(e, shift=(0, 0, 0), turn=0.0, scale=1.0):
    """The object turned about z (degrees), scaled and shifted (fields of view)."""
    c, s = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))

    def place(p):
        return (scale * (c * p[0] - s * p[1]) + shift[0], scale * (s * p[0] + c * p[1]) + shift[1],
                scale * p[2] + shift[2])
    return [(A, place(p), tuple(scale * r for r in h[0]), h[1] + turn) if len(h) == 2 else (A, place(p), scale * h[0])
            for A, p, *h in e]


def profile(k, part):
    """Fourier integral at k [..., nd] of an ellipse, ellipsoid or Gaussian that lies in the centre, of amplitude 1."""
    if len(part) == 3:
        s = part[2]
        return (2 * np.pi * s * s) ** (k.shape[-1] / 2) * np.exp(-2 * (np.pi * s) ** 2 * (k * k).sum(-1))
    h, t = part[2:]
    c, s = np.cos(np.deg2rad(t)), np.sin(np.deg2rad(t))
    u, v = (k[..., 0] * c + k[..., 1] * s) * h[0], (-k[..., 0] * s + k[..., 1] * c) * h[1]
    q = u * u + v * v + ((k[..., 2] * h[2]) ** 2 if k.shape[-1] == 3 else 0)
    q = np.maximum(2 * np.pi * np.sqrt(q), 1e-3)
    if k.shape[-1] == 2:
        return h[0] * h[1] * 2 * np.pi * j1(q) / q
    return 4 * np.pi * h[0] * h[1] * h[2] * (np.sin(q) - q * np.cos(q)) / q**3


def integral(k, e):
    """Fourier integral at k [..., nd] in cycles per field of view."""
    y = np.zeros(k.shape[:-1], complex)
    for part in e:
        p = part[1]
        y += part[0] * profile(k, part) * np.exp(-2j * np.pi * sum(k[..., d] * p[d] for d in range(k.shape[-1])))
    return y


def signals(k, e, waves):
    """The coils' samples [coils, ...] at k [..., nd]: each frequency that the coils have is integrated once."""
    shifts = sorted({tuple(q) for w in waves for _, q in w})
    at = {q: i for i, q in enumerate(shifts)}
    weight = np.zeros((len(waves), len(shifts)), complex)
    for c, w in enumerate(waves):
        for a, q in w:
            weight[c, at[tuple(q)]] += a
    used = [q for q in shifts if abs(weight[:, at[q]]).max() > 0]
    y = np.zeros((len(used), *k.shape[:-1]), complex)
    for part in e:
        p = np.array(part[1][: k.shape[-1]])
        phase = part[0] * np.exp(-2j * np.pi * (k @ p))
        for i, q in enumerate(used):
            y[i] += profile(k - q, part) * (np.exp(2j * np.pi * np.dot(q, p)) * phase)
    return np.tensordot(weight[:, [at[q] for q in used]], y, 1)


def coils(count, nd, rng):
    """Each a sum of plane waves (amplitude, cycles per field of view): sensitive towards one side, with a phase."""
    out = []
    for c in range(count):
        if count == 1:
            out.append([(1.0 + 0j, np.zeros(nd))])
            continue
        a = 2 * np.pi * (c + .2) / count + rng.normal(0, .1)
        way = np.array([np.cos(a), np.sin(a), .8 * np.cos(2.4 * a)])[:nd]
        phase = np.exp(1j * rng.uniform(-np.pi, np.pi))
        waves = [(phase * .55, np.zeros(nd))]
        for d in range(nd):
            q = np.zeros(nd)
            q[d] = .4
            g = .55 * way[d] + .04 * rng.normal() + .1j * rng.normal()
            waves += [(phase * g / 2j, q), (-phase * g / 2j, -q)]
            h = .1 * rng.normal() + .25j * way[(d + 1) % nd]
            waves += [(phase * h / 2, .8 * q), (phase * h / 2, -.8 * q)]
        out.append(waves)
    return out


def ring_coils(count, nd, rng):
    """Coils around the object, each a product of 1 + cos over the axes, about a complex centre that gives it a phase."""
    out = []
    for c in range(count):
        if count == 1:
            return [[(1.0 + 0j, np.zeros(nd))]]
        a, z = 2 * np.pi * (c + rng.uniform(0, .5)) / count, 1 - 2 * (c + .5) / count
        way = np.array([np.cos(a), np.sin(a)]) if nd == 2 else np.array(
            [np.sqrt(1 - z * z) * np.cos(2.4 * c), np.sqrt(1 - z * z) * np.sin(2.4 * c), z])
        centre = .55 * way + .12j * np.roll(way, 1) * np.where(np.arange(nd) == 0, -1, 1)
        waves = [(.3 * 2.0 ** nd * np.exp(1j * rng.uniform(-np.pi, np.pi)), np.zeros(nd))]
        for d in range(nd):
            f = np.where(np.arange(nd) == d, RING_FREQUENCY, 0.0)
            turn = np.exp(-2j * np.pi * RING_FREQUENCY * centre[d])
            waves = [(w * g, q + s * f) for w, q in waves for g, s in ((.5, 0), (.25 * turn, 1), (.25 / turn, -1))]
        out.append(waves)
    return out


def coil_images(waves, n):
    r = np.meshgrid(*[(np.arange(m) - m // 2) / m for m in n], indexing="ij")
    return np.array([sum(a * np.exp(2j * np.pi * sum(q[d] * r[d] for d in range(len(n)))) for a, q in w)
                     for w in waves])


def truth(e, waves, n):
    k = np.stack(np.meshgrid(*[np.arange(m) - m // 2 for m in n], indexing="ij"), -1).astype(float)
    image = np.fft.fftshift(np.fft.ifftn(np.fft.ifftshift(integral(k, e)))) * np.prod(n)
    return image * np.sqrt((abs(coil_images(waves, n)) ** 2).sum(0))


# ---- scans ----

class Readout:
    """k: where it is sampled; said: what the file says, in cycles per field of view, or None; idx: counters."""

    def __init__(self, k, said=None, idx=None, flags=(), **head):
        self.k, self.said, self.idx, self.flags, self.head = k, said, dict(idx or {}), list(flags), head
        self.object, self.data = None, None


class Scan:
    """What is needed to write a file, and what is true."""

    def __init__(self, n, e, waves, **more):
        self.n, self.e, self.waves = tuple(n), e, waves
        self.fov = (256.0,) * 2 + ((256.0,) if len(n) == 3 else ())
        self.unit, self.type, self.readouts, self.noise_scan = "1/fov", "other", [], 0
        self.encoded, self.encoded_fov, self.limits, self.args = None, None, {}, []
        self.maps, self.parallel, self.after, self.snr = None, "", [], None
        self.bandwidth = ""  # the header's element on the bandwidth of noise
        self.sigma, self.correlation = None, .15  # of the noise: std of a complex sample (None: by snr); between coils
        self.disc = True
        self.__dict__.update(more)

    def nd(self):
        return len(self.n)


def sample(scan, seed):
    """Fill the readouts with data of where and when they are really sampled."""
    rng = np.random.default_rng(seed)
    sigma = scan.sigma
    if scan.snr and sigma is None:
        total = sum(len(r.k) for r in scan.readouts)
        mean = np.sqrt(np.mean(abs(scan.truth) ** 2)) * 2
        sigma = mean / scan.snr / np.sqrt(np.prod(scan.n)) * np.sqrt(max(1, total / np.prod(scan.n)))
    sigma = sigma or 0.0
    mix = np.eye(len(scan.waves)) + scan.correlation * rng.normal(size=(len(scan.waves),) * 2)

    def noise(samples):
        shape = (len(scan.waves), samples)
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)) * sigma / np.sqrt(2)
    still = [r for r in scan.readouts if r.object is None]
    places = np.cumsum([0] + [len(r.k) for r in still])
    k = np.concatenate([r.k for r in still]) if still else np.zeros((0, scan.nd()))
    clean = np.concatenate([signals(k[i:i + BLOCK], scan.e, scan.waves) for i in range(0, max(len(k), 1), BLOCK)], 1)
    for r, i, j in zip(still, places, places[1:], strict=False):
        r.data = clean[:, i:j]
    for r in scan.readouts:
        if r.object is not None:
            r.data = signals(r.k, r.object, scan.waves)
        own = noise(len(r.k))
        r.data = r.data + (mix @ own if scan.noise_scan else own)
    if scan.noise_scan:
        for i in range(scan.noise_scan):
            samples = len(scan.readouts[-1].k)
            r = Readout(np.zeros((samples, scan.nd())), None, {}, [NOISE])
            r.data = mix @ noise(samples)
            scan.readouts.insert(i, r)
    for f in scan.after:
        f(scan)


def units(scan, said):
    n, fov = np.array(scan.encoded or scan.n)[: said.shape[-1]], np.array(scan.encoded_fov or scan.fov)[: said.shape[-1]]
    factor = {"1/fov": n / n, "norm": 1 / n, "pm1": 2 / n, "rad": 2 * np.pi / n, "1/m": 1000 / fov,
              "rad/m": 2000 * np.pi / fov, "1/mm": 1 / fov}[scan.unit]
    return said * factor * getattr(scan, "wrong_unit", 1)


def header(scan):
    three = lambda v, last: tuple(v) + ((last,) if len(v) == 2 else ())
    space = lambda t, n, fov: (
        f"<{t}><matrixSize><x>{n[0]}</x><y>{n[1]}</y><z>{n[2]}</z></matrixSize><fieldOfView_mm><x>{fov[0]}</x>"
        f"<y>{fov[1]}</y><z>{fov[2]}</z></fieldOfView_mm></{t}>")
    limits = "".join(f"<{t}><minimum>{a}</minimum><maximum>{b}</maximum><center>{c}</center></{t}>"
                     for t, (a, b, c) in sorted(scan.limits.items()))
    n = three(getattr(scan, "header_n", scan.n), 1)
    fov = three(getattr(scan, "header_fov", scan.fov), 5.0)
    en = three(scan.encoded, 1) if scan.encoded else n
    efov = three(scan.encoded_fov, 5.0) if scan.encoded_fov else fov
    return ('<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><acquisitionSystemInformation>'
            f"{scan.bandwidth}<receiverChannels>{len(scan.waves)}</receiverChannels></acquisitionSystemInformation>"
            "<experimentalConditions><H1resonanceFrequency_Hz>123200000</H1resonanceFrequency_Hz>"
            f"</experimentalConditions><encoding>{space('encodedSpace', en, efov)}{space('reconSpace', n, fov)}"
            f"<encodingLimits>{limits}</encodingLimits><trajectory>{scan.type}</trajectory>{scan.parallel}</encoding>"
            "</ismrmrdHeader>")


IDX = ["kspace_encode_step_1", "kspace_encode_step_2", "average", "slice", "contrast", "phase", "repetition", "set",
       "segment"]
HEAD = np.dtype([
    ("version", "<u2"), ("flags", "<u8"), ("measurement_uid", "<u4"), ("scan_counter", "<u4"),
    ("acquisition_time_stamp", "<u4"), ("physiology_time_stamp", "<u4", (3,)), ("number_of_samples", "<u2"),
    ("available_channels", "<u2"), ("active_channels", "<u2"), ("channel_mask", "<u8", (16,)),
    ("discard_pre", "<u2"), ("discard_post", "<u2"), ("center_sample", "<u2"), ("encoding_space_ref", "<u2"),
    ("trajectory_dimensions", "<u2"), ("sample_time_us", "<f4"), ("position", "<f4", (3,)),
    ("read_dir", "<f4", (3,)), ("phase_dir", "<f4", (3,)), ("slice_dir", "<f4", (3,)),
    ("patient_table_position", "<f4", (3,)), ("idx", np.dtype([(i, "<u2") for i in IDX] + [("user", "<u2", (8,))])),
    ("user_int", "<i4", (8,)), ("user_float", "<f4", (8,))])


def write(path, scan):
    vlen = h5py.vlen_dtype(np.dtype("<f4"))
    rows = np.zeros(len(scan.readouts), np.dtype([("head", HEAD), ("traj", vlen), ("data", vlen)]))
    for i, r in enumerate(scan.readouts):
        h = rows[i]["head"]
        h["version"], h["scan_counter"], h["acquisition_time_stamp"] = 1, i, 1000 + 2 * i
        h["number_of_samples"], h["available_channels"], h["active_channels"] = r.data.shape[1], *[r.data.shape[0]] * 2
        h["sample_time_us"], h["center_sample"] = 4, r.data.shape[1] // 2
        h["read_dir"], h["phase_dir"], h["slice_dir"] = (1, 0, 0), (0, 1, 0), (0, 0, 1)
        for f in r.flags:
            h["flags"] |= np.uint64(1 << (f - 1))
        for key, v in r.idx.items():
            h["idx"][key] = v
        for key, v in r.head.items():
            h[key] = v
        t = np.zeros(0, np.float32)
        if r.said is not None:
            h["trajectory_dimensions"] = r.said.shape[1]
            t = units(scan, r.said).astype("<f4").ravel()
        rows[i]["traj"] = t
        rows[i]["data"] = r.data.astype(np.complex64).ravel().view("<f4")
    with h5py.File(path, "w") as f:
        g = f.create_group("dataset")
        g.create_dataset("xml", data=np.array([header(scan).encode()], dtype=h5py.string_dtype("ascii")))
        g.create_dataset("data", data=rows, maxshape=(None,), chunks=(1,))


# ---- trajectories, in cycles per field of view ----

def spokes(n, angles, samples=None):
    s = samples or 2 * n
    kr = (np.arange(s) - s // 2) * n / s
    return [np.stack([kr * np.cos(a), kr * np.sin(a)], -1) for a in angles]


def spiral(n, arms, density=1.0):
    s = int(np.pi * n * n / 4 / arms * 1.6)
    t = np.linspace(0, 1, s)
    r = n / 2 * t ** ((1 + density) / 2 if density > 1 else .5 + .5 * t)
    turn = 2 * np.pi * r / arms
    return [np.stack([r * np.cos(turn + 2 * np.pi * i / arms), r * np.sin(turn + 2 * np.pi * i / arms)], -1)
            for i in range(arms)]


def koosh(n, count):
    i = np.arange(count)
    z, a = 1 - (i + .5) / count, i * np.pi * (3 - np.sqrt(5))
    w = np.sqrt(1 - z * z)
    kr = (np.arange(2 * n) - n) / 2
    return [kr[:, None] * np.array([w[j] * np.cos(a[j]), w[j] * np.sin(a[j]), z[j]]) for j in range(count)]
