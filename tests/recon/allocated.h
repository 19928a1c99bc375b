/* What is allocated, beside what objects say of their bytes. Every allocation of larmor's own in a program that is
 * linked with allocated.c passes through it (the linker's --wrap), so that the peak of a step is known.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

enum { SMALL = 4096 }; /* bytes of handles and shapes, which are no device memory */

/* Count the peak from now on. */
void begin(void);

/* Bytes of the peak beyond what was held when it began. */
int64_t peak_since_begin(void);

/* Bytes that are held now beyond those. */
int64_t held_since_begin(void);

/* The peak since begin is at most the estimate, and the estimate at most `factor` times the peak. result: bytes that
 * the estimate leaves out. */
void expect_estimate(const char *what, int64_t estimate, int64_t result, double factor);
