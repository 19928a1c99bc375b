/* What most files of the library need of core and of the C library, and the public headers: files of other layers
 * include it where they need two of these or more. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/axes_given.h"
#include "core/clamp.h"
#include "core/clock.h"
#include "core/coils.h"
#include "core/device.h"
#include "core/give.h"
#include "core/hash.h"
#include "core/mutable.h"
#include "core/names.h"
#include "core/op.h"
#include "core/owned.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/select.h"
#include "core/status.h"
#include "core/text.h"
#include "larmor/larmor.h"
