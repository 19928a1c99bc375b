/* Settings from and to text, by their table. SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <locale.h>
#include <pthread.h>

#include "core/core.h"
#include "scan/setting_table.h"
#include "scan/settings.h"

enum { MAX_LAMBDA = 1000000 /* far above those that leave nothing of the image */, MAX_COILS = 65535, AXES = 3 };

int lmr_same_setting(const char *a, const char *b)
{
    if (!b) return 0;
    for (; *a && (*a == '-' ? '_' : *a) == (*b == '-' ? '_' : *b); a++) b++;
    return !*a && !*b;
}

static larmor_status find(const larmor_recon_opts *opts, const char *name, const lmr_setting **found)
{
    const lmr_setting *s;
    for (int i = 0; (s = lmr_setting_at(i)); i++)
        if (lmr_same_setting(name, s->name) || lmr_same_setting(name, s->text.option)) break;
    LMR_REFUSE(!s, LARMOR_ERR_UNSUPPORTED, "recon: options: got \"%s\", expected the name of a setting", name);
    LMR_REFUSE(s->text.type == LARMOR_SETTING_NONE, LARMOR_ERR_ARG, "recon: options: %s has no text; set the member",
               s->name);
    LMR_REFUSE(s->at + s->bytes > opts->size, LARMOR_ERR_ARG, "recon: options: size is %zu, which has no %s",
               opts->size, s->name);
    *found = s;
    return LARMOR_OK;
}

/* ---- names of other tables ---- */

static const char *method_at(int i)
{
    static const char *const plain[] = {LMR_METHOD_AUTO, "cg", "grid", LMR_METHOD_NLINV_NAME};
    return i < 4 ? plain[i] : larmor_regulariser_entry(i - 4).name;
}

static const char *maps_method_at(int i)
{
    return i ? larmor_maps_method_entry(i - 1).name : "auto";
}

enum { MOST_NAMES = 256, LONGEST_NAME = 96 };

/* What has no table stays here: nothing points to the caller's text. */
static const char *kept_name(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char names[MOST_NAMES][LONGEST_NAME];
    static int count;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < count && strcmp(names[i], text) != 0) i++;
    if (i == count && count < MOST_NAMES) snprintf(names[count++], LONGEST_NAME, "%s", text);
    pthread_mutex_unlock(&lock);
    return i < MOST_NAMES ? names[i] : NULL;
}

static const char *kept_penalties(const char *text)
{
    larmor_penalties p;
    return larmor_regulariser_read(text, &p) ? NULL : kept_name(text);
}

/* The name as its table has it, which stays; or NULL. */
static const char *registered(const lmr_setting *s, const char *text)
{
    const char *name;
    const int is_method = s->at == offsetof(larmor_recon_opts, method);
    for (int i = 0; (name = is_method ? method_at(i) : maps_method_at(i)); i++)
        if (!strcmp(name, text)) return name;
    return is_method ? kept_penalties(text) : NULL;
}

/* ---- reading ---- */

/* A finite decimal number from text to end, in the C locale as in others; one that is too small for a double is none,
 * because 0 often has a meaning of its own. */
static int read_number(const char *text, const char *end, int whole, double *value)
{
    const size_t length = strspn(text, whole ? "+-0123456789" : "+-.0123456789eE");
    char *stop;
    if (!length || text + length != end) return 0;
    *value = strtod(text, &stop);
    const char *digit = text + strcspn(text, "123456789eE");
    if (*value == 0 && digit < end && tolower((unsigned char)*digit) != 'e') return 0;
    return stop == end && isfinite(*value) && (!whole || fabs(*value) <= 0x1p53);
}

static int read_bytes(const char *text, double *bytes)
{
    static const char units[] = "KMGT";
    const size_t length = strlen(text);
    const char *unit = length ? strchr(units, toupper((unsigned char)text[length - 1])) : NULL;
    if (!read_number(text, text + length - (unit != NULL), !unit, bytes)) return 0;
    if (unit) *bytes *= pow(1000, (double)(unit - units + 1));
    return *bytes >= 1 && *bytes <= 0x1p53;
}

