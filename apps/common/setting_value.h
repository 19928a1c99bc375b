/* Values of the library's settings as text. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Of a larmor_recon_opts, by the member's name: 1 if the text became its value. */
int app_setting_read(void *opts, const char *name, const char *text);

typedef struct app_setting_text {
    char s[128];
} app_setting_text;
app_setting_text app_setting_value(const void *opts, const char *name);

/* 1 if its value is neither the default nor the same as that, which is `preset` or NULL. */
int app_setting_differs(const void *opts, const char *name, const char *preset);
