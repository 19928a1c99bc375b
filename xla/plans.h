/* Plans with their points, kept from one call of XLA to the next. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "xla/call.h"

/* A device: the processor, or a GPU, whose calls take turns. */
typedef struct lmr_xla_device lmr_xla_device;

enum { LMR_XLA_PROCESSOR = -1 };

/* The processor or the GPU of this number, opened once; it stays open. */
larmor_status lmr_xla_device_find(int ordinal, lmr_xla_device **out);

/* From begin to end the calling thread has the device, whose work goes to this stream; the processor has none. */
larmor_status lmr_xla_device_begin(lmr_xla_device *dev, void *stream);
void lmr_xla_device_end(lmr_xla_device *dev);

typedef struct lmr_xla_plan lmr_xla_plan;

/* A plan that nobody else uses meanwhile, with the points of a set: one that has them already if there is one. */
larmor_status lmr_xla_plan_take(lmr_xla_device *dev, const lmr_xla_call *call, int64_t set, lmr_xla_plan **out);

/* A plan that is taken, run on an input of the set. */
larmor_status lmr_xla_plan_run(const lmr_xla_plan *plan, const lmr_xla_call *call, int64_t set);

/* Keeps a plan for a later call; the least recently used go while there are too many. */
void lmr_xla_plan_put(lmr_xla_plan *plan);
