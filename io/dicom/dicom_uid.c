/* UIDs that follow from what they name, so that the same reconstruction has the same ones again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/dicom/dicom.h"

lmr_identity lmr_identity_new(void)
{
    return (lmr_identity){{UINT64_C(0x6c61726d6f72), UINT64_C(0x4449434f4d)}};
}

void lmr_identity_mix(lmr_identity *identity, const void *data, size_t bytes)
{
    for (int i = 0; i < 2; i++) identity->half[i] = lmr_hash(identity->half[i], data, bytes);
    identity->half[1] ^= identity->half[0] << 31 | identity->half[0] >> 33;
}

lmr_dicom_value lmr_dicom_uid(lmr_identity identity, const char *name, int64_t number)
{
    lmr_dicom_value v;
    char digits[40] = "";
    size_t at = sizeof digits - 1;
    lmr_identity_mix(&identity, name, strlen(name));
    lmr_identity_mix(&identity, &number, sizeof number);
    const uint64_t high = (identity.half[0] & ~UINT64_C(0xf000)) | UINT64_C(0x8000);
    const uint64_t low = (identity.half[1] & ~(UINT64_C(3) << 62)) | UINT64_C(1) << 63;
    uint32_t part[4] = {(uint32_t)(high >> 32), (uint32_t)high, (uint32_t)(low >> 32), (uint32_t)low};
    do { /* divide by ten */
        uint64_t rest = 0;
        for (int i = 0; i < 4; i++) {
            rest = rest << 32 | part[i];
            part[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[--at] = (char)('0' + rest);
    } while (at && (part[0] || part[1] || part[2] || part[3]));
    snprintf(v.s, sizeof v.s, "2.25.%s", digits + at);
    return v;
}

int lmr_is_uid(const char *text)
{
    const size_t length = strlen(text);
    if (!length || length > 64 || strspn(text, "0123456789.") != length) return 0;
    for (const char *part = text; part; part = strchr(part, '.')) {
        part += *part == '.';
        if (!*part || *part == '.' || (part[0] == '0' && part[1] && part[1] != '.')) return 0;
    }
    return 1;
}
