/* Choices of options that the library's tables have. SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"

#include <string.h>

#include "args.h"
#include "larmor/larmor.h"
#include "try.h"

const char *choose_trajectory(int i, const char **help)
{
    const larmor_traj_info info = larmor_traj_entry(i);
    *help = info.help;
    return info.name;
}

const char *choose_fit(int i, const char **help)
{
    const char *name = larmor_fit_model_name(i, help);
    if (name || (i && !larmor_fit_model_name(i - 1, NULL))) return name;
    *help = "match of a dictionary";
    return "dictionary";
}

const char *choose_phantom(int i, const char **help)
{
    const larmor_phantom_info info = larmor_phantom_entry(i);
    *help = info.help;
    return info.name;
}

const char *choose_method(int i, const char **help)
{
    static const char *const plain[][2] = {
        {"auto", "tv, or tgv without edges, where samples predict one another, else cg; the log says which"},
        {"cg", "nothing is assumed of the image but a small norm"},
        {"grid", "gridding: the density-compensated adjoint, no iterations"},
        {"nlinv", "image and coil maps of each frame at once, held to those of the frame before"}};
    enum { PLAIN = sizeof plain / sizeof *plain };
    if (i < PLAIN) {
        *help = plain[i][1];
        return plain[i][0];
    }
    const larmor_regulariser_info info = larmor_regulariser_entry(i - PLAIN);
    *help = info.help;
    return info.name;
}

const char *choose_maps_method(int i, const char **help)
{
    if (i == 0) return "auto";
    const larmor_maps_method_info info = larmor_maps_method_entry(i - 1);
    *help = info.help;
    return info.name;
}

const char *choose_unit(int i, const char **help APP_UNUSED)
{
    return larmor_traj_unit_entry(i).name;
}

const char *choose_unit_or_auto(int i, const char **help)
{
    return i ? choose_unit(i - 1, help) : "auto";
}

static int is_unit(const char *text, size_t length)
{
    const char *name;
    for (int i = 0; (name = larmor_traj_unit_entry(i).name); i++)
        if (strlen(name) == length && !strncmp(name, text, length)) return 1;
    return 0;
}

int choose_are_units(const char *text)
{
    enum { MOST_AXES = 3 };
    int count = 0;
    if (!strcmp(text, "auto")) return 1;
    for (const char *p = text; p; p = *p == ',' ? p + 1 : NULL) {
        const size_t length = strcspn(p, ",");
        if (count++ == MOST_AXES || !is_unit(p, length)) return 0;
        p += length;
    }
    return 1;
}

int choose_is_ramp(const char *text)
{
    enum { LEAST_TIMES = 3, MOST_TIMES = 5, LONGEST_US = 1000000 };
    app_list times;
    if (!strcmp(text, "auto") || !strcmp(text, "even")) return 1;
    if (!app_read_numbers(text, MOST_TIMES, 0, &times) || times.count < LEAST_TIMES) return 0;
    for (int i = 0; i < times.count; i++)
        if (times.value[i] < 0 || times.value[i] > LONGEST_US) return 0;
    return 1;
}

int choose_is_rows(const char *text)
{
    static const char name[] = "trajectory";
    const size_t length = strlen(name);
    return text && !strncmp(text, name, length) && (!text[length] || text[length] == ':');
}

const char *choose_suffix(int i, const char **help APP_UNUSED)
{
    return larmor_format_entry(i).suffix;
}
