"""What xla/abi.h says of XLA's C interface is what the header of jaxlib has. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

ffi = pytest.importorskip("jax.ffi")

ROOT = pathlib.Path(__file__).parents[3]
MEMBERS = {  # of larmor's structs, and of XLA's
    ("lmr_xla_extension", "XLA_FFI_Metadata_Extension"): {"size": "extension_base.struct_size",
                                                          "type": "extension_base.type",
                                                          "next": "extension_base.next"},
    ("lmr_xla_version", "XLA_FFI_Api_Version"): {"major": "major_version", "minor": "minor_version"},
    ("lmr_xla_error_args", "XLA_FFI_Error_Create_Args"): {"message": "message", "code": "errc"},
    ("lmr_xla_stream_args", "XLA_FFI_Stream_Get_Args"): {"context": "ctx", "stream": "stream"},
    ("lmr_xla_ordinal_args", "XLA_FFI_DeviceOrdinal_Get_Args"): {"context": "ctx", "ordinal": "device_ordinal"},
    ("lmr_xla_api", "XLA_FFI_Api"): {"size": "struct_size", "version": "api_version", "error": "XLA_FFI_Error_Create",
                                     "stream": "XLA_FFI_Stream_Get", "ordinal": "XLA_FFI_DeviceOrdinal_Get"},
    ("lmr_xla_buffer", "XLA_FFI_Buffer"): {"dtype": "dtype", "data": "data", "rank": "rank", "dims": "dims"},
    ("lmr_xla_buffers", "XLA_FFI_Args"): {"count": "size", "types": "types", "at": "args"},
    ("lmr_xla_buffers", "XLA_FFI_Rets"): {"count": "size", "types": "types", "at": "rets"},
    ("lmr_xla_span", "XLA_FFI_ByteSpan"): {"text": "ptr", "length": "len"},
    ("lmr_xla_scalar", "XLA_FFI_Scalar"): {"dtype": "dtype", "value": "value"},
    ("lmr_xla_attributes", "XLA_FFI_Attrs"): {"count": "size", "types": "types", "names": "names", "at": "attrs"},
    ("lmr_xla_frame", "XLA_FFI_CallFrame"): {"extension": "extension_start", "api": "api", "context": "ctx",
                                             "stage": "stage", "arguments": "args", "results": "rets",
                                             "attributes": "attrs"},
    ("lmr_xla_metadata", "XLA_FFI_Metadata"): {"size": "struct_size", "version": "api_version", "traits": "traits"},
    ("lmr_xla_metadata_extension", "XLA_FFI_Metadata_Extension"): {"extension": "extension_base",
                                                                   "metadata": "metadata"}}
NUMBERS = {"LMR_XLA_S64": "XLA_FFI_DataType_S64", "LMR_XLA_F32": "XLA_FFI_DataType_F32",
           "LMR_XLA_F64": "XLA_FFI_DataType_F64", "LMR_XLA_C64": "XLA_FFI_DataType_C64",
           "LMR_XLA_C128": "XLA_FFI_DataType_C128", "LMR_XLA_BUFFER": "XLA_FFI_ArgType_BUFFER",
           "LMR_XLA_SCALAR": "XLA_FFI_AttrType_SCALAR", "LMR_XLA_METADATA": "XLA_FFI_Extension_Metadata",
           "LMR_XLA_CANCELLED": "XLA_FFI_Error_Code_CANCELLED",
           "LMR_XLA_INVALID": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
           "LMR_XLA_EXHAUSTED": "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED",
           "LMR_XLA_UNIMPLEMENTED": "XLA_FFI_Error_Code_UNIMPLEMENTED",
           "LMR_XLA_INTERNAL": "XLA_FFI_Error_Code_INTERNAL", "LMR_XLA_MAJOR": "XLA_FFI_API_MAJOR"}


def test_members_and_numbers_are_those_of_jaxlibs_header(tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    lines = ["#include <stddef.h>", '#include "xla/ffi/api/c_api.h"', f'#include "{ROOT}/xla/abi.h"']
    for (ours, theirs), members in MEMBERS.items():
        for a, b in members.items():
            lines.append(f'_Static_assert(offsetof({ours}, {a}) == offsetof({theirs}, {b}), "{theirs}.{b}");')
            lines.append(f'_Static_assert(sizeof((({ours} *)0)->{a}) == sizeof((({theirs} *)0)->{b}), '
                         f'"{theirs}.{b}");')
    lines += [f'_Static_assert((int){a} == (int){b}, "{b}");' for a, b in NUMBERS.items()]
    source = tmp_path / "abi.c"
    source.write_text("\n".join([*lines, ""]))
    done = subprocess.run([compiler, "-std=c11", "-fsyntax-only", "-I", ffi.include_dir(), str(source)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
