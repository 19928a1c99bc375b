/* What a stream is to the rest of this room. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "io/bytes.h"
#include "larmor/stream.h"
#include "stream/wire.h"

#define LMR_STREAM_MEMORY (INT64_C(1) << 30) /* of a message */
#define LMR_STREAM_MOST_TEXT (INT64_C(1) << 20)
#define LMR_STREAM_MOST_HEADER (INT64_C(16) << 20)

struct larmor_stream {
    lmr_wire wire;
    char *name;
    int keep_open;
    int64_t memory;   /* bytes of a message */
    void *payload;    /* of the last message that was received */
    lmr_bytes going;  /* the message that is sent */
    uint32_t counter; /* of acquisitions that were sent */
};

/* The memory that message.acquisition.data and .traj of the last message lie in, the caller's to free from now on. */
void *lmr_stream_take(larmor_stream *stream);

/* A line as TEXT: "WRN ", "ERR " or "DBG " and the line. */
larmor_status lmr_stream_text(larmor_stream *stream, const char *level, const char *line);

/* What comes from a client may be shown on a terminal: anything but printable ASCII becomes '?'. */
void lmr_make_printable(char *line);
