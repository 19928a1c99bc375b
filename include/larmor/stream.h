/* MRD (ISMRMRD) version 1 as a stream: readouts in, images out, while the scan runs, as FIRE, OpenRecon and
 * Gadgetron's clients speak it over TCP, and over Unix sockets and pipes as well.
 *
 * A stream carries messages. A session is the server's side of one connection: it takes a scan and sends its images.
 * A server listens and has a session for each connection, in a thread of its own. larmor_stream_request is the
 * client's side. Nothing is encrypted and nobody is asked who he is: docs/serve.md says what to put in front.
 *
 * Source  doc/mrd_messages.md and doc/mrd_streaming_protocol.md of the ISMRMRD project.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_STREAM_H
#define LARMOR_STREAM_H

#include "larmor/gating.h"
#include "larmor/pipeline.h"
#include "larmor/waveform.h"

LARMOR_C_BEGIN

/* ---- messages ---- */

typedef struct larmor_stream larmor_stream; /* one thread may receive while another sends */

typedef struct larmor_stream_opts { /* zero means default */
    int64_t memory;                 /* bytes of the largest message that is taken; default 1 GiB */
    double idle_s;                  /* fail when nothing has moved for so many seconds; default: never */
    int keep_open;                  /* 1: larmor_stream_free leaves the descriptors open */
    const char *name;               /* what messages call the other side; copied; default "stream" */
} larmor_stream_opts;

typedef enum larmor_message_kind {
    LARMOR_MESSAGE_END = 0, /* the other side has ended the connection; never sent */
    LARMOR_MESSAGE_CONFIG_FILE = 1,
    LARMOR_MESSAGE_CONFIG_TEXT = 2,
    LARMOR_MESSAGE_HEADER = 3,
    LARMOR_MESSAGE_CLOSE = 4,
    LARMOR_MESSAGE_TEXT = 5,
    LARMOR_MESSAGE_ACQUISITION = 1008,
    LARMOR_MESSAGE_IMAGE = 1022,
    LARMOR_MESSAGE_WAVEFORM = 1026,
    LARMOR_MESSAGE_ARRAY = 1030 /* received without its numbers, and never sent */
} larmor_message_kind;

typedef enum larmor_pixel_type { /* as ISMRMRD numbers them */
                                 LARMOR_PIXEL_UINT16 = 1,
                                 LARMOR_PIXEL_INT16,
                                 LARMOR_PIXEL_UINT32,
                                 LARMOR_PIXEL_INT32,
                                 LARMOR_PIXEL_FLOAT,
                                 LARMOR_PIXEL_DOUBLE,
                                 LARMOR_PIXEL_COMPLEX,
                                 LARMOR_PIXEL_COMPLEX_DOUBLE
} larmor_pixel_type;

typedef struct larmor_message_image {
    larmor_image_meta meta;
    larmor_pixel_type type;
    int64_t dim[3], channels; /* 1 to 65535 each */
    int kind;                 /* image_type: 1 magnitude, 2 phase, 3 real, 4 imaginary, 5 complex */
    int index, series;        /* image_index, image_series_index */
    const void *data;         /* [dim[0], dim[1], dim[2], channels], x fastest */
    const char *attributes;   /* <ismrmrdMeta>; NULL or "": none */
} larmor_message_image;

typedef struct larmor_message {
    larmor_message_kind kind;
    const char *text; /* of CONFIG_FILE (up to 1023 characters), CONFIG_TEXT, HEADER and TEXT; ends in 0 */
    int64_t bytes;    /* of the text without its end; to send: 0 means strlen(text) */
    larmor_acquisition acquisition;
    larmor_message_image image;
    larmor_waveform waveform; /* without kind and trigger, which the header has */
} larmor_message;

/* A stream over descriptors that are open: sockets, pipes or files.
 *
 * in, out  may be the same one. They belong to the stream from a successful return on, unless opts->keep_open.
 * opts     may be NULL.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_stream_create(int in, int out, const larmor_stream_opts *opts,
                                              larmor_stream **stream);

/* Connect to a server.
 *
 * address  "HOST:PORT", "[IPV6]:PORT", or the path of a Unix socket, which has a '/'.
 * opts     may be NULL; the name is the address.
 * Errors   LARMOR_ERR_ARG for what is no address; LARMOR_ERR_IO where nobody listens; LARMOR_ERR_MEMORY;
 *          LARMOR_STOPPED. */
