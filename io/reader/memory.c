/* HDF5 may crash, or call a file damaged, where it gets no memory. The linker leads its calls of the allocator,
 * and those of the other archives in the program, through these (ld's --wrap), which keep in mind that one was
 * refused. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/memory.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/reader/protocol.h"
#include "io/reader/sanitized.h"
#include "io/reader/serve.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
_Noreturn void __real_exit(int code);
void *__wrap_malloc(size_t bytes);
char *__wrap_strdup(const char *text);
_Noreturn void __wrap_exit(int code);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    void *p = __real_malloc(bytes);
    if (!p && bytes) lmr_memory_refused = 1;
    return p;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    void *p = __real_calloc(count, bytes);
    if (!p && count && bytes) lmr_memory_refused = 1;
    return p;
}

void *__wrap_realloc(void *old, size_t bytes)
{
    void *p = __real_realloc(old, bytes);
    if (!p && bytes) lmr_memory_refused = 1;
    return p;
}

char *__wrap_strdup(const char *text)
{
    char *p = __real_strdup(text);
    if (!p) lmr_memory_refused = 1;
    return p;
}

void __wrap_exit(int code)
{
    if (lmr_memory_refused) _exit(LMR_READER_NO_MEMORY);
    __real_exit(code);
}

static void crashed(int number)
{
    (void)number; /* once: after it the signal comes again and ends the process as it would have */
    if (lmr_memory_refused) _exit(LMR_READER_NO_MEMORY);
}

void lmr_memory_watch(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static unsigned char room[1 << 15]; /* HDF5 may have used up the stack, by an error in telling of an error */
    if (LMR_SANITIZED) return;
    sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i],
                  &(struct sigaction){.sa_handler = crashed, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)}, NULL);
}
