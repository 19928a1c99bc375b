/* DICOM files as DCMTK reads them. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/dicom_read.h"

#include <dcmtk/config/osconfig.h>

#include <dcmtk/dcmdata/dctk.h>

#include <cmath>
#include <cstdlib>

struct dicom {
    DcmFileFormat file;
    OFString text;
};

static DcmTagKey key_of(uint32_t tag)
{
    return DcmTagKey(static_cast<Uint16>(tag >> 16), static_cast<Uint16>(tag & 0xffff));
}

dicom *dicom_open(const char *path)
{
    dicom *d = new dicom;
    if (d->file.loadFile(path).good() && d->file.getDataset()->getOriginalXfer() == EXS_LittleEndianExplicit)
        return d;
    delete d;
    return nullptr;
}

void dicom_close(dicom *d)
{
    delete d;
}

const char *dicom_text(dicom *d, uint32_t tag)
{
    if (!d->file.getDataset()->tagExists(key_of(tag))) return nullptr;
    if (d->file.getDataset()->findAndGetOFStringArray(key_of(tag), d->text).bad()) d->text = "";
    return d->text.c_str();
}

double dicom_number(dicom *d, uint32_t tag, int i)
{
    OFString text;
    if (d->file.getDataset()->findAndGetOFString(key_of(tag), text, static_cast<unsigned long>(i)).bad()) return NAN;
    return std::strtod(text.c_str(), nullptr);
}

double dicom_of_frame(dicom *d, int frame, uint32_t group, uint32_t tag, int i)
{
    DcmItem *item = nullptr, *inner = nullptr;
    OFString text;
    const DcmTagKey of = key_of(frame < 0 ? 0x52009229 : 0x52009230);
    if (d->file.getDataset()->findAndGetSequenceItem(of, item, frame < 0 ? 0 : frame).bad() ||
        item->findAndGetSequenceItem(key_of(group), inner, 0).bad() ||
        inner->findAndGetOFString(key_of(tag), text, static_cast<unsigned long>(i)).bad())
        return NAN;
    return std::strtod(text.c_str(), nullptr);
}

const uint16_t *dicom_pixels(dicom *d, long *count)
{
    const Uint16 *pixels = nullptr;
    unsigned long all = 0;
    if (d->file.getDataset()->findAndGetUint16Array(DCM_PixelData, pixels, &all).bad()) return nullptr;
    *count = static_cast<long>(all);
    return pixels;
}
