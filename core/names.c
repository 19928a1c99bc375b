/* The entries of a table by name. SPDX-License-Identifier: Apache-2.0 */
#include "core/names.h"

#include <string.h>

#include "core/text.h"

lmr_names lmr_list_names(lmr_name_at at)
{
    lmr_names list = {""};
    for (int i = 0; at(i); i++) {
        const char *next = at(i + 1) ? ", " : " or ";
        lmr_append(list.s, sizeof list.s, "%s%s", i ? next : "", at(i));
    }
    return list;
}

larmor_status lmr_find_name(const char *what, const char *name, lmr_name_at at, int *entry)
{
    for (int i = 0; name && at(i); i++) {
        *entry = i;
        if (!strcmp(name, at(i))) return LARMOR_OK;
    }
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: got \"%s\", expected %s", what, name ? name : "(null)",
                    lmr_list_names(at).s);
}
