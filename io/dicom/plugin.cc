/* The plugin larmor_dicom.so: DICOM files by DCMTK. No exception leaves it, and nothing is printed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dcmtk/config/osconfig.h>

#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/oflog/oflog.h>

#include <exception>
#include <new>

#include "io/dicom/plugin.h"

static const lmr_host *host;

#define FAIL(status, ...) host->fail(status, __func__, __LINE__, __VA_ARGS__)

namespace
{

larmor_status check(const OFCondition &condition, const char *what)
{
    if (condition.good()) return LARMOR_OK;
    return FAIL(LARMOR_ERR_BACKEND, "DCMTK: cannot %s: %s", what, condition.text());
}

/* What `work` throws becomes a status. */
template <typename Work> larmor_status guarded(Work work)
{
    try {
        return work();
    } catch (const std::bad_alloc &) {
        return FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    } catch (const std::exception &e) {
        return FAIL(LARMOR_ERR_BACKEND, "DCMTK: %s", e.what());
    } catch (...) {
        return FAIL(LARMOR_ERR_BACKEND, "DCMTK: an exception without a name");
    }
}

DcmTag tag_of(uint32_t tag)
{
    return DcmTag(static_cast<Uint16>(tag >> 16), static_cast<Uint16>(tag & 0xffff));
}

larmor_status begin(void **file)
{
    *file = nullptr;
    return guarded([&] {
        *file = new DcmFileFormat;
        return LARMOR_OK;
    });
}

larmor_status set(void *file, uint32_t tag, const char *value, const uint32_t *path, int depth)
{
    return guarded([&] {
        DcmItem *item = static_cast<DcmFileFormat *>(file)->getDataset();
        for (int d = 0; d < depth; d++) {
            DcmItem *inner = nullptr;
            const larmor_status st =
                check(item->findOrCreateSequenceItem(tag_of(path[2 * d]), inner, path[2 * d + 1]), "make a sequence");
            if (st) return st;
            item = inner;
        }
        const DcmTag key = tag_of(tag);
        if (key.getEVR() == EVR_SQ) return check(item->insertEmptyElement(key), "make a sequence");
        DcmElement *element = nullptr;
        if (item->putAndInsertString(key, value).good() && item->findAndGetElement(key, element).good() &&
            element->checkValue("1-n").good())
            return LARMOR_OK;
        return check(item->putAndInsertString(key, ""), "set an attribute");
    });
}

larmor_status set_pixels(void *file, const uint16_t *pixels, int64_t count)
{
    return guarded([&] {
        DcmDataset *set = static_cast<DcmFileFormat *>(file)->getDataset();
        return check(set->putAndInsertUint16Array(DCM_PixelData, pixels, static_cast<unsigned long>(count)),
                     "set the pixels");
    });
}

larmor_status write(void *file, lmr_dicom_put put, void *user)
{
    return guarded([&] {
        enum { ROOM = 1 << 16 };
        DcmFileFormat *format = static_cast<DcmFileFormat *>(file);
        const OFVector<char> room(ROOM);
        DcmOutputBufferStream stream(const_cast<char *>(room.data()), ROOM);
        larmor_status st = LARMOR_OK;
        OFCondition condition = EC_StreamNotifyClient;
        format->transferInit();
        while (!st && condition == EC_StreamNotifyClient) {
            condition = format->write(stream, EXS_LittleEndianExplicit, EET_ExplicitLength, nullptr, EGL_recalcGL,
                                      EPD_withoutPadding);
            void *bytes;
            offile_off_t length;
            stream.flushBuffer(bytes, length);
            if (length > 0) st = put(user, bytes, static_cast<size_t>(length));
        }
        format->transferEnd();
        return st ? st : check(condition, "encode a file");
    });
}

void end(void *file)
{
    delete static_cast<DcmFileFormat *>(file);
}

} // namespace

extern "C" __attribute__((visibility("default"))) const void *lmr_dicom_entry(uint32_t abi, const lmr_host *given)
{
    static const lmr_dicom table = {LMR_DICOM_ABI, begin, set, set_pixels, write, end};
    if (abi != LMR_DICOM_ABI) return &table;
    host = given;
    try {
        OFLog::configure(OFLogger::OFF_LOG_LEVEL);
    } catch (...) {
        return &table;
    }
    return &table;
}
