/* Values of attributes as DICOM writes them in text (PS3.5, 6.2). SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom/dicom.h"

/* Bytes of the character that begins here, or 0 if none of UTF-8 does. */
static int character(const unsigned char *at)
{
    int bytes = 1;
    if (*at >= 0xf5 || (*at >= 0x80 && *at < 0xc2)) return 0;
    if (*at >= 0xc2) bytes = 2;
    if (*at >= 0xe0) bytes = 3;
    if (*at >= 0xf0) bytes = 4;
    for (int i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if (bytes == 3 && ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] >= 0xa0))) return 0;
    if (bytes == 4 && ((*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] >= 0x90))) return 0;
    return bytes;
}

lmr_dicom_value lmr_dicom_text(const char *text, int most)
{
    lmr_dicom_value v = {""};
    size_t used = 0;
    for (int n = 0; *text && n < most; n++) {
        const int bytes = character((const unsigned char *)text);
        const int plain = bytes == 1 && ((unsigned char)*text < ' ' || *text == '\\' || *text == 127);
        if (used + 5 > sizeof v.s) break;
        if (bytes && !plain)
            memcpy(v.s + used, text, (size_t)bytes);
        else
            v.s[used] = *text == '\\' ? '/' : '?';
        used += bytes && !plain ? (size_t)bytes : 1;
        text += bytes ? bytes : 1;
    }
    v.s[used] = '\0';
    return v;
}

/* The digits of "dd-dd-dd", as many as `pattern` has, where it has another character that one. */
static int digits_of(const char *text, const char *pattern, char *to)
{
    for (; *pattern; pattern++, text++) {
        if (*pattern == 'd' ? !isdigit((unsigned char)*text) : *text != *pattern) return 0;
        if (*pattern == 'd') *to++ = *text;
    }
    *to = '\0';
    return 1;
}

lmr_dicom_value lmr_dicom_date(const char *text)
{
    lmr_dicom_value v = {""};
    if (!digits_of(text, "dddd-dd-dd", v.s) && !digits_of(text, "dddddddd", v.s)) return (lmr_dicom_value){""};
    const int month = 10 * (v.s[4] - '0') + v.s[5] - '0', day = 10 * (v.s[6] - '0') + v.s[7] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31 ? v : (lmr_dicom_value){""};
}

lmr_dicom_value lmr_dicom_time(const char *text)
{
    lmr_dicom_value v = {""};
    if (!digits_of(text, "dd:dd:dd", v.s) || v.s[0] > '2' || v.s[2] > '5' || v.s[4] > '5')
        return (lmr_dicom_value){""};
    text += strlen("dd:dd:dd");
    const size_t digits = *text == '.' ? strspn(text + 1, "0123456789") : 0;
    if (digits) snprintf(v.s + 6, 8, ".%.*s", digits < 6 ? (int)digits : 6, text + 1);
    return v;
}

lmr_dicom_value lmr_dicom_numbers(const double *numbers, int count)
{
    lmr_dicom_value v = {""};
    size_t used = 0;
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(c); /* 0 only asks */
    for (int i = 0; i < count && used < sizeof v.s; i++) {
        char text[32];
        int digits = 10; /* a sign, a point and an exponent of four characters beside them */
        do snprintf(text, sizeof text, "%.*g", digits, numbers[i] == 0 ? 0.0 : numbers[i]);
        while (strlen(text) > 16 && --digits);
        used += (size_t)snprintf(v.s + used, sizeof v.s - used, "%s%s", i ? "\\" : "", text);
    }
    uselocale(before);
    if (c) freelocale(c);
    return v;
}

lmr_dicom_value lmr_dicom_integer(int64_t number)
{
    lmr_dicom_value v;
    snprintf(v.s, sizeof v.s, "%" PRId64, number);
    return v;
}
