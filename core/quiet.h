/* Threads that get no signals. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

/* 1 if it was started. */
int lmr_quiet_thread(pthread_t *thread, void *(*work)(void *user), void *user);
