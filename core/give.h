/* How a constructor ends. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What it returns: *out <- object, or where its status st is a failure the object is freed. */
#define LMR_GIVE(out, object, free_object, st) ((st) ? (free_object(object), (st)) : (*(out) = (object), LARMOR_OK))
