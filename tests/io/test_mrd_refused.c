/* Bad ISMRMRD files: each gets its one line, none a crash, and none is changed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

static hid_t file; /* between begin and end */

/* A file with everything of a good scan except what `missing` says: "xml", "data" or "". */
static void begin(const char *missing)
{
    OWNED(scan) *s = radial_scan(4, 2);
    file = new_file();
    if (strcmp(missing, "xml") != 0) write_xml(file, s, &(layout){0});
    if (strcmp(missing, "data") != 0) write_readouts(file, s, &(layout){0});
}

/* Close it; it is refused with this line, and unchanged afterwards. */
static void end_refused(const char *line)
{
    H5Fclose(file);
    size_t before, after;
    HEAP unsigned char *a = get_file(path, &before);
    refused(line);
    HEAP unsigned char *b = get_file(path, &after);
    assert_int_equal(before, after);
    assert_memory_equal(a, b, before);
}

static void add_dataset(const char *name, hid_t type, int rank, const hsize_t *dims, hid_t list)
{
    const hid_t data_space = H5Screate_simple(rank, dims, NULL);
    H5Dclose(H5Dcreate2(file, name, type, data_space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Sclose(data_space);
}

/* ---- the path ---- */

WITH_SCAN(what_cannot_be_opened_is_said)
{
    unlink(path);
    refused_with(NULL, LARMOR_ERR_IO, "no such file.");
    mkdir(path, 0700);
    refused_with(NULL, LARMOR_ERR_IO, "is a directory, not an MRD file.");
    rmdir(path);
    mkfifo(path, 0600); /* must not wait for a writer */
    refused_with(NULL, LARMOR_ERR_IO, "not a regular file (device or pipe).");
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    refused_with(NULL, LARMOR_ERR_IO, "not a regular file (device or pipe).");
    unlink(path);
    put_file(path, "", 0);
    if (!geteuid()) return; /* root may read everything */
    chmod(path, 0);
    char line[128];
    snprintf(line, sizeof line, "permission denied; run 'ls -l %s'.", path);
    refused_with(NULL, LARMOR_ERR_IO, line);
    chmod(path, 0600);
}

WITH_SCAN(what_is_not_hdf5_is_said)
{
    put_file(path, "", 0);
    refused("empty file.");
    put_file(path, "RIFF\0\0\0\0WAVE", 12);
    refused("not HDF5 (first bytes are \"RIFF\"). MRD raw data is needed.");
    put_file(path, "\x1b[2J", 4);
    refused("not HDF5 (first bytes are \"?[2J\"). MRD raw data is needed.");
    put_file(path, "\211HDF\r\n\032\n", 8);
    refused("file cut short: 8 of 48 bytes. Copy it again.");
}

WITH_SCAN(a_superblock_of_a_newer_hdf5_is_named)
{
    char bytes[96] = "\211HDF\r\n\032\n\4\10\10", line[256];
    snprintf(
        line, sizeof line,
        "written by a newer HDF5 (superblock of version 4), which HDF5 %d.%d does not read. Write it with libver "
        "\"v114\", or use the h5repack of a newer HDF5.",
        H5_VERS_MAJOR, H5_VERS_MINOR);
    put_file(path, bytes, sizeof bytes);
    refused(line);
    bytes[8] = 77; /* rather a byte that is wrong */
    put_file(path, bytes, sizeof bytes);
    refused("damaged HDF5 structure (superblock). Copy it again.");
}

WITH_SCAN(version_2_of_mrd_is_named)
{
    static const char line[] = "MRD version 2 of another schema than that of 2.1, or cut short in it. Convert it to "
                               "HDF5 of version 1 by mrd_to_ismrmrd and ismrmrd_stream_to_hdf5.";
    put_file(path, "yardl\1\0\0\0\2{}", 12);
    refused(line);
    put_file(path, "yardl", 5);
    refused(line);
    put_file(path, "yard", 4);
    refused("not HDF5 (first bytes are \"yard\"). MRD raw data is needed.");
    put_file(path, "yardy\1\0\0\0\2{}", 12);
    refused("not HDF5 (first bytes are \"yard\"). MRD raw data is needed.");
}

/* ---- groups and links ---- */

WITH_SCAN(missing_parts_are_named)
{
    begin("xml");
    H5Lmove(file, "dataset", file, "2018-05-13", H5P_DEFAULT, H5P_DEFAULT);
    end_refused("no group /dataset; found /2018-05-13. Use opts.group.");
    begin("data");
    H5Lmove(file, "dataset", file, "2018-05-13", H5P_DEFAULT, H5P_DEFAULT);
    end_refused("no group /dataset; found /2018-05-13. Use opts.group.");
    begin("xml");
    end_refused("/dataset has no xml header.");
    begin("data");
    end_refused("no acquisitions (/dataset/data is missing).");
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    end_refused("no group /dataset; the file is empty.");
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add_dataset("dataset", H5T_NATIVE_INT, 0, NULL, H5P_DEFAULT);
    end_refused("/dataset is not a group. Use opts.group.");
}

static void add_group(const char *name)
{
    H5Gclose(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

/* Whatever is beside it; and that of the same scan in /dataset is the same. */
static void check_chosen(const char *warned)
{
    OWNED(larmor_raw) *raw = opened_with(NULL);
    const larmor_raw_info info = larmor_raw_describe(raw);
    larmor_acquisition a;
    assert_int_equal(info.acquisitions, 4);
    assert_ok(larmor_raw_acquisition(raw, 3, &a));
    assert_float_equal(a.data[2 * 64 + 2], 4 + 1. / 8, 0);
    assert_float_equal(a.data[2 * 64 + 3], 1. / 1024, 0);
    assert_int_equal(strstr(info.warnings, "no scan in") != NULL, warned != NULL);
    if (warned) assert_non_null(strstr(info.warnings, warned));
}

WITH_SCAN(the_only_group_of_a_scan_is_read_with_a_warning)
{
    static const char line[] = "no scan in /dataset: /2018-05-13 is read, the only group that has xml and data.\n";
    begin("");
    H5Lmove(file, "dataset", file, "2018-05-13", H5P_DEFAULT, H5P_DEFAULT);
    add_group("2018-05-12");
    H5Lcreate_soft("/2018-05-13", file, "z", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/etc/hostname", "/", file, "a", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    check_chosen(line);
    refused_with(&(larmor_raw_opts){.group = "dataset"}, LARMOR_ERR_FORMAT,
                 "no group /dataset; found /2018-05-12, /2018-05-13, /a, .... Use opts.group.");
    static const char *const named[] = {"2018-05-13", "/2018-05-13"};
    for (int i = 0; i < 2; i++) {
        OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.group = named[i]});
        assert_null(strstr(larmor_raw_describe(raw).warnings, "no scan in"));
    }
    begin("");
    H5Lmove(file, "dataset", file, "2018-05-13", H5P_DEFAULT, H5P_DEFAULT);
    add_group("dataset"); /* of images, for one */
    H5Fclose(file);
    check_chosen(line);
    begin("");
    H5Lcreate_hard(file, "dataset", file, "other", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    check_chosen(NULL);
}

WITH_SCAN(groups_that_could_each_be_the_scan_are_refused)
{
    begin("");
    H5Lmove(file, "dataset", file, "one", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "one", file, "two", H5P_DEFAULT, H5P_DEFAULT);
    end_refused("no group /dataset; found /one, /two. Use opts.group.");
    begin("");
    H5Lmove(file, "dataset", file, "scan", H5P_DEFAULT, H5P_DEFAULT);
    char name[16];
    for (int i = 0; i < 64; i++) { /* more than are looked into */
        snprintf(name, sizeof name, "a%02d", i);
        add_group(name);
    }
    end_refused("no group /dataset; found /a00, /a01, /a02, .... Use opts.group.");
    begin(""); /* a damaged scan is not left for another */
    H5Lmove(file, "dataset", file, "kept", H5P_DEFAULT, H5P_DEFAULT);
    add_group("dataset");
    H5Lcreate_hard(file, "kept/data", file, "dataset/data", H5P_DEFAULT, H5P_DEFAULT);
    end_refused("/dataset has no xml header.");
}

/* Beside a header that was never written, and of another shape. */
WITH_SCAN(an_unfinished_file_of_fastmri_is_refused)
{
    const hid_t complex_type = H5Tcreate(H5T_COMPOUND, 8), text = H5Tcopy(H5T_C_S1);
    H5Tinsert(complex_type, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(complex_type, "i", 4, H5T_NATIVE_FLOAT);
    H5Tset_size(text, H5T_VARIABLE);
    static const hsize_t dims[] = {2, 4, 16, 8};
    for (int single = 0; single < 2; single++) {
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        add_dataset("kspace", complex_type, 4 - single, dims + single, H5P_DEFAULT);
        add_dataset("ismrmrd_header", text, 0, NULL, H5P_DEFAULT);
        end_refused("/ismrmrd_header was not written to its end: element 0 of 1 is missing.");
    }
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add_dataset("kspace", complex_type, 4, dims, H5P_DEFAULT);
    end_refused("no group /dataset; found /kspace. Use opts.group.");
    H5Tclose(text);
    H5Tclose(complex_type);
}

WITH_SCAN(links_and_storage_outside_the_file_are_refused)
{
    begin("data");
    H5Lcreate_external("/etc/hostname", "/data", file, "dataset/data", H5P_DEFAULT, H5P_DEFAULT);
    end_refused("/dataset/data is an external link; only data inside the file is read.");
    begin("data");
    H5Lcreate_soft("/dataset/data", file, "dataset/data", H5P_DEFAULT, H5P_DEFAULT); /* to itself */
    end_refused("/dataset/data is a soft link; only data inside the file is read.");
    begin("");
    H5Lmove(file, "dataset", file, "real", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/real", file, "dataset", H5P_DEFAULT, H5P_DEFAULT);
    end_refused("/dataset is a soft link; only data inside the file is read.");

    const hsize_t n = 4;
    const hid_t outside = H5Pcreate(H5P_DATASET_CREATE), text = H5Tcopy(H5T_C_S1);
    H5Pset_external(outside, "/etc/hostname", 0, 4);
    H5Tset_size(text, 4);
    begin("xml");
    add_dataset("dataset/xml", text, 1, (hsize_t[]){1}, outside);
    end_refused("/dataset/xml is stored in an external file; only data inside the file is read.");
    H5Tclose(text);
    H5Pclose(outside);

    const hid_t virtual = H5Pcreate(H5P_DATASET_CREATE), data_space = H5Screate_simple(1, &n, NULL);
    H5Pset_virtual(virtual, data_space, "/etc/hostname", "/dataset/data", data_space);
    begin("data");
    add_dataset("dataset/data", H5T_NATIVE_INT, 1, &n, virtual);
    end_refused("/dataset/data is a virtual dataset; only data inside the file is read.");
    H5Pclose(virtual);
    H5Sclose(data_space);
}

/* ---- the header's dataset ---- */

WITH_SCAN(odd_headers_are_refused)
{
    OWNED(scan) *s = radial_scan(2, 1);
    write_scan_as(s, &(layout){.xml_elements = 3});
    refused("/dataset/xml holds 3 elements, 1 expected.");
    *s->xml = '\0';
    write_scan(s);
    refused("header is empty.");
    write_scan_as(s, &(layout){.fixed_length = 1});
    refused("header is empty.");
    strcpy(s->xml, "<ismrmrdHeader>\n<encoding>\n</ismrmrdHeader>");
    write_scan(s);
    refused("header line 2: tag <encoding> not closed.");

    begin("xml");
    add_dataset("dataset/xml", H5T_NATIVE_INT, 1, (hsize_t[]){1}, H5P_DEFAULT);
    end_refused("/dataset/xml is integer[1], a string expected.");
    begin("xml");
    H5Gclose(H5Gcreate2(file, "dataset/xml", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    end_refused("/dataset/xml is a group, not a header.");
    begin("xml");
    const hid_t huge = H5Tcopy(H5T_C_S1);
    H5Tset_size(huge, 104858931);
    add_dataset("dataset/xml", huge, 0, NULL, H5P_DEFAULT);
    H5Tclose(huge);
    end_refused("header is 104858931 bytes, limit 16777216.");
}

WITH_SCAN(a_matrix_that_needs_too_much_memory_is_refused)
{
    const space huge = {{65535, 65535, 65535}, {64, 64, 64}, {64, 64, 64}, {64, 64, 64}, "cartesian", ""};
    scan *s = empty_scan(&huge);
    add_readout(s, 64, 1, 0);
    write_scan(s);
    refused_with(NULL, LARMOR_ERR_MEMORY,
                 "matrix 65535 x 65535 x 65535 needs 2.0 PiB per image; limit is 64 GiB (opts.memory).");
    free_scan(s);
    s = radial_scan(8, 3);
    write_scan(s);
    refused_with(&(larmor_raw_opts){.memory = 1 << 14}, LARMOR_ERR_MEMORY,
                 "matrix 64 x 64 x 1 needs 32 KiB per image; limit is 16 KiB (opts.memory).");
    free_scan(s);
    const space small = {{4, 4, 1}, {4, 4, 1}, {4, 4, 1}, {4, 4, 1}, "radial", ""};
    s = empty_scan(&small);
    for (int i = 0; i < 10; i++) add_readout(s, 1024, 4, 0);
    write_scan(s);
    refused_with(&(larmor_raw_opts){.memory = 1 << 14}, LARMOR_ERR_MEMORY,
                 "samples need 320 KiB; limit is 16 KiB (opts.memory).");
    free_scan(s);
    const space far = {{4, 4, 1}, {4, 4, 1}, {1e6, 4, 1}, {4, 4, 1}, "radial", ""};
    s = empty_scan(&far);
    add_readout(s, 4, 1, 0);
    write_scan(s);
    refused("header: encoding 1: field of view 1e+06 mm with voxels of 1 mm needs matrix 1000000; at most 65535 "
            "expected.");
    free_scan(s);
}

/* ---- the acquisitions' dataset ---- */

WITH_SCAN(what_is_not_acquisitions_is_described)
{
    begin("data");
    H5Gclose(H5Gcreate2(file, "dataset/data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    end_refused("/dataset/data is a group, not acquisitions.");
    const hid_t complex_type = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(complex_type, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(complex_type, "i", 4, H5T_NATIVE_FLOAT);
    begin("data");
    add_dataset("dataset/data", complex_type, 4, (hsize_t[]){4, 2, 16, 16}, H5P_DEFAULT);
    H5Tclose(complex_type);
    end_refused("/dataset/data is complex[4][2][16][16], not MRD acquisitions (a fastMRI file?).");
    begin("data");
    add_dataset("dataset/data", H5T_NATIVE_FLOAT, 0, NULL, H5P_DEFAULT);
    end_refused("/dataset/data is float, not MRD acquisitions.");
    const hid_t whole = readout_type(NULL);
    begin("data");
    add_dataset("dataset/data", whole, 2, (hsize_t[]){2, 2}, H5P_DEFAULT);
    H5Tclose(whole);
    end_refused("/dataset/data is compound[2][2], not MRD acquisitions.");
    static const char *const parts[] = {"head", "traj", "data"};
    scan *s = radial_scan(2, 1);
    for (int i = 0; i < 3; i++) {
        char line[80];
        write_scan_as(s, &(layout){.leave_out = parts[i]});
        snprintf(line, sizeof line, "acquisitions lack member \"%s\".", parts[i]);
        refused(line);
    }
    free_scan(s);
    s = empty_scan(&plane64);
    write_scan(s);
    refused("no acquisitions.");
    free_scan(s);
}

WITH_SCAN(members_of_another_type_are_refused)
{
    begin("data");
    const hid_t list = H5Tvlen_create(H5T_NATIVE_DOUBLE), type = readout_type("data");
    H5Tinsert(type, "data", offsetof(readout, data), list);
    add_dataset("dataset/data", type, 1, (hsize_t[]){1}, H5P_DEFAULT);
    H5Tclose(list);
    H5Tclose(type);
    end_refused("acquisitions: member \"data\" is not a list of floats (little-endian).");

    begin("data");
    const hid_t floats = H5Tvlen_create(H5T_NATIVE_FLOAT), head = H5Tcreate(H5T_COMPOUND, 16);
    const hid_t both = H5Tcreate(H5T_COMPOUND, 48);
    H5Tinsert(head, "flags", 0, H5T_STD_U64BE);
    H5Tinsert(both, "head", 0, head);
    H5Tinsert(both, "traj", 16, floats);
    H5Tinsert(both, "data", 32, floats);
    const hid_t list1 = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_alloc_time(list1, H5D_ALLOC_TIME_EARLY);
    add_dataset("dataset/data", both, 1, (hsize_t[]){1}, list1);
    H5Pclose(list1);
    H5Tclose(floats);
    H5Tclose(head);
    H5Tclose(both);
    end_refused("acquisitions: member \"head.flags\" is not unsigned of 64 bits (little-endian).");
}

WITH_SCAN(more_acquisitions_than_the_file_can_hold_are_refused)
{
    OWNED(scan) *s = radial_scan(2, 1);
    static const int64_t claims[] = {2000000000, (INT64_C(1) << 32) + 2, INT64_MAX / 400};
    for (int i = 0; i < 3; i++) {
        struct stat status;
        char line[96];
        write_scan_as(s, &(layout){.claim = claims[i], .last = 1});
        stat(path, &status);
        snprintf(line, sizeof line, "claims %lld acquisitions but has %lld bytes.", (long long)claims[i],
                 (long long)status.st_size);
        refused(line);
    }
}

WITH_SCAN(other_filters_are_refused)
{
    begin("data");
    const hid_t type = readout_type(NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 1, (hsize_t[]){1});
    H5Pset_filter(list, 32001, H5Z_FLAG_OPTIONAL, 0, NULL);
    add_dataset("dataset/data", type, 1, (hsize_t[]){1}, list);
    H5Pclose(list);
    H5Tclose(type);
    end_refused("/dataset/data uses HDF5 filter 32001; only deflate, shuffle and fletcher32 are read. Use h5repack.");
}

/* ---- the acquisitions ---- */

/* A good scan s of four readouts with a change is refused with this line. */
#define CHANGED(change, line)                                                                                        \
    do {                                                                                                             \
        OWNED(scan) *s = radial_scan(4, 2);                                                                          \
        change;                                                                                                      \
        write_scan(s);                                                                                               \
        refused(line);                                                                                               \
    } while (0)

WITH_SCAN(heads_that_disagree_with_their_data_are_refused)
{
    CHANGED(s->r[1].data.len = 16, "acquisition 1: header says 64 samples x 2 channels, 16 numbers stored.");
    CHANGED(s->r[0].data.len = 0, "acquisition 0: header says 64 samples x 2 channels, 0 numbers stored.");
    CHANGED(s->r[2].head.number_of_samples = 63,
            "acquisition 2: header says 63 samples x 2 channels, 256 numbers stored.");
    CHANGED(s->r[3].head.number_of_samples = s->r[3].head.active_channels = 65535,
            "acquisition 3: header says 65535 samples x 65535 channels, 256 numbers stored.");
    CHANGED(s->r[1].traj.len = 10, "acquisition 1: trajectory has 10 numbers, 64 x 2 expected.");
    CHANGED(s->r[1].head.trajectory_dimensions = 0, "acquisition 1: trajectory has 128 numbers, 64 x 0 expected.");
    CHANGED(s->r[2].head.active_channels = 0; s->r[2].data.len = 0, "acquisition 2: 0 channels, 1 to 1024 expected.");
    CHANGED(memset(&s->r[2].head, 0, sizeof s->r[2].head);
            s->r[2].data.len = s->r[2].traj.len = 0, "acquisition 2: 0 samples.");
    CHANGED(s->r[1].head.encoding_space_ref = 9, "acquisition 1: encoding space 9, header has 1.");
    CHANGED(s->r[1].head.center_sample = 65535, "acquisition 1: center sample 65535 of 64.");
    CHANGED(s->r[1].head.discard_pre = s->r[1].head.discard_post = 40, "acquisition 1: discard 40+40 of 64 samples.");
}

WITH_SCAN(data_that_cannot_be_a_scan_are_refused)
{
    CHANGED(for (int i = 0; i < 4; i++) memset(data_of(s, i), 0, 4 * 64 * sizeof(float)), "all data is zero.");
    CHANGED(data_of(s, 2)[17] = -2.4e38f, "values up to 2.4e+38: uninitialised or overflowing data.");
    CHANGED(for (int i = 0; i < 4; i++) s->r[i].head.flags = i % 2 ? LARMOR_ACQ_NOISE : LARMOR_ACQ_NAVIGATION,
            "no acquisitions left after flags (4 read, 2 noise, 2 navigation).");
    CHANGED(for (int i = 0; i < 4; i++) s->r[i].head.flags = LARMOR_ACQ_CALIBRATION,
            "no acquisitions left after flags (4 read, 0 noise, 4 calibration).");
}

WITH_SCAN(cartesian_lines_beyond_the_matrix_are_refused)
{
    const space e = {{16, 16, 4}, {16, 16, 4}, {160, 160, 40}, {160, 160, 40}, "cartesian", ""};
    OWNED(scan) *s = cartesian_scan(&e, 1);
    s->r[5].head.idx.kspace_encode_step_1 = 60000;
    write_scan(s);
    refused("acquisition 5: k-space line 60000 beyond matrix 16.");
    s->r[5].head.idx.kspace_encode_step_1 = 5;
    s->r[6].head.idx.kspace_encode_step_2 = 4;
    s->r[7].head.idx.kspace_encode_step_2 = 9;
    write_scan(s);
    refused("acquisition 7: k-space partition 9 beyond matrix 4.");
}
