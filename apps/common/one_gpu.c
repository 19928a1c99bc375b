/* A process that computes on one GPU shows CUDA one alone: CUDA begins all that it sees. SPDX-License-Identifier:
 * Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>

#include "common.h"

#define VISIBLE "CUDA_VISIBLE_DEVICES"

/* GPUs of which this process has the files. */
static int gpus(void)
{
    static const char name[] = "nvidia";
    int count = 0;
    DIR *dev = opendir("/dev");
    if (!dev) return 0;
    for (const struct dirent *e; (e = readdir(dev));)
        count += !strncmp(e->d_name, name, sizeof name - 1) && isdigit((unsigned char)e->d_name[sizeof name - 1]);
    closedir(dev);
    return count;
}

/* 1 if the name asks for the first GPU, or for one without saying which. */
static int means_first(const char *device)
{
    return !strcmp(device, "auto") || !strcmp(device, "cuda") || !strcmp(device, "cuda:0");
}

int app_first_gpu(const char *visible, int gpus, const char *device, char first[APP_GPU_NAME])
{
    if (!means_first(device)) return 0;
    if (!visible) {
        strcpy(first, "0");
        return gpus > 1;
    }
    const size_t length = strcspn(visible, ",");
    if (!visible[length] || !length || length >= APP_GPU_NAME) return 0;
    memcpy(first, visible, length);
    first[length] = 0;
    return 1;
}

void app_see_one_gpu(const char *device)
{
    char first[APP_GPU_NAME];
    if (app_first_gpu(getenv(VISIBLE), gpus(), device, first)) setenv(VISIBLE, first, 1);
}
