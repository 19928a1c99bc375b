/* What all programs and commands share: exit codes, signals, devices, and their messages. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "args.h"
#include "messages.h"
#include "try.h"

/* Where a call failed decides the exit code: reading what the user gave, or everything after. */
typedef enum app_phase { APP_INPUT, APP_RUN } app_phase;

/* Print larmor's last error as one line and return the exit code for it; or APP_AGAIN, see app_leaves_gpu. */
int app_fail(app_phase phase, larmor_status status);

/* The same with "FILE: " before the message. */
int app_fail_in(app_phase phase, larmor_status status, const char *file);

/* Return the exit code of a failed call. */
#define APP_TRY(phase, call)                                                                                         \
    do {                                                                                                             \
        const larmor_status app_st_ = (call);                                                                        \
        if (app_st_) return app_fail(phase, app_st_);                                                                \
    } while (0)

/* Return from a command with the call's exit code, unless it is APP_DONE. */
#define APP_DO(call)                                                                                                 \
    do {                                                                                                             \
        const int app_code_ = (call);                                                                                \
        if (app_code_) return app_code_;                                                                             \
    } while (0)

/* What was typed, for the provenance of files; "" before app_set_command_line. Cut at 4 KiB. */
void app_set_command_line(int argc, char **argv);
const char *app_command_line(void);

/* Threads of OpenBLAS that get no memory wait for it for ever, and the end of the program waits for them. So it
 * has none where memory or processes are limited: the program starts itself once more with OPENBLAS_NUM_THREADS=1,
 * before its libraries are loaded where that can be (apps/common/early.c). */
void app_wait_for_no_memory(char **argv, char **environment);

/* The program once more, with that environment. Returns where that is not possible. */
void app_start_anew(char **argv, char **environment);

/* The start of main: from here on no library is waited for. Before, one that takes all the time because it gets no
 * memory ends the program with APP_LACKING. */
void app_libraries_are_loaded(void);

/* Let idle threads of OpenMP and OpenBLAS sleep instead of keeping cores busy that others could use. Both read the
 * environment before main, so the program starts itself once more, with the variables set that the user has not;
 * where that is not possible, or there is one core only, all stays as it is. */
void app_sleep_when_idle(char **argv);

/* Writes that nobody reads, or past the limit of a file's size, fail and do not end the program. */
void app_ignore_signals_of_writes(void);

/* Catch SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP: they are acknowledged in a line, and larmor's
 * calls end with LARMOR_STOPPED. What has not ended after half a second is left as it is: temporary files are
 * removed and the program ends. The second signal ends it at once, and so does what is left of a limit on
 * processor time. */
void app_catch_signals(void);

/* The program is about to return from main, with this code or that of a signal, which is returned. Signals that
 * come now come too late, and what libraries do at the end has ten seconds: OpenBLAS waits there for threads that
 * may wait for memory. An exit() before that is a library's, which got no memory, and becomes exit code 4 with a
 * message. */
int app_end_signals(int code);

/* 1: from now on there is a result that Ctrl-C has to wait for until it is written, however long that takes; 0: there
 * is none any more. */
void app_keep_result(int there_is_one);

/* The exit code that a caught signal asks for, 129, 130 or 143; 0 if there was none. */
int app_stopped(void);

/* The device that the user asks for by --device and --threads, or else by LARMOR_DEVICE and LARMOR_THREADS.
 *
 * device   NULL if not given; threads 0 if not given.
 * Errors   LARMOR_ERR_ARG for threads of a device that is no processor, and those of larmor_device_open.
 *          app_open_device refuses several devices; app_open_devices is for commands that use them. */
larmor_status app_open_device(const char *device, int64_t threads, larmor_device **dev);
larmor_status app_open_devices(const char *device, int64_t threads, larmor_device **dev);

/* The name that these give to larmor_device_open; own is room for it. */
const char *app_device_name(const char *device, int64_t threads, char own[32]);

/* For a program that will open this device alone, before it asks for any: CUDA begins all GPUs that it sees, 0.9 s
 * for four H200, and so it sees the first one only, if that is what the name means. Another GPU is then not looked
 * for where the first one fails.
 *
 * app_first_gpu  1 if CUDA_VISIBLE_DEVICES is to become `first`: visible is what it is, NULL if not set, gpus how
 *                many there are */
void app_see_one_gpu(const char *device);
#define APP_GPU_NAME 64
int app_first_gpu(const char *visible, int gpus, const char *device, char first[APP_GPU_NAME]);

/* The same while files are read, for larmor_device_open_end. */
larmor_status app_begin_devices(const char *device, int64_t threads, larmor_opening **opening);

/* From a GPU that fails to the processor. A command that can be run again from its beginning says so of the device
 * that it has opened (app_may_leave), and when it has a result (app_has_computed). In between a failure of a GPU
 * that "auto" has chosen is no end: app_fail logs it and returns APP_AGAIN, and the program runs the command once
 * more, for which "auto" is the processor. The command must have released all it had, its outputs too.
 *
 * app_device_left  the device that is now meant by what was asked for
 * app_leaves_gpu   1 if this failure is such a one */
void app_may_leave(const larmor_device *dev);
void app_has_computed(void);
const char *app_device_left(const char *device);
int app_leaves_gpu(larmor_status status);

/* --plan NAME, NULL if it was not given: read the device's wisdom, report the lines that are left out, and convert
 * the name to *effort. calibrate: fit the estimates too. Without both nothing is read.
 *
 * Errors  those of larmor_nufft_calibrate; a file that cannot be read is reported, but is no error. */
larmor_status app_use_wisdom(larmor_device *dev, const char *plan, int calibrate, larmor_plan_effort *effort);

