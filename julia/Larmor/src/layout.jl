# Where members of the library's structs are, in bytes, and numbers of its enums.
# Made by julia/layout.c of larmor 0.3.0. SPDX-License-Identifier: Apache-2.0

const VERSION_OF_LAYOUT = "0.3.0"

const STATUS = (OK = 0, ERR_UNSUPPORTED = 6)

const EVENT_KIND = (log = 2, warning = 3)

const SETTING_NONE = 0

const NUFFT_OPTS = (size = 160,
    type = 8,
    ndim = 12,
    modes = 16,
    batch = 40,
    sign = 48,
    tol = 56,
    upsample = 64,
    width = 96,
    dtype = 100,
    mode_order = 104,
    threads = 112,
    effort = 152,
    both_directions = 156)

const RAW_OPTS = (size = 112,
    traj_units = 8)

const RECON_OPTS = (size = 832,
    listener = 456,
    user = 464)

const EVENT = (size = 72,
    kind = 0,
    stage = 8,
    text = 16,
    step = 32,
    steps = 36,
    fraction = 56)

const NOISE_OPTS = (size = 12,
    samples = 0)

const NOISE_MAPS = (size = 64,
    map = 0,
    count = 8)

const NOISE_MAP = (size = 16,
    deviation = 0,
    g = 8)

const RESULT = (size = 4352,
    image = 0,
    count = 8,
    report = 16)

const IMAGE = (size = 216,
    data = 0,
    meta = 8)

const META = (size = 200,
    fov_mm = 0,
    position_mm = 24,
    read_dir = 48,
    phase_dir = 72,
    slice_dir = 96,
    slice = 148,
    contrast = 152,
    phase = 156,
    repetition = 160,
    set = 164)

const REPORT = (size = 4336,
    status = 0,
    message = 4,
    is_suspect = 516,
    interrupted = 520,
    method = 528,
    iterations = 696,
    lambda = 752,
    noise = 768,
    misfit = 2128,
    grid = 1952,
    seconds = 2440,
    device = 2448)

