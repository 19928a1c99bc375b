/* Whether this is a build with a sanitizer, whose own needs no limit allows. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LMR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LMR_SANITIZED 1
#endif
#endif
#ifndef LMR_SANITIZED
#define LMR_SANITIZED 0
#endif