/* Numbers with commas between, at most `most`; how many, 0 for other texts. */
static int read_numbers(const lmr_setting *s, const char *text, int most, double *values)
{
    const int whole = s->text.type == LARMOR_SETTING_INTEGER || s->text.type == LARMOR_SETTING_SIZES;
    for (int count = 0; count < most; text++) {
        const char *end = text + strcspn(text, ",");
        if (!read_number(text, end, whole, &values[count])) return 0;
        if (!(values[count] >= s->text.low && values[count] <= s->text.high)) return 0;
        count++;
        if (!*end) return count;
        text = end;
    }
    return 0;
}

/* The length of choice i, 0 past the last. */
static size_t choice_at(const lmr_setting *s, int i, const char **choice)
{
    if (s->at == offsetof(larmor_recon_opts, maps_method)) {
        *choice = maps_method_at(i);
        return *choice ? strlen(*choice) : 0;
    }
    *choice = s->text.choices;
    for (; *choice && i > 0; i--) *choice = strchr(*choice, '|') ? strchr(*choice, '|') + 1 : NULL;
    return *choice ? strcspn(*choice, "|") : 0;
}

static double value_of_choice(const lmr_setting *s, int i)
{
    return i > s->high ? s->low : i;
}

static int read_choice(const lmr_setting *s, const char *text, double *value)
{
    const char *choice;
    size_t length;
    for (int i = 0; (length = choice_at(s, i, &choice)); i++) {
        if (strncmp(choice, text, length) != 0 || text[length]) continue;
        *value = value_of_choice(s, i);
        return 1;
    }
    return 0;
}

static int read_lambda(const char *text, larmor_recon_opts *opts)
{
    double value = 0;
    const int is_auto = !strcmp(text, "auto");
    const int in_noise = !strncmp(text, "noise:", 6);
    if (in_noise) text += 6;
    if (!is_auto && !read_number(text, text + strlen(text), 0, &value)) return 0;
    if (!(value >= 0 && value <= MAX_LAMBDA)) return 0;
    opts->lambda_mode = in_noise ? LARMOR_LAMBDA_NOISE : LARMOR_LAMBDA_RELATIVE;
    if (is_auto) opts->lambda_mode = LARMOR_LAMBDA_AUTO;
    opts->lambda = value;
    return 1;
}

static int read_compress(const char *text, larmor_recon_opts *opts)
{
    double value = strcmp(text, "off") ? 0 : -1;
    if (strcmp(text, "auto") != 0 && strcmp(text, "off") != 0) {
        if (!read_number(text, text + strlen(text), 0, &value)) return 0;
        if (!(value > 0 && value <= MAX_COILS && (value < 1 || value == floor(value)))) return 0;
    }
    opts->compress = value;
    return 1;
}

static void store(const lmr_setting *s, double value, size_t i, larmor_recon_opts *opts)
{
    char *at = (char *)opts + s->at;
    if (s->text.type == LARMOR_SETTING_NUMBER && value == 0 && s->low < 0) value = -1; /* 0 is the default */
    if (s->type == LMR_SETTING_INT) ((int *)(void *)at)[i] = (int)value;
    if (s->type == LMR_SETTING_INT64) ((int64_t *)(void *)at)[i] = (int64_t)value;
    if (s->type == LMR_SETTING_REAL) ((double *)(void *)at)[i] = value;
}

/* Behind those that are there. */
static int add_to_list(const lmr_setting *s, const char *text, larmor_recon_opts *opts)
{
    char *at = (char *)opts + s->at, all[LONGEST_NAME];
    const char *before;
    memcpy(&before, at, sizeof before);
    if (snprintf(all, sizeof all, "%s%s%s", before ? before : "", before ? "+" : "", text) >= LONGEST_NAME) return 0;
    larmor_constraint unused;
    const int is_constraint = s->at == offsetof(larmor_recon_opts, constraint);
    if (is_constraint && larmor_constraint_read(all, &unused)) return 0;
    const char *name = is_constraint ? kept_name(all) : kept_penalties(all);
    if (name) memcpy(at, &name, sizeof name);
    return name != NULL;
}

