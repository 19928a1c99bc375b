/* For programs that include this header of FINUFFT's by its name. SPDX-License-Identifier: Apache-2.0 */
#include "finufft.h"