LARMOR_API larmor_status larmor_stream_connect(const char *address, const larmor_stream_opts *opts,
                                               larmor_stream **stream);
LARMOR_API void larmor_stream_free(larmor_stream *stream); /* NULL is fine */

/* Wait for the next message. Every length is compared with what is allowed before memory is allocated for it.
 *
 * message  its pointers are valid until the next call.
 * Errors   LARMOR_ERR_FORMAT for what is no message, and one that ends too early; LARMOR_ERR_MEMORY for one that is
 *          larger than allowed; LARMOR_ERR_IO; LARMOR_STOPPED. After an error the stream is of no more use. */
LARMOR_API larmor_status larmor_stream_receive(larmor_stream *stream, larmor_message *message);

/* Send a message; returns when all of it is on its way.
 *
 * Errors  LARMOR_ERR_ARG for numbers that do not fit; LARMOR_ERR_IO where the other side has gone; LARMOR_ERR_MEMORY;
 *         LARMOR_STOPPED. */
LARMOR_API larmor_status larmor_stream_send(larmor_stream *stream, const larmor_message *message);

/* The scan of all acquisitions up to CLOSE, which must come; configurations and texts are passed over. Waveforms are
 * the scan's; if one is no block of samples all are left out.
 *
 * memory  bytes of the readouts that are kept; 0: 4 GiB.
 * opts    may be NULL.
 * Errors  those of larmor_stream_receive and larmor_raw_of_acquisitions; LARMOR_ERR_FORMAT for a stream that ends
 *         before CLOSE, without acquisitions, or with one before the header. */
LARMOR_API larmor_status larmor_stream_take_scan(larmor_stream *stream, int64_t memory, const larmor_raw_opts *opts,
                                                 larmor_raw **raw);

/* All images, complex, and then CLOSE.
 *
 * Errors  those of larmor_stream_send. */
LARMOR_API larmor_status larmor_stream_send_images(larmor_stream *stream, const larmor_recon_image *images,
                                                   int count);

/* ---- sessions ---- */

/* What is reconstructed together: all readouts when CLOSE has come, as larmor recon does with their file; those of a
 * repetition at LAST_IN_REPETITION; those of a slice at LAST_IN_SLICE; of READOUTS the last ones, now and then
 * (larmor/live.h). */
typedef enum larmor_session_images {
    LARMOR_IMAGES_MEASUREMENT,
    LARMOR_IMAGES_REPETITION,
    LARMOR_IMAGES_SLICE,
    LARMOR_IMAGES_READOUTS
} larmor_session_images;

typedef enum larmor_session_pixels {
    LARMOR_PIXELS_INT16, /* magnitudes, scaled to 2^bits - 1 */
    LARMOR_PIXELS_FLOAT, /* magnitudes */
    LARMOR_PIXELS_COMPLEX
} larmor_session_pixels;

typedef struct larmor_session_job { /* what is done with a scan; zero means default, but of recon.size */
    larmor_device *dev;             /* that computes; not used by other threads meanwhile */
    larmor_raw_opts raw;
    larmor_frames_opts frames;
    larmor_bins_opts bins;        /* but waveforms, which are those of the session, and trace; not of READOUTS */
    larmor_recon_opts recon;      /* but listener and user, which are the session's */
    larmor_session_images images; /* what has come before: noise and calibration count for all of them */
    larmor_session_pixels pixels;
    int window, every, first; /* of READOUTS, as in larmor_live_opts */
    int bits;                 /* of INT16, 8 to 15; default: the header's BitsStored, or 12 */
    const char *description;  /* SeriesDescription; default "larmor" */
} larmor_session_job;

/* A session. All functions are called in the thread of larmor_session_run, and may be NULL.
 *
 * A client's parameters are the JSON text after the header, {"parameters": {"name": value}}, or a configuration that
 * is JSON. "images" (measurement, repetition, slice or readouts), "window", "every", "first", "pixels" (int16, float
 * or complex) and "bits" are the session's own; "config", "customconfig" and "version" are left alone; all others are
 * given to set. */
