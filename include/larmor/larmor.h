/* Everything public. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_LARMOR_H
#define LARMOR_LARMOR_H

#include "larmor/array.h"
#include "larmor/bids.h"
#include "larmor/camera.h"
#include "larmor/cartesian.h"
#include "larmor/check.h"
#include "larmor/checkpoint.h"
#include "larmor/compress.h"
#include "larmor/delays.h"
#include "larmor/describe.h"
#include "larmor/device.h"
#include "larmor/fieldmap.h"
#include "larmor/fit.h"
#include "larmor/gating.h"
#include "larmor/ghost.h"
#include "larmor/image.h"
#include "larmor/io.h"
#include "larmor/live.h"
#include "larmor/maps.h"
#include "larmor/motion.h"
#include "larmor/multiband.h"
#include "larmor/nlinv.h"
#include "larmor/noise.h"
#include "larmor/nufft.h"
#include "larmor/op.h"
#include "larmor/operators.h"
#include "larmor/page.h"
#include "larmor/phantom.h"
#include "larmor/physics.h"
#include "larmor/pipeline.h"
#include "larmor/prior.h"
#include "larmor/prox.h"
#include "larmor/pulseq.h"
#include "larmor/ranks.h"
#include "larmor/recon.h"
#include "larmor/report.h"
#include "larmor/settings.h"
#include "larmor/simulate.h"
#include "larmor/solve.h"
#include "larmor/source.h"
#include "larmor/status.h"
#include "larmor/stream.h"
#include "larmor/subspace.h"
#include "larmor/trajectory.h"
#include "larmor/view.h"
#include "larmor/waveform.h"

LARMOR_C_BEGIN

#define LARMOR_VERSION "0.3.0"

/* LARMOR_VERSION of the library that is linked. */
LARMOR_API const char *larmor_version(void);

LARMOR_C_END
#endif
