/* Damages a scan on purpose: spoil FILE.h5 WAY. SPDX-License-Identifier: Apache-2.0 */
#include <hdf5.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "spoil: %s failed\n", what);
    exit(1);
}

static void replace_header(hid_t file, const char *text)
{
    check(H5Ldelete(file, "/dataset/xml", H5P_DEFAULT) >= 0, "deleting the header");
    if (!text) return;
    const hsize_t one = 1;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &one, NULL);
    check(H5Tset_size(type, H5T_VARIABLE) >= 0, "a string type");
    const hid_t set = H5Dcreate2(file, "/dataset/xml", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    check(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0, "writing the header");
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
}

/* Read one member, a list of floats, of acquisition `index`, let f change it, and write it back. */
static void change_floats(hid_t set, const char *member, hsize_t index, void (*f)(hvl_t *list))
{
    const hid_t list = H5Tvlen_create(H5T_NATIVE_FLOAT), type = H5Tcreate(H5T_COMPOUND, sizeof(hvl_t));
    const hid_t space = H5Dget_space(set);
    const hsize_t one = 1;
    const hid_t memory = H5Screate_simple(1, &one, NULL);
    hvl_t value;
    check(H5Tinsert(type, member, 0, list) >= 0, "a type");
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &index, NULL, &one, NULL) >= 0, "a selection");
    check(H5Dread(set, type, memory, space, H5P_DEFAULT, &value) >= 0, "reading");
    f(&value);
    check(H5Dwrite(set, type, memory, space, H5P_DEFAULT, &value) >= 0, "writing");
    free(value.p); /* HDF5 takes the memory of lists from malloc */
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    H5Tclose(list);
}

static void put_nan(hvl_t *list)
{
    ((float *)list->p)[0] = NAN;
}

static void shorten(hvl_t *list)
{
    list->len -= 6;
}

static void clear(hvl_t *list)
{
    memset(list->p, 0, list->len * sizeof(float));
}

static void enlarge(hvl_t *list)
{
    for (size_t i = 0; i < list->len; i++) ((float *)list->p)[i] *= 1e17f;
}

static void diminish(hvl_t *list)
{
    for (size_t i = 0; i < list->len; i++) ((float *)list->p)[i] *= 1e-30f;
}

static void clear_last_of_four_coils(hvl_t *list)
{
    const size_t n = list->len / 4;
    memset((float *)list->p + 3 * n, 0, n * sizeof(float));
}

/* Of four coils the last one's values; times 100, or noise instead of signal. */
static void amplify_last_of_four_coils(hvl_t *list)
{
    const size_t n = list->len / 4;
    for (size_t i = 3 * n; i < list->len; i++) ((float *)list->p)[i] *= 100;
}

static void drown_last_of_four_coils(hvl_t *list)
{
    const size_t n = list->len / 4;
    for (size_t i = 3 * n; i < list->len; i++)
        ((float *)list->p)[i] = 1e-3f * (float)(rand() / (RAND_MAX / 2 + 1.) - 1);
}

/* A point off the centre, in all coils. */
static void put_point_in_four_coils(hvl_t *list)
{
    static unsigned readout;
    float *v = list->p;
    const size_t samples = list->len / 8;
    for (size_t i = 0; i < 4 * samples; i++) {
        const double phase = 2.1 * (double)(i % samples) + 0.9 * readout;
        v[2 * i] = (float)((double)(1 + i / samples) * cos(phase));
        v[2 * i + 1] = (float)((double)(1 + i / samples) * sin(phase));
    }
    readout++;
}

static void amplify(hvl_t *list)
{
    for (size_t i = 0; i < list->len; i++) ((float *)list->p)[i] *= 10;
}

static void put_spike(hvl_t *list)
{
    ((float *)list->p)[list->len / 16] = .1f; /* of the first of four coils, a quarter into the readout */
}

static void clip(hvl_t *list)
{
    const float most = .01f;
    float *x = list->p;
    for (size_t i = 0; i < list->len; i++) x[i] = fminf(fmaxf(x[i], -most), most);
}

/* Let three floats of a head be others. */
static void change_head(hid_t set, const char *member, hsize_t index, const float value[3])
{
    const hsize_t three = 3, one = 1;
    const hid_t vector = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three),
                head = H5Tcreate(H5T_COMPOUND, sizeof(float[3]));
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(float[3])), space = H5Dget_space(set);
    const hid_t memory = H5Screate_simple(1, &one, NULL);
    check(H5Tinsert(head, member, 0, vector) >= 0 && H5Tinsert(type, "head", 0, head) >= 0, "a type");
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &index, NULL, &one, NULL) >= 0, "a selection");
    check(H5Dwrite(set, type, memory, space, H5P_DEFAULT, value) >= 0, "writing");
    H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    H5Tclose(head);
    H5Tclose(vector);
}

