/* Small scans in the layouts that writers choose, to be damaged: make_seeds FOLDER. Each has the same readouts and
 * the same header. SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include "tests/io/mrd_scan.h"

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        layout how;
        int blanks; /* behind the header: room for another one */
    } seeds[] = {{"single", {0}, 0},
                 {"chunks", {.chunk = 8, .utf8 = 1}, 0},
                 {"packed", {.chunk = 8, .filters = 1, .fixed_length = 1}, 0},
                 {"contiguous", {.contiguous = 1, .xml_chunked = 1}, 0},
                 {"header", {.fixed_length = 1}, 8000}};
    if (argc != 2) return 2;
    (void)make_scan_folder;
    static const space plane = {{16, 16, 1}, {16, 16, 1}, {160, 160, 5}, {160, 160, 5}, "radial", ""};
    OWNED(scan) *s = empty_scan(&plane);
    for (int i = 0; i < 12; i++) set_spoke(s, add_readout(s, 16, 2, 2), M_PI * i / 12, 8, 8);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        if (seeds[i].blanks) sprintf(s->xml + strlen(s->xml), "%*s", seeds[i].blanks, "");
        if (snprintf(path, sizeof path, "%s/%s.h5", argv[1], seeds[i].name) >= (int)sizeof path) return 2;
        write_scan_as(s, &seeds[i].how);
    }
    return 0;
}