static int read_value(const lmr_setting *s, const char *text, larmor_recon_opts *opts)
{
    double values[AXES] = {0};
    int count = 1;
    switch (s->text.type) {
    case LARMOR_SETTING_FORM:
        return s->at == offsetof(larmor_recon_opts, lambda) ? read_lambda(text, opts) : read_compress(text, opts);
    case LARMOR_SETTING_FLAG:
        values[0] = !strcmp(text, "true") || !strcmp(text, "1");
        count = values[0] > 0 || !strcmp(text, "false") || !strcmp(text, "0");
        break;
    case LARMOR_SETTING_CHOICE:
        if (s->type == LMR_SETTING_TEXT) {
            const char *name = registered(s, text);
            if (name) memcpy((char *)opts + s->at, &name, sizeof name);
            return name != NULL;
        }
        count = read_choice(s, text, values);
        break;
    case LARMOR_SETTING_BYTES:
        count = read_bytes(text, values);
        break;
    case LARMOR_SETTING_LIST:
        return add_to_list(s, text, opts);
    case LARMOR_SETTING_SIZES:
    case LARMOR_SETTING_NUMBERS:
        count = read_numbers(s, text, AXES, values);
        for (size_t i = 0; i < AXES && count; i++) store(s, values[i], i, opts);
        return count > 0;
    default:
        count = read_numbers(s, text, 1, values);
    }
    if (count) store(s, values[0], 0, opts);
    return count;
}

static void describe(const lmr_setting *s, char *text, size_t size)
{
    char range[64];
    snprintf(range, sizeof range, " from %.9g to %.9g", s->text.low, s->text.high);
    static const char *const kinds[] = {[LARMOR_SETTING_FLAG] = "true or false",
                                        [LARMOR_SETTING_BYTES] = "bytes > 0, with K, M, G or T for thousands ...",
                                        [LARMOR_SETTING_INTEGER] = "a whole number",
                                        [LARMOR_SETTING_NUMBER] = "a number",
                                        [LARMOR_SETTING_SIZES] = "up to 3 whole numbers",
                                        [LARMOR_SETTING_NUMBERS] = "up to 3 numbers"};
    const int has_range = s->text.type >= LARMOR_SETTING_INTEGER && s->text.type != LARMOR_SETTING_BYTES &&
                          s->text.type != LARMOR_SETTING_LIST;
    const char *what = s->text.expected ? s->text.expected : kinds[s->text.type];
    const char *choice, *next;
    snprintf(text, size, "%s%s", what ? what : "", has_range ? range : "");
    size_t length = choice_at(s, 0, &choice);
    for (int i = 1; length; i++) {
        const size_t after = choice_at(s, i, &next);
        const char *comma = after ? ", " : " or ";
        lmr_append(text, size, "%s%.*s", i > 1 ? comma : "", (int)length, choice);
        choice = next;
        length = after;
    }
}

larmor_setting larmor_setting_entry(int i)
{
    const lmr_setting *s = lmr_setting_at(i);
    if (!s) return (larmor_setting){.name = NULL};
    larmor_setting entry = s->text;
    entry.name = s->name;
    entry.at = s->at;
    if (!entry.unit) entry.unit = "";
    if (s->at == offsetof(larmor_recon_opts, maps_method)) {
        char names[LONGEST_NAME];
        describe(s, names, sizeof names);
        entry.expected = kept_name(names);
    }
    return entry;
}

static larmor_status refuse(const lmr_setting *s, const char *text)
{
    char expected[160];
    describe(s, expected, sizeof expected);
    return LMR_FAIL(LARMOR_ERR_ARG, "opts.%s: got \"%s\", expected %s", s->name, text, expected);
}

static larmor_status set(larmor_recon_opts *opts, const char *name, const char *text)
{
    const lmr_setting *s;
    LMR_NEED(opts, name, text);
    LMR_TRY(find(opts, name, &s));
    return read_value(s, text, opts) ? LARMOR_OK : refuse(s, text);
}

larmor_status lmr_check_maps_method(const char *text)
{
    int i = 0;
    while (lmr_setting_at(i)->at != offsetof(larmor_recon_opts, maps_method)) i++;
    return registered(lmr_setting_at(i), text) ? LARMOR_OK : refuse(lmr_setting_at(i), text);
}

