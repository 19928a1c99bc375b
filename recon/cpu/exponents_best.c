/* Which of the compiled loops for exponentials the processor can run. SPDX-License-Identifier: Apache-2.0 */
#include "recon/cpu/exponents.h"

lmr_exponents lmr_exponents_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return lmr_exponents_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return lmr_exponents_avx2;
#endif
    return lmr_exponents_base;
}
