/* Addresses: HOST:PORT, or the path of a Unix socket. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

/* 1 if it is the path of a Unix socket. */
int lmr_address_is_path(const char *address);

/* A socket that is connected, or that listens with so many connections waiting. Errors: as larmor_stream_connect and
 * larmor_server_create. */
larmor_status lmr_address_connect(const char *address, double idle_s, int *fd);
larmor_status lmr_address_listen(const char *address, int waiting, int *fd);

/* The address of a socket that listens, with its port. */
larmor_status lmr_address_of(int fd, const char *address, char *text, size_t size);

/* No delay of small messages, where the socket has one. */
void lmr_address_hurry(int fd);
