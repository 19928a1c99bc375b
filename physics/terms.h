/* Each kind of term, and what it makes its terms of. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/physics.h"
#include "scan/job.h"

typedef struct lmr_physics lmr_physics;

/* A map of the caller's: at its own place in space, or over the image's field of view. */
typedef struct lmr_placed_map {
    double *value; /* NULL: there is none */
    int64_t dim[3];
    int placed; /* 1: where it is in space is known: */
    larmor_image_meta place;
    const char *option, *name;
    int has_warned; /* that the map is too small */
} lmr_placed_map;

enum { LMR_KEPT_SUMS = 2 }; /* those of the plan and those of the last group */

struct lmr_physics {
    lmr_placed_map b0, t2star;       /* Hz; ms */
    double b0_factor, camera_factor; /* that b0 and phases are multiplied by: 1, but where others are tried */
    double *phase;                   /* of a field camera, rad, [samples, readouts, terms], or NULL: */
    int64_t samples, readouts;
    int terms; /* of a camera, whose phases are those of the scan's rows where phase is NULL; 0: none */
    larmor_array *gradient_field; /* on the device, or NULL */
    lmr_placed_map moved[3];      /* the caller's displacement, mm along the image's axes: */
    int moves;                    /* so many of them; 0: none was given */
    lmr_placed_map *motion;       /* [frames * moves] likewise, of motion; NULL: there is none */
    int frames;
    struct {
        uint64_t key;
        larmor_array *array; /* that of the last image, or NULL */
    } displaced;
    int bands;       /* 1: slices that were excited together have phases of their own (physics/multiband_phases.h) */
    int concomitant; /* 1: with their phases, at */
    double tesla;
    int has_start; /* 1: the first sample's time was given */
    double start_s;
    larmor_off_resonance_opts opts;
    struct {
        uint64_t key;
        larmor_segments *segments;
    } known[LMR_KEPT_SUMS];
    int next;          /* of those, the one to replace */
    uint64_t reported; /* the one that the log has */
};

/* What terms are made for. */
typedef struct lmr_scene {
    const lmr_job *job;
    int index;        /* of the first group */
    const int *group; /* [groups] all of them */
    int groups;
    const larmor_grid *grid;  /* its */
    larmor_image_meta image;  /* its */
    const larmor_array *traj; /* f64 [nd, samples, readouts] on the host's side of the device; cycles over the grid */
    larmor_shape samples;     /* [samples, readouts] */
    const double *times;      /* s */
    const double *hz;         /* [voxels] off-resonance, or NULL */
    const double *pose;       /* in which the object's voxels are, as of larmor/motion.h; NULL: at rest */
    int64_t voxels, count;    /* count: of samples */
} lmr_scene;

/* Terms on the host; arrays are the list's. */
typedef struct lmr_term_list {
    int count;
    struct {
        double *space, *time;
        int is_decay;
    } term[32];
} lmr_term_list;

void lmr_term_list_free(lmr_term_list *list);

/* Room for a term: space [voxels] and time [samples], zero. Errors: LARMOR_ERR_MEMORY, LARMOR_ERR_UNSUPPORTED for too
 * many. */
larmor_status lmr_term_add(const lmr_scene *scene, lmr_term_list *list, int is_decay, double **space, double **time);

/* The map's values at the voxels of the scene's grid. */
larmor_status lmr_map_open(const larmor_array *map, const char *option, const char *name,
                           const larmor_image_meta *place, lmr_placed_map *out);
larmor_status lmr_map_on_grid(const lmr_job *job, lmr_placed_map *map, int index, double *value);

/* *times, free them: of the samples of groups, from the time when the image has its phase. */
larmor_status lmr_times_of(const lmr_job *job, const int *index, int groups, const larmor_array *traj,
                           larmor_shape *shape, double **times);

/* [3, voxels] of the scene's grid, in m from the isocentre, along the axes of the patient. */
larmor_status lmr_positions_of(const lmr_scene *scene, double **position);

/* A kind: its terms are added where the physics has it. */
larmor_status lmr_add_off_resonance(const lmr_scene *scene, lmr_term_list *list);
larmor_status lmr_add_decay(const lmr_scene *scene, lmr_term_list *list);
larmor_status lmr_add_camera(const lmr_scene *scene, lmr_term_list *list);
larmor_status lmr_add_bands(const lmr_scene *scene, lmr_term_list *list);
larmor_status lmr_add_concomitant(const lmr_scene *scene, lmr_term_list *list);

/* Phases of a field camera, or those of the scan's trajectory. */
larmor_status lmr_camera_open(const larmor_recon_opts *opts, const larmor_raw_info *scan, lmr_physics *physics);

/* The displacement of the options. */
larmor_status lmr_displaced_open(const larmor_recon_opts *opts, const lmr_scan_facts *facts, lmr_physics *physics);
void lmr_displaced_free(lmr_physics *physics);

/* The largest phase of concomitant fields, in rad, in the image of a group at the ends of some of its readouts; -1
 * where it is not known. */
larmor_status lmr_concomitant_most(const lmr_job *job, int index, double tesla, double *most);
