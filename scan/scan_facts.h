/* What a reconstruction knows of its scan before the first image. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/compress.h"
#include "scan/settings.h"
#include "scan/source.h"

/* Found by the preparation (schedule/prepare.c), constant for all images. Arrays lie on dev. */
typedef struct lmr_scan_facts {
    larmor_source *source;
    larmor_raw_info info; /* of the source */
    larmor_device *dev;
    larmor_ranks *slabs;       /* those that have a slab of the volume each (schedule/slabs.h), or NULL */
    larmor_array *whitening;   /* [coils, coils], of noise times noise_scale; or NULL */
    double noise_scale;        /* with whitening: that all samples are multiplied by, a power of two; else 0 */
    double noise_unit;         /* with whitening, else 0: the unit of whitened samples in that of scaled ones */
    larmor_array *colouring;   /* [coils, coils]: of white noise the noise scan's, in the unit of the samples, if that
                                * does not whiten; or NULL */
    larmor_array *compression; /* [coils, info.coils(, voxels along the readouts)], or NULL */
    larmor_compression_report compressed;
    int lead_is_seen;         /* 1: lead_echo is known, */
    double lead_echo;         /* echo_distance of that group's samples */
    int lead;                 /* the group by whose data is decided what suits all images (scan/series.h) */
    int coils;                /* virtual ones, or info.coils: of samples and maps from here on */
    larmor_array *given;      /* the caller's maps, not whitened yet, or NULL; maps_method finds those beyond them */
    larmor_shape given_image; /* its voxels */
    double given_edge[3][2]; /* where they end along each axis, in mm from the middle; both 0: not within the image */
    int sets;                /* of maps, more than 1 (soft SENSE); 0 for maps without that dimension */
    const struct lmr_maps_method *maps_method; /* of pipeline/maps.h, for maps from the data, or NULL */
    larmor_grid *grid;                         /* [info.groups]; alike for all of an encoding */
    larmor_delays *delays;                     /* [info.encodings], of the gradients, or NULL */
    int whole_readouts; /* 1: readouts keep their oversampling and the order of time, as the search for delays
                         * needs */
    struct lmr_physics *physics; /* of physics/physics.h, or NULL */
    double concomitant_rad;      /* the largest phase of concomitant fields that the samples decide on, or 0: */
    int concomitant_image;       /* its group */
    larmor_array *basis;         /* [frames, coefficients], or NULL */
    int basis_is_complex;
    double basis_scale; /* the mean of its columns' energies */
    double basis_skew;  /* how far its Gram matrix is from that times 1, relative to it */

    /* by lmr_method_settle after the start */
    int automatic; /* 1: the first image chooses the method; until then it is that of conjugate gradients */
    larmor_method_from method_from; /* why it is the method, where no image chooses it */

    int fills_hole; /* 1: there is a hole in the centre of k-space, which the images are to fill */

    /* what is left of the options in the memory that there is */
    int has_room_for_tgv; /* 1: where methods are compared, tgv may be */
    int no_choice;        /* 1: there is none to choose lambda */
    int toeplitz, precondition;
    int64_t block; /* coils at a time, 0 for all */
    int in_turn;   /* 1: the frames of a series share one grid, a frame at a time */

    int is_copy; /* 1: grid and delays are those of the facts that these are copied from */
} lmr_scan_facts;

/* A copy for another device, with arrays of its own there, which may not outlive the original. The field is left
 * out. */
larmor_status lmr_scan_facts_copy(const lmr_scan_facts *facts, larmor_device *dev, lmr_scan_facts *copy);

void lmr_scan_facts_free(lmr_scan_facts *facts);