/* The array of an input file, all of it finite. */
larmor_status app_read_array(const char *path, larmor_device *dev, larmor_array **x);

/* The images of an input file, all of them finite. */
larmor_status app_read_images(const char *path, larmor_device *dev, larmor_image_set *set);

/* Write the wisdom to its file, if anything was measured. A failure is reported and is no error. */
void app_keep_wisdom(larmor_device *dev, const char *plan, int calibrate);

/* 1 if larmor_device_open would take the text for the name of a device, which need not be there. */
int app_is_device(const char *text);
#define APP_DEVICE_EXPECTED                                                                                          \
    "auto, cpu, cpu:THREADS (1 to 4096), cuda, cuda:NUMBER (from 0), cuda:all, or several with commas between them"

/* Two lines for the table of a command whose settings have `const char *device; int64_t threads;`. */
#define APP_DEVICE_OPTIONS(settings) APP_DEVICE_OPTIONS_AND(settings, "")
#define APP_DEVICE_OPTIONS_AND(settings, more)                                                                       \
    APP_OPTION(settings, APP_TEXT, device, 0, "device", "D",                                                         \
               "where to compute: cpu, cpu:4, cuda, cuda:1 or auto (default: auto)" more, .reads = app_is_device,    \
               .expected = APP_DEVICE_EXPECTED),                                                                     \
        APP_OPTION(settings, APP_INTEGER, threads, 0, "threads", "N",                                                \
                   "threads of the processor (default: all cores, 32 at most)", .low = 1, .high = 4096)

/* The option of commands that write pictures, whose settings have `app_list window;`, and its check, which returns an
 * exit code, having said what is wrong. */
#define APP_WINDOW_OPTION(settings)                                                                                  \
    APP_OPTION(settings, APP_NUMBERS, window, 0, "window", "LOW,HIGH",                                               \
               ".png, .gif, .dcm, .dcm/: the magnitudes that are black and white (default: from 0 to what shows "    \
               "the object, "                                                                                        \
               "which the log says)",                                                                                \
               .low = -1e15, .high = 1e15)
int app_check_window(const app_list *window);

/* The options of commands that write pictures, whose settings have `int planes, color; double fps;`. */
#define APP_PICTURE_OPTIONS(settings)                                                                                \
    APP_OPTION(settings, APP_FLAG, planes, 0, "planes", "",                                                          \
               ".png, .gif: three planes through the middle of each volume"),                                        \
        APP_OPTION(settings, APP_FLAG, color, 0, "color", "",                                                        \
                   ".png, .gif: hue for the phase, brightness for the magnitude"),                                   \
        APP_OPTION(settings, APP_NUMBER, fps, 0, "fps", "N",                                                         \
                   ".gif: frames per second (default: those of the scan's repetitions from 1 to 50, else 10)",       \
                   .low = 0.01, .high = 100)

/* The options of commands that write DICOM, whose settings have `int dicom_phase, anonymous;`. */
#define APP_DICOM_OPTIONS(settings)                                                                                  \
    APP_OPTION(settings, APP_FLAG, dicom_phase, 0, "dicom-phase", "",                                                \
               ".dcm, .dcm/: also write the phase, to NAME_phase.dcm or as a series of its own"),                    \
        APP_OPTION(settings, APP_FLAG, anonymous, 0, "anonymous", "",                                                \
                   ".dcm, .dcm/: leave out what the header says of the patient, the study and the place")

/* ", black 0, white 0.23" for the log if the path is a picture's, else "". */
typedef struct app_window_text {
    char s[64];
} app_window_text;
app_window_text app_describe_window(const char *path, const larmor_image *images, int count, const app_list *window);

/* 1 if the path is that of a .gif, of a .dcm or .dcm/. */
int app_is_film(const char *path);
int app_is_dicom(const char *path);

/* 1 if the path is that of a picture or of DICOM. */
int app_has_window(const char *path);

/* Descriptors 0 to 2 that are closed at the start, so that no file that is opened later gets one of them and with it
 * what is meant for the terminal. Writing to them fails. Returns 0 if that cannot be. */
int app_hold_descriptors(void);

/* Raise the limit on the stack where it may be raised, and see that there is room on it for what follows, because
 * what is past it ends the program by a signal. Returns 0 if there is too little, having said so. */
int app_hold_stack(char **argv);

/* Refuse files that are read and written, or written twice, by what the tables say of options and arguments; standard
 * output and standard error are written, too. Returns an exit code, having said what is wrong. */
int app_check_files(const app_command *command, const void *settings, const app_files *files);

/* larmor_output_open for a file that app_check_files has seen; others are refused, because nothing has compared
 * them. */
larmor_status app_output_open(const char *path, int force, larmor_output **out);

/* The same of larmor_drawing_open. */
larmor_status app_drawing_open(const char *path, int force, larmor_output **out);

/* The option --bids, of commands whose settings have `int bids;`, and what it and --dicom-phase add to an output that
 * is open. */
#define APP_BIDS_OPTION(settings)                                                                                    \
    APP_OPTION(settings, APP_FLAG, bids, 0, "bids", "",                                                              \
               ".nii, .nii.gz: also write a .json of the same name with times, angles and scanner, as BIDS has it")
larmor_status app_add_files(int bids, int dicom_phase, larmor_output *out);

/* The same for files in the place of one of the table, whose names follow from it. out [count]: NULL where an
 * error was. */
larmor_status app_outputs_open(const char *const *paths, int count, int force, larmor_output **out);

/* Seconds since some moment. */
double app_now(void);

/* The file name's last suffix, e.g. ".cfl"; "" if it has none. */
const char *app_suffix(const char *path);
