/* Bytes over a descriptor, whatever it is: whole pieces, with an end when the caller asks for it, and no signal where
 * nobody reads. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "core/status.h"

enum { LMR_WIRE_BUFFER = 65536 };

typedef struct lmr_wire {
    int in, out;
    int in_is_socket, out_is_socket;
    double idle_s; /* 0: never */
    const char *name;
    unsigned char *buffer; /* [LMR_WIRE_BUFFER] of what was read ahead */
    size_t first, held;
} lmr_wire;

larmor_status lmr_wire_open(int in, int out, double idle_s, const char *name, lmr_wire *wire);
void lmr_wire_end(lmr_wire *wire); /* the descriptors stay open */

/* Read so many bytes, and count them in *got: fewer where the other side has ended the stream, which is no error. */
larmor_status lmr_wire_read(lmr_wire *wire, void *to, size_t bytes, size_t *got);
larmor_status lmr_wire_write(lmr_wire *wire, const void *from, size_t bytes);

/* 1 if the other side can take nothing any more. */
int lmr_wire_is_gone(const lmr_wire *wire);

/* Wait until a descriptor is ready for events of poll. idle_s: 0: for ever. */
larmor_status lmr_wire_wait(int fd, short events, double idle_s, const char *name);