static void change_heads(hid_t set, const char *member, hsize_t count, const float value[3])
{
    for (hsize_t i = 0; i < count; i++) change_head(set, member, i, value);
}

static void change_acquisitions(hid_t file, const char *way)
{
    const hid_t set = H5Dopen2(file, "/dataset/data", H5P_DEFAULT);
    const hid_t space = H5Dget_space(set);
    hsize_t count = 0;
    check(set >= 0 && H5Sget_simple_extent_dims(space, &count, NULL) >= 0 && count > 2, "opening the acquisitions");
    if (!strcmp(way, "no-acquisitions"))
        check(H5Dset_extent(set, &(hsize_t){0}) >= 0, "shrinking");
    else if (!strcmp(way, "nan"))
        change_floats(set, "data", 2, put_nan);
    else if (!strcmp(way, "samples"))
        change_floats(set, "data", 2, shorten);
    else if (!strcmp(way, "quiet-coil")) /* without noise: the noise scan comes first */
        change_floats(set, "data", 0, clear_last_of_four_coils);
    else if (!strcmp(way, "times-1e17"))
        for (hsize_t i = 0; i < count; i++) change_floats(set, "data", i, enlarge);
    else if (!strcmp(way, "times-1e-30"))
        for (hsize_t i = 0; i < count; i++) change_floats(set, "data", i, diminish);
    else if (!strcmp(way, "zero-middle")) /* the second of three repetitions */
        for (hsize_t i = count / 3; i < 2 * (count / 3); i++) change_floats(set, "data", i, clear);
    else if (!strcmp(way, "dead-coil"))
        for (hsize_t i = 1; i < count; i++) change_floats(set, "data", i, clear_last_of_four_coils);
    else if (!strcmp(way, "loud-coil"))
        for (hsize_t i = 0; i < count; i++) change_floats(set, "data", i, amplify_last_of_four_coils);
    else if (!strcmp(way, "noise-coil"))
        for (hsize_t i = 0; i < count; i++) change_floats(set, "data", i, drown_last_of_four_coils);
    else if (!strcmp(way, "point"))
        for (hsize_t i = 0; i < count; i++) change_floats(set, "data", i, put_point_in_four_coils);
    else if (!strcmp(way, "loud-noise-scan")) /* which comes first */
        change_floats(set, "data", 0, amplify);
    else if (!strcmp(way, "spike"))
        change_floats(set, "data", 5, put_spike);
    else if (!strcmp(way, "clip"))
        for (hsize_t i = 0; i < count; i++) change_floats(set, "data", i, clip);
    else if (!strcmp(way, "crooked"))
        change_head(set, "read_dir", 2, (const float[3]){.7f, .7f, .3f});
    else if (!strcmp(way, "moved"))
        change_head(set, "position", 2, (const float[3]){1, 2, 30});
    else if (!strcmp(way, "mirrored")) /* of 0, 0, 80 */
        change_heads(set, "position", count, (const float[3]){0, 0, -80});
    else if (!strcmp(way, "far-away"))
        change_heads(set, "position", count, (const float[3]){0, 0, 3e6f});
    else if (!strcmp(way, "no-directions"))
        change_heads(set, "read_dir", count, (const float[3]){0, 0, 0});
    else if (!strcmp(way, "stopped"))
        check(H5Dset_extent(set, &(hsize_t){count - count / 5}) >= 0, "shrinking");
    else if (!strcmp(way, "no-extent"))
        for (hsize_t i = 0; i < count; i++) change_floats(set, "traj", i, clear);
    else
        check(0, way);
    H5Sclose(space);
    H5Dclose(set);
}

