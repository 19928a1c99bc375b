/* Inverses for an image beside fields that no sample sees, as the vector field of total generalised variation: block
 * circulant, a Hermitian matrix at each frequency. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/precond/circulant.h"

enum { MOST = 4 }; /* an image and its field in three dimensions */

/* Of K^H K, or of what is inverted: element (row, column), row <= column, of the matrices of all frequencies; the
 * others are NULL. */
typedef struct matrices {
    int size;
    larmor_array *of[MOST][MOST]; /* [image...] */
} matrices;

static void matrices_free(matrices *m)
{
    for (int i = 0; i < MOST; i++)
        for (int j = i; j < MOST; j++) LMR_CLEAR(m->of[i][j]);
}

struct lmr_block {
    matrices K;
    larmor_shape all; /* [image..., size] */
};

void lmr_block_free(lmr_block *b)
{
    if (!b) return;
    matrices_free(&b->K);
    free(b);
}

static void block_destroy(void *block)
{
    lmr_block_free(block);
}

/* The elements of column j: the transforms of what K^H K makes of a point in image j, over that of the point. */
static larmor_status find_column(larmor_op *K, const larmor_array *point, int j, larmor_array *x, larmor_array *y,
                                 lmr_block *b)
{
    LMR_OWN(larmor_array, own, larmor_array_part(x, j, 1, point->shape, &own));
    LMR_TRY(larmor_zero(x));
    LMR_TRY(larmor_copy(point, own));
    LMR_TRY(larmor_op_normal(K, x, y));
    LMR_OWN(larmor_array, waves, larmor_array_create(point->dev, point->dtype, point->shape, &waves));
    LMR_TRY(larmor_copy(point, waves));
    LMR_TRY(lmr_circulant_fft(waves, -1));
    for (int i = 0; i <= j; i++) {
        larmor_array **element = &b->K.of[i][j];
        LMR_OWN(larmor_array, response, larmor_array_part(y, i, 1, point->shape, &response));
        LMR_TRY(larmor_array_create(point->dev, point->dtype, point->shape, element));
        LMR_TRY(larmor_copy(response, *element));
        LMR_TRY(lmr_circulant_fft(*element, -1));
        LMR_TRY(larmor_mul(waves, 1, *element));
    }
    return LARMOR_OK;
}

larmor_status lmr_block_create(const larmor_circulant *c, larmor_op *K, lmr_block **out)
{
    const larmor_array *like = c->eigenvalues;
    const larmor_shape all = larmor_op_in_shape(K);
    *out = NULL;
    LMR_MAKE(lmr_block, b, block_destroy);
    b->all = all;
    b->K.size = (int)all.dim[all.ndim - 1];
    LMR_REFUSE(b->K.size > MOST, LARMOR_ERR_SHAPE, "block circulant: %d images, expected at most %d", b->K.size,
               MOST);
    LMR_OWN(larmor_array, point, lmr_circulant_point(like, &point));
    LMR_OWN(larmor_array, x, larmor_array_create(like->dev, like->dtype, all, &x));
    LMR_OWN(larmor_array, y, larmor_array_create(like->dev, like->dtype, all, &y));
    for (int j = 0; j < b->K.size; j++) LMR_TRY(find_column(K, point, j, x, y, b));
    *out = b;
    return lmr_hand_on(&b_made, LARMOR_OK);
}

/* ---- the inverse at each frequency ---- */

/* Element (i, j) into `to`, as it is or conjugated. */
static larmor_status take(const matrices *m, int i, int j, larmor_array *to)
{
    if (i <= j) return larmor_copy(m->of[i][j], to);
    LMR_TRY(larmor_fill(to, 1));
    return larmor_mul(m->of[j][i], 1, to);
}

/* One step of Gauss and Jordan, as a sweep: of row and column k. All rows swept, the matrices are minus their
 * inverses. pivot, left and right are overwritten. */
static larmor_status sweep(matrices *m, int k, double scale, larmor_array *pivot, larmor_array *left,
                           larmor_array *right)
{
    LMR_TRY(larmor_copy(m->of[k][k], pivot));
    LMR_TRY(lmr_circulant_invert(scale, pivot));
    for (int i = 0; i < m->size; i++)
        for (int j = i; j < m->size && i != k; j++) {
            if (j == k) continue;
            LMR_TRY(take(m, i, k, left));
            LMR_TRY(take(m, k, j, right));
            LMR_TRY(larmor_mul(pivot, 0, left));
            LMR_TRY(larmor_mul(left, 0, right));
            LMR_TRY(larmor_axpby(-1, right, 1, m->of[i][j]));
        }
    for (int i = 0; i < m->size; i++)
        if (i != k) LMR_TRY(larmor_mul(pivot, 0, m->of[i < k ? i : k][i < k ? k : i]));
    return larmor_axpby(-1, pivot, 0, m->of[k][k]);
}