larmor_status larmor_setting_set(larmor_recon_opts *opts, const char *name, const char *text)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return LMR_NO_MEMORY();
    const locale_t before = uselocale(c); /* numbers have a point, whatever the caller's have */
    const larmor_status st = set(opts, name, text);
    uselocale(before);
    freelocale(c);
    return st;
}

/* ---- writing ---- */

/* The shortest of two that is read as the same number. */
static void write_number(double value, char *text, size_t size)
{
    snprintf(text, size, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, size, "%.17g", value);
}

static double stored(const lmr_setting *s, size_t i, const larmor_recon_opts *opts)
{
    const char *at = (const char *)opts + s->at;
    if (s->type == LMR_SETTING_INT) return ((const int *)(const void *)at)[i];
    if (s->type == LMR_SETTING_INT64) return (double)((const int64_t *)(const void *)at)[i];
    return ((const double *)(const void *)at)[i];
}

static void write_form(const lmr_setting *s, const larmor_recon_opts *opts, char *text, size_t size)
{
    const int is_lambda = s->at == offsetof(larmor_recon_opts, lambda);
    const int is_noise = is_lambda && opts->lambda_mode == LARMOR_LAMBDA_NOISE;
    const int is_auto = is_lambda ? opts->lambda_mode == LARMOR_LAMBDA_AUTO : opts->compress == 0;
    char number[32];
    write_number(is_lambda ? opts->lambda : opts->compress, number, sizeof number);
    snprintf(text, size, "%s%s", is_noise ? "noise:" : "", number);
    if (is_auto) snprintf(text, size, "auto");
    if (!is_lambda && opts->compress < 0) snprintf(text, size, "off");
}

static void write_choice(const lmr_setting *s, const larmor_recon_opts *opts, char *text, size_t size)
{
    const char *choice;
    size_t length;
    for (int i = 0; (length = choice_at(s, i, &choice)); i++)
        if (value_of_choice(s, i) == stored(s, 0, opts)) snprintf(text, size, "%.*s", (int)length, choice);
}

static void write_numbers(const lmr_setting *s, const larmor_recon_opts *opts, char *text, size_t size)
{
    const int is_list = s->text.type == LARMOR_SETTING_SIZES || s->text.type == LARMOR_SETTING_NUMBERS;
    for (size_t i = 0; i < (is_list ? AXES : 1) && stored(s, i, opts) != 0; i++) {
        char number[32];
        const double value = stored(s, i, opts);
        const int is_zero = s->text.type == LARMOR_SETTING_NUMBER && s->text.low == 0 && value < 0;
        write_number(is_zero ? 0 : value, number, sizeof number);
        if (!i) text[0] = 0;
        lmr_append(text, size, "%s%s", i ? "," : "", number);
    }
}

static larmor_status write_value(const larmor_recon_opts *opts, const char *name, char *text, size_t size)
{
    const lmr_setting *s;
    LMR_NEED(opts, name, text);
    LMR_TRY(find(opts, name, &s));
    snprintf(text, size, "%s", s->text.standard ? s->text.standard : "");
    if (s->type == LMR_SETTING_TEXT) {
        const char *chosen;
        memcpy(&chosen, (const char *)opts + s->at, sizeof chosen);
        if (chosen) snprintf(text, size, "%s", chosen);
    } else if (s->text.type == LARMOR_SETTING_FORM) {
        write_form(s, opts, text, size);
    } else if (s->text.type == LARMOR_SETTING_CHOICE) {
        write_choice(s, opts, text, size);
    } else if (s->text.type == LARMOR_SETTING_FLAG) {
        snprintf(text, size, "%s", stored(s, 0, opts) != 0 ? "true" : "false");
    } else {
        write_numbers(s, opts, text, size);
    }
    return LARMOR_OK;
}

larmor_status larmor_setting_text(const larmor_recon_opts *opts, const char *name, char *text, size_t size)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c) return LMR_NO_MEMORY();
    const locale_t before = uselocale(c);
    const larmor_status st = write_value(opts, name, text, size);
    uselocale(before);
    freelocale(c);
    return st;
}