/* A second encoding like the first but for its matrix, 48 x 48, for the second half of the acquisitions. */
static void add_encoding(hid_t file)
{
    char *text, *all;
    const hid_t header = H5Dopen2(file, "/dataset/xml", H5P_DEFAULT), string = H5Dget_type(header);
    check(H5Dread(header, string, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0, "reading the header");
    H5Dclose(header);
    H5Tclose(string);
    const char *begin = strstr(text, "<encoding>"), *end = strstr(text, "</encoding>");
    check(begin && end, "finding the encoding");
    end += strlen("</encoding>");
    all = calloc(2, strlen(text) + 1);
    check(all != NULL, "memory");
    /* sizes of a matrix are whole numbers of two digits here, and those of a field of view are not */
    const char *size = "<matrixSize><x>48</x><y>48</y>";
    char *next = all + (end - text);
    memcpy(all, text, (size_t)(end - text));
    while (begin < end) {
        const int is_size = !strncmp(begin, "<matrixSize>", strlen("<matrixSize>"));
        const size_t length = is_size ? strlen(size) : 1;
        memcpy(next, is_size ? size : begin, length);
        next += length;
        begin += length;
    }
    strcpy(next, end);
    replace_header(file, all);
    free(all);
    free(text);
    const hid_t set = H5Dopen2(file, "/dataset/data", H5P_DEFAULT), space = H5Dget_space(set);
    const hid_t head = H5Tcreate(H5T_COMPOUND, sizeof(uint16_t)), type = H5Tcreate(H5T_COMPOUND, sizeof(uint16_t));
    hsize_t count = 0;
    const uint16_t second = 1;
    check(H5Tinsert(head, "encoding_space_ref", 0, H5T_NATIVE_UINT16) >= 0 && H5Tinsert(type, "head", 0, head) >= 0,
          "a type");
    check(H5Sget_simple_extent_dims(space, &count, NULL) >= 0, "the extent");
    for (hsize_t i = count / 2; i < count; i++) {
        const hsize_t one = 1;
        const hid_t memory = H5Screate_simple(1, &one, NULL);
        check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &i, NULL, &one, NULL) >= 0, "a selection");
        check(H5Dwrite(set, type, memory, space, H5P_DEFAULT, &second) >= 0, "writing");
        H5Sclose(memory);
    }
    H5Tclose(type);
    H5Tclose(head);
    H5Sclose(space);
    H5Dclose(set);
}

/* Zeros outside of an ellipse around the phantom, in all that a .cfl file holds along its first two dimensions. */
static void clear_around(const char *path)
{
    char header[512];
    long long nx = 0, ny = 0;
    snprintf(header, sizeof header, "%.*s.hdr", (int)(strlen(path) - 4), path);
    FILE *text = fopen(header, "r"), *data = fopen(path, "r+b");
    check(text && data && fscanf(text, "# Dimensions\n%lld %lld", &nx, &ny) == 2, "reading the header");
    check(nx > 0 && ny > 0, "its dimensions");
    const float zero[2] = {0, 0};
    float value[2];
    for (long long i = 0; fread(value, sizeof value, 1, data) == 1; i++) {
        const double x = ((double)(i % nx) / (double)nx - 0.5) / 0.46,
                     y = ((double)(i / nx % ny) / (double)ny - 0.5) / 0.48;
        fseek(data, x * x + y * y > 1 ? -(long)sizeof zero : 0, SEEK_CUR);
        if (x * x + y * y > 1) check(fwrite(zero, sizeof zero, 1, data) == 1, "writing");
        fflush(data);
    }
    fclose(data);
    fclose(text);
}

int main(int argc, char **argv)
{
    check(argc == 3, "usage: spoil FILE WAY;");
    if (!strcmp(argv[2], "ellipse")) {
        clear_around(argv[1]);
        return 0;
    }
    const hid_t file = H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT);
    check(file >= 0, "opening");
    const char *way = argv[2];
    if (!strcmp(way, "group"))
        check(H5Lmove(file, "dataset", file, "other", H5P_DEFAULT, H5P_DEFAULT) >= 0, "moving");
    else if (!strcmp(way, "groups"))
        check(H5Lmove(file, "dataset", file, "one", H5P_DEFAULT, H5P_DEFAULT) >= 0 &&
                  H5Lcreate_hard(file, "one", file, "two", H5P_DEFAULT, H5P_DEFAULT) >= 0,
              "naming the group twice");
    else if (!strcmp(way, "header"))
        replace_header(file, "<ismrmrdHeader>\n<encoding>\n</ismrmrdHeader>");
    else if (!strcmp(way, "bare"))
        replace_header(file, "<ismrmrdHeader/>");
    else if (!strcmp(way, "no-header"))
        replace_header(file, NULL);
    else if (!strcmp(way, "encodings"))
        add_encoding(file);
    else
        change_acquisitions(file, way);
    check(H5Fclose(file) >= 0, "closing");
    return 0;
}