/* The image last: what its pivot is then is at least what the samples see of it. */
static larmor_status invert(matrices *m, double scale)
{
    const larmor_array *like = m->of[0][0];
    LMR_OWN(larmor_array, pivot, larmor_array_create(like->dev, like->dtype, like->shape, &pivot));
    LMR_OWN(larmor_array, left, larmor_array_create(like->dev, like->dtype, like->shape, &left));
    LMR_OWN(larmor_array, right, larmor_array_create(like->dev, like->dtype, like->shape, &right));
    for (int k = m->size - 1; k >= 0; k--) LMR_TRY(sweep(m, k, scale, pivot, left, right));
    return LARMOR_OK;
}

/* c + added beside penalty times K^H K. */
static larmor_status fill_matrices(const larmor_circulant *c, const lmr_block *b, double added, double penalty,
                                   matrices *m)
{
    const larmor_array *like = c->eigenvalues;
    m->size = b->K.size;
    for (int i = 0; i < m->size; i++)
        for (int j = i; j < m->size; j++) {
            LMR_TRY(larmor_array_create(like->dev, like->dtype, like->shape, &m->of[i][j]));
            if (!i && !j) LMR_TRY(lmr_circulant_affine(c, 1, added, m->of[i][j]));
            LMR_TRY(larmor_axpby(penalty, b->K.of[i][j], !i && !j, m->of[i][j]));
        }
    return LARMOR_OK;
}

/* ---- the operator ---- */

typedef struct inverse {
    const lmr_conv *conv;
    void *ctx, *plan;
    larmor_array *support; /* E, or NULL */
} inverse;

static larmor_status weigh_image(const inverse *m, larmor_array *y)
{
    if (!m->support) return LARMOR_OK;
    LMR_OWN(larmor_array, image, larmor_array_part(y, 0, 1, m->support->shape, &image));
    return larmor_mul(m->support, 0, image);
}

static larmor_status apply(void *self, const larmor_array *x, larmor_array *y)
{
    const inverse *m = self;
    LMR_TRY(larmor_copy(x, y));
    LMR_TRY(weigh_image(m, y));
    LMR_TRY(m->conv->exec(m->ctx, m->plan, 0, y->data, y->data));
    return weigh_image(m, y);
}

static void destroy(void *self)
{
    inverse *m = self;
    if (m->plan) m->conv->destroy(m->ctx, m->plan);
    LMR_FREE(m->support);
    free(m);
}

/* root: what fields are scaled by where images are by E. */
static larmor_status set_planes(const inverse *inv, const matrices *m, const lmr_conv_shape *shape, double root,
                                double voxels)
{
    for (int i = 0; i < m->size; i++)
        for (int j = i; j < m->size; j++) {
            const double scale = -pow(root, (i > 0) + (j > 0)) / voxels;
            for (int part = 0; part < (i == j ? 1 : 2); part++)
                LMR_TRY(inv->conv->set(inv->ctx, inv->plan, lmr_conv_plane(shape, i, j, part), scale, part,
                                       m->of[i][j]->data));
        }
    return LARMOR_OK;
}

larmor_status lmr_block_inverse(const larmor_circulant *c, const lmr_block *b, double lambda, double penalty,
                                larmor_op **M)
{
    static const larmor_op_impl impl = {"block circulant", apply, apply, NULL, destroy};
    const larmor_array *like = c->eigenvalues;
    lmr_conv_shape shape = {.ndim = like->shape.ndim,
                            .dim = {1, 1, 1},
                            .keep = {1, 1, 1},
                            .batch = 1,
                            .mixed = b->K.size,
                            .is_complex = 1,
                            .spectra = 1};
    LMR_FREED_BY(matrices_free) matrices m = {.size = 0};
    *M = NULL;
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = shape.keep[d] = like->shape.dim[d];
    LMR_MAKE(inverse, inv, destroy);
    inv->conv = lmr_conv_of(like);
    inv->ctx = like->dev->ctx;
    inv->support = larmor_array_ref(c->support);
    LMR_TRY(fill_matrices(c, b, lmr_circulant_added(c, lambda), c->square * penalty, &m));
    LMR_TRY(invert(&m, c->mean > 0 ? c->mean : 1));
    LMR_TRY(inv->conv->plan(inv->ctx, &shape, &inv->plan));
    LMR_TRY(set_planes(inv, &m, &shape, c->support ? sqrt(c->square) : 1, c->count));
    return lmr_hand_on(&inv_made, larmor_op_create(like->dev, &impl, inv, like->dtype, b->all, b->all, M));
}
