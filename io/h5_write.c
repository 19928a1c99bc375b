/* New HDF5 files, composed in memory, so that no failing disk reaches HDF5. SPDX-License-Identifier: Apache-2.0 */
#include "io/h5_write.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/reader/h5_driver.h"

#define MEMORY_STEP ((size_t)16 << 20)

larmor_status lmr_h5_failed(const char *path, const char *what)
{
    if (lmr_h5_lacks_memory()) return LMR_FAIL(LARMOR_ERR_MEMORY, "%s: out of host memory; nothing written.", path);
    return LMR_FAIL(LARMOR_ERR_IO, "%s: HDF5 could not %s; nothing written.", path, what);
}

/* HDF5 1.10 cannot close a file whose writes fail (it keeps descriptors and may crash when the program ends), so
 * disks are left to lmr_output_put. */
larmor_status lmr_h5_create(const larmor_output *out, hid_t *file)
{
    char name[64]; /* of no file, and of no other one in memory */
    snprintf(name, sizeof name, "/larmor in memory/%p", (const void *)out);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    *file = -1;
    if (access >= 0 && H5Pset_fapl_core(access, MEMORY_STEP, 0) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        *file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    lmr_h5_close(access);
    return *file < 0 ? lmr_h5_failed(out->path, "begin a file in memory") : LARMOR_OK;
}

/* Open what was written, by its descriptor, and read the dataset. */
static int verify(const larmor_output *out, const char *path, int elements)
{
    const hid_t file = lmr_h5_open_descriptor(out->part[0].fd, 0);
    const hid_t data = file < 0 ? -1 : H5Dopen2(file, path, H5P_DEFAULT);
    const hid_t space = data < 0 ? -1 : H5Dget_space(data), type = data < 0 ? -1 : H5Dget_type(data);
    hsize_t dim[H5S_MAX_RANK] = {0}, start[H5S_MAX_RANK] = {0}, one[H5S_MAX_RANK];
    const int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dim, NULL);
    int good = rank > 0 && dim[0] > 0 && type >= 0;
    if (good && elements) {
        hsize_t bytes = H5Tget_size(type); /* of one index of the first dimension */
        for (int d = 0; d < rank; d++) {
            one[d] = d ? dim[d] : 1;
            bytes *= one[d];
        }
        void *buffer = malloc(bytes);
        const hid_t memory = H5Screate_simple(rank, one, NULL);
        good = buffer && memory >= 0;
        for (; good && start[0] < dim[0]; start[0]++)
            good = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) >= 0 &&
                   H5Dread(data, type, memory, space, H5P_DEFAULT, buffer) >= 0;
        lmr_h5_close(memory);
        free(buffer);
    }
    lmr_h5_close(type);
    lmr_h5_close(space);
    lmr_h5_close(data);
    if (file >= 0) lmr_h5_close_descriptor(file);
    return good;
}

larmor_status lmr_h5_save(hid_t file, larmor_output *out, const char *dataset, int elements)
{
    void **memory = NULL;
    const ssize_t bytes = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    if (bytes <= 0 || H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&memory) < 0 || !memory || !*memory)
        return lmr_h5_failed(out->path, "complete the file in memory");
    LMR_TRY(lmr_output_reserve(out, 0, bytes));
    LMR_TRY(lmr_output_put(out, 0, *memory, (size_t)bytes));
    return verify(out, dataset, elements) ? LARMOR_OK : lmr_h5_failed(out->path, "read back what was written");
}

hid_t lmr_h5_dataset_plan(void)
{
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    if (plan >= 0 && H5Pset_obj_track_times(plan, 0) >= 0) return plan;
    lmr_h5_close(plan);
    return -1;
}

larmor_status lmr_h5_write_string(hid_t file, const char *path, const char *text)
{
    const hsize_t one = 1;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &one, NULL), plan = lmr_h5_dataset_plan();
    hid_t data = -1;
    int good = type >= 0 && space >= 0 && plan >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0;
    if (good) data = H5Dcreate2(file, path, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    good = data >= 0 && H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0;
    lmr_h5_close(data);
    lmr_h5_close(plan);
    lmr_h5_close(space);
    lmr_h5_close(type);
    return good ? LARMOR_OK : lmr_h5_failed(path, "write a text");
}
