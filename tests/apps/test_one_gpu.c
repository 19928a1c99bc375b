/* Which GPUs a process shows to CUDA. SPDX-License-Identifier: Apache-2.0 */
#include "apps/common/common.h"

#include "tests/support/claims.h"

TEST(a_process_that_takes_the_first_gpu_sees_it_alone_and_others_see_what_they_saw)
{
    static const struct {
        const char *visible;
        int gpus;
        const char *device, *first; /* NULL: nothing is changed */
    } row[] = {
        {NULL, 4, "auto", "0"},
        {NULL, 4, "cuda", "0"},
        {NULL, 2, "cuda:0", "0"},
        {NULL, 1, "auto", NULL},
        {NULL, 0, "auto", NULL},
        {NULL, 4, "cuda:1", NULL},
        {NULL, 4, "cuda:all", NULL},
        {NULL, 4, "cuda:0,1", NULL},
        {NULL, 4, "cpu", NULL},
        {NULL, 4, "cpu:0", NULL},
        {"2,3", 4, "auto", "2"},
        {"2,3", 4, "cuda:1", NULL},
        {"GPU-5a4959b7-ad5f-7b6e-4e00-e848a2d4e10c,1", 4, "cuda", "GPU-5a4959b7-ad5f-7b6e-4e00-e848a2d4e10c"},
        {"3", 4, "auto", NULL},
        {"", 4, "auto", NULL},
        {",1", 4, "auto", NULL},
        {"0123456789012345678901234567890123456789012345678901234567890123,1", 4, "auto", NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char first[APP_GPU_NAME] = "";
        const int changes = app_first_gpu(row[i].visible, row[i].gpus, row[i].device, first);
        if (changes != (row[i].first != NULL)) fail_msg("row %zu: %d", i, changes);
        if (changes) assert_string_equal(first, row[i].first);
    }
}

int main(void)
{
    return run_claims(NULL, NULL) ? 1 : 0;
}
