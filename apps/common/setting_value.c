/* Values of the library's settings as text. SPDX-License-Identifier: Apache-2.0 */
#include "setting_value.h"

#include <string.h>

#include "larmor/larmor.h"

int app_setting_read(void *opts, const char *name, const char *text)
{
    ((larmor_recon_opts *)opts)->size = sizeof(larmor_recon_opts);
    return !larmor_setting_set(opts, name, text);
}

app_setting_text app_setting_value(const void *opts, const char *name)
{
    app_setting_text text = {""};
    larmor_recon_opts copy = *(const larmor_recon_opts *)opts;
    copy.size = sizeof copy;
    if (larmor_setting_text(&copy, name, text.s, sizeof text.s)) text.s[0] = 0;
    return text;
}

int app_setting_differs(const void *opts, const char *name, const char *preset)
{
    larmor_recon_opts plain = {.size = sizeof plain}, same = plain;
    const app_setting_text own = app_setting_value(opts, name);
    if (preset) app_setting_read(&same, name, preset);
    return strcmp(own.s, app_setting_value(&plain, name).s) != 0 &&
           strcmp(own.s, app_setting_value(&same, name).s) != 0;
}