typedef struct larmor_session_opts {
    larmor_session_job job; /* before any parameter */
    int64_t memory;         /* bytes of the readouts that it keeps; default 4 GiB */
    /* A parameter. LARMOR_ERR_UNSUPPORTED: there is none of this name, which is a warning; any other error ends
     * the session. */
    larmor_status (*set)(void *user, const char *name, const char *value);
    /* All parameters are set: what they mean. */
    larmor_status (*configure)(void *user, larmor_session_job *job);
    /* Before each reconstruction, when its readouts are there. */
    larmor_status (*prepare)(void *user, const larmor_raw *raw, larmor_source *source, larmor_session_job *job);
    /* A line that the client gets as TEXT, too. */
    void (*log)(void *user, larmor_event_kind kind, const char *line);
    void *user;
} larmor_session_opts;

typedef struct larmor_session_report {
    int64_t acquisitions, images, warnings;
    int closed; /* 1: the client has ended it by CLOSE */
} larmor_session_report;

/* Take a scan from a stream and send its images, each when it is complete, then CLOSE. Warnings and an error are sent
 * as TEXT before that. A client that goes away ends a reconstruction.
 *
 * Images in int16 of a measurement have one scale and are sent together. Of repetitions and slices the first image's
 * maximum becomes half of the largest number, and what passes that one is cut off, with a warning.
 *
 * report  may be NULL.
 * Errors  those of larmor_stream_receive, larmor_raw_of_acquisitions and larmor_recon_run, which the client was told;
 *         LARMOR_ERR_IO where it has gone. */
LARMOR_API larmor_status larmor_session_run(larmor_stream *stream, const larmor_session_opts *opts,
                                            larmor_session_report *report);

/* ---- a server ---- */

typedef struct larmor_server larmor_server;

typedef struct larmor_server_opts { /* zero means default */
    int sessions;                   /* the most at the same time; others wait to be accepted; default 4 */
    double idle_s;                  /* as in larmor_stream_opts, of each connection */
    /* In the thread of a session, before and after it. session_opts is zero but for recon.size. An error of begin
     * refuses the connection: its message is sent as TEXT, then CLOSE. end is called where begin was. */
    larmor_status (*begin)(void *user, int64_t number, larmor_session_opts *session);
    void (*end)(void *user, int64_t number, larmor_session_opts *session, const larmor_session_report *report,
                larmor_status status);
    void *user;
} larmor_server_opts;

/* Listen.
 *
 * address  as for larmor_stream_connect; port 0: one that is free. A Unix socket is for its owner alone.
 * opts     may be NULL.
 * Errors   LARMOR_ERR_ARG for what is no address; LARMOR_ERR_IO for one that is taken; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_server_create(const char *address, const larmor_server_opts *opts,
                                              larmor_server **server);
LARMOR_API const char *larmor_server_address(const larmor_server *server); /* with its port, to connect to */

/* Accept connections until the caller's function (larmor_stop_when) asks to stop, which ends all sessions as well.
 *
 * Errors  LARMOR_STOPPED; LARMOR_ERR_IO if it cannot accept; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_server_run(larmor_server *server);
LARMOR_API void larmor_server_free(larmor_server *server); /* NULL is fine */

/* ---- a client ---- */

typedef struct larmor_request { /* zero means default */
    const larmor_raw *raw;  /* all of its acquisitions and waveforms are sent; best opened with as_stored; needed */
    const char *config;     /* name of the configuration; default "larmor" */
    const char *parameters; /* JSON text, or NULL: not sent */
    void (*log)(void *user, const char *line); /* of each TEXT that comes, in the thread that receives; or NULL */
    /* Of each image when it comes, in the thread that receives; or NULL; an error ends the request. */
    larmor_status (*image)(void *user, const larmor_image *image);
    void *user;
} larmor_request;

typedef struct larmor_response { /* free with larmor_response_free */
    larmor_image *image;         /* [count] real, or complex, in the order in which they came */
    int count;
    int failed; /* 1: the server has sent an error */
    int closed; /* 1: and CLOSE */
} larmor_response;

/* Send a scan and take the images that come back.
 *
 * dev     of the images.
 * out     also after an error, with what has come.
 * Errors  those of larmor_stream_send and larmor_stream_receive. */
LARMOR_API larmor_status larmor_stream_request(larmor_stream *stream, const larmor_request *request,
                                               larmor_device *dev, larmor_response *out);
LARMOR_API void larmor_response_free(larmor_response *response); /* NULL is fine; also sets all to zero */

LARMOR_C_END
#endif
