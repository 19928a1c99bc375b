/* Libraries of CUDA that are loaded at their first use, because loading them takes longer than many an image. A
 * file lists the functions that it uses of one, and calls them as members: types and versions are those of the
 * library's own header. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dlfcn.h>

#include <mutex>

#include "core/cuda/cuda.cuh"

/* "libcublas.so.13" */
#define LMR_CUDA_SONAME(name, major) "lib" name ".so." LMR_CUDA_TEXT(major)
#define LMR_CUDA_TEXT(x) LMR_CUDA_WORD(x)
#define LMR_CUDA_WORD(x) #x

/* LMR_CUDA_LIBRARY(blas_library, FUNCTIONS), where FUNCTIONS(X) is X(cublasCreate_v2) X(...): a type with these
 * members. */
#define LMR_CUDA_MEMBER(f) decltype(&::f) f;
#define LMR_CUDA_FIND(f) all = all && (f = reinterpret_cast<decltype(f)>(dlsym(library, #f)));
#define LMR_CUDA_LIBRARY(type, FUNCTIONS)                                                                            \
    struct type {                                                                                                    \
        FUNCTIONS(LMR_CUDA_MEMBER)                                                                                   \
        bool find(void *library)                                                                                     \
        {                                                                                                            \
            bool all = true;                                                                                         \
            FUNCTIONS(LMR_CUDA_FIND)                                                                                 \
            return all;                                                                                              \
        }                                                                                                            \
    }

/* Fills *into, one object of its type, once in a process; the library stays loaded. */
template <typename L> static larmor_status lmr_cuda_load(const char *name, L *into)
{
    static std::mutex lock;
    static bool is_there;
    const std::lock_guard<std::mutex> guard(lock);
    if (is_there) return LARMOR_OK;
    void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "%s, a part of CUDA, is needed: %s", name,
                             reason ? reason : "it cannot be loaded");
    }
    is_there = into->find(library);
    return is_there ? LARMOR_OK : LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "%s is of another version", name);
}
