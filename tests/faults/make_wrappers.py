#!/usr/bin/env python3
"""Wrappers of every function in larmor's tables of a device, in C, from the headers: each counts its calls and lets one fail.

Usage: make_wrappers.py ROOT >wrappers.inc.  SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import sys

# (header, struct, what it is called); tables with one instance for each precision, or with one
TABLES = [
    ("core/backend.h", "lmr_vec", "vec", 2), ("core/backend.h", "lmr_fft", "fft", 2),
    ("core/backend.h", "lmr_conv", "conv", 2), ("core/backend.h", "lmr_la", "la", 2),
    ("core/backend.h", "lmr_mark", "mark", 1), ("core/backend.h", "lmr_graph", "graph", 1),
    ("core/backend.h", "lmr_backend", "device", 1),
    ("nufft/kernels.h", "lmr_nufft_kernels", "nufft", 2),
    ("nufft/precompute_kernels.h", "lmr_precompute_kernels", "precompute", 2),
    ("recon/kernels.h", "lmr_recon_kernels", "recon", 2), ("recon/kernels_sparse.h", "lmr_sparse_kernels", "sparse", 2),
    ("recon/kernels_series.h", "lmr_series_kernels", "series", 2),
]


def members(root, header, struct):
    """[(name, [parameter])] of the struct's functions that return a status."""
    with open(os.path.join(root, header), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
    body = re.search(r"typedef struct %s \{(.*?)\n\} %s;" % (struct, struct), text, re.S).group(1)
    found = []
    for name, parameters in re.findall(r"larmor_status \(\*(\w+)\)\(([^;]*)\);", body):
        found.append((name, [" ".join(p.split()) for p in parameters.split(",")]))
    return found


def name_of(parameter):
    return re.search(r"(\w+)(?:\[\d*\])*$", parameter).group(1)


def main():
    root = sys.argv[1]
    entries = []
    for header, struct, table, precisions in TABLES:
        print("static const %s *inner_%s[%d];\n" % (struct, table, precisions))
        wrapped = members(root, header, struct)
        for precision in range(precisions):
            for name, parameters in wrapped:
                number = len(entries)
                if not precision:
                    entries.append("%s.%s" % (table, name))
                else:
                    number = entries.index("%s.%s" % (table, name))
                print("static larmor_status %s_%s_%d(%s)\n{" % (table, name, precision, ", ".join(parameters)))
                print("    if (fails(%d)) return injected(%d);" % (number, number))
                print("    return passed_on(inner_%s[%d]->%s(%s));\n}\n" % (
                    table, precision, name, ", ".join(map(name_of, parameters))))
        print("static void wrap_%s(const %s *inner, int precision, %s *out)\n{" % (table, struct, struct))
        print("    inner_%s[precision] = inner;\n    *out = *inner;" % table)
        for precision in range(precisions):
            for name, _ in wrapped:
                print("    if (precision == %d && inner->%s) out->%s = %s_%s_%d;" % (precision, name, name, table, name,
                                                                                     precision))
        print("}\n")
    print("static const char *const entries[] = {%s};" % ", ".join('"%s"' % e for e in entries))


if __name__ == "__main__":
    main()
