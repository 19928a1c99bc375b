/* Processes that are kept ready for commands of `larmor recon --via SOCKET`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Keep so many processes waiting at the socket until a signal comes. device: "" or as --device has it.
 *
 * Returns an exit code, having said what is wrong. */
int serve_commands(const char *path, const char *device, int ready);

/* What a process does before it waits: opens the device, which stays open, and on a GPU reconstructs two small scans,
 * which loads the kernels. Returns an exit code, having said what is wrong. */
int serve_make_ready(const char *device);
