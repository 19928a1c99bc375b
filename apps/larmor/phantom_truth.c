/* larmor phantom --truth and --truth-maps. SPDX-License-Identifier: Apache-2.0 */
#include "phantom_truth.h"

#include "fit_inputs.h"
#include "recon.h"

enum { ROOM = 4096 };

typedef struct outputs {
    larmor_output *out[LARMOR_MOST_TRUTHS];
} outputs;

static void free_outputs(outputs *o)
{
    for (int i = 0; i < LARMOR_MOST_TRUTHS; i++) larmor_output_free(o->out[i]);
}

int phantom_write_images(const larmor_simulation *simulation, const char *bins, const char *name, larmor_output *out)
{
    larmor_bins_opts opts = {.heart = 0};
    APP_FREED_BY(larmor_expected_free) larmor_expected expected = {NULL, 0};
    if (bins) {
        recon_read_bins(bins, &opts);
        APP_TRY(APP_INPUT, larmor_simulation_states(simulation, opts.heart, opts.breath, &expected));
    } else {
        APP_TRY(APP_RUN, larmor_simulation_expect(simulation, &expected));
    }
    APP_TRY(APP_RUN, larmor_image_write(out, expected.image, expected.count, NULL));
    if (bins)
        app_log("wrote %s: %d image%s of true states", name, expected.count, app_s(expected.count));
    else
        app_log("wrote %s: the image at this resolution", name);
    return APP_DONE;
}

int phantom_write_truth(const larmor_simulation *simulation, const char *prefix, int force)
{
    APP_FREED_BY(larmor_truth_free) larmor_truth truth = {.count = 0};
    APP_FREED_BY(free_outputs) outputs o = {{NULL}};
    char name[LARMOR_MOST_TRUTHS][ROOM];
    const char *names[LARMOR_MOST_TRUTHS];
    APP_TRY(APP_INPUT, larmor_simulation_truth(simulation, &truth));
    for (int i = 0; i < truth.count; i++) {
        APP_TRY(APP_INPUT, fit_name_map(prefix, truth.name[i], "", name[i], ROOM));
        names[i] = name[i];
    }
    APP_TRY(APP_RUN, app_outputs_open(names, truth.count, force, o.out));
    for (int i = 0; i < truth.count; i++) {
        APP_TRY(APP_RUN, larmor_image_write(o.out[i], &truth.map[i], 1, NULL));
        app_log("wrote %s: the truth of %s", names[i], truth.name[i]);
    }
    return APP_DONE;
}
