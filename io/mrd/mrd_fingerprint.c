/* A number that tells one scan from another. SPDX-License-Identifier: Apache-2.0 */
#include "core/hash.h"
#include "io/mrd/mrd.h"

/* Of the members alone, because bytes between and behind them mean nothing. */
#define UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)NULL)->member))

static uint64_t hash_readout(const larmor_raw *raw, int64_t i, uint64_t hash)
{
    const lmr_mrd_head *h = &raw->head[i];
    const lmr_mrd_readout *r = &raw->readout[i];
    hash = lmr_hash(hash, h, UP_TO(lmr_mrd_head, table));
    hash = lmr_hash(hash, &r->use, sizeof r->use);
    if (!r->use) return hash;
    const size_t samples = (size_t)h->samples;
    hash = lmr_hash(hash, raw->data + r->data, sizeof(float) * 2 * samples * h->channels);
    if (raw->time_s && h->traj_dims)
        hash = lmr_hash(hash, raw->time_s + r->traj / h->traj_dims, sizeof(double) * samples);
    if (raw->phase && h->traj_dims)
        hash = lmr_hash(hash, raw->phase + r->phase, sizeof(float) * samples * (size_t)raw->info.phase_terms);
    if (raw->weight && h->traj_dims)
        hash = lmr_hash(hash, raw->weight + r->traj / h->traj_dims, sizeof(double) * samples);
    return lmr_hash(hash, raw->traj + r->traj, sizeof(float) * samples * h->traj_dims);
}

uint64_t larmor_raw_fingerprint(const larmor_raw *raw)
{
    uint64_t hash = 0;
    if (!raw) return 0;
    hash = lmr_hash(hash, raw->xml, strlen(raw->xml));
    hash = lmr_hash(hash, raw->shift_mm, sizeof raw->shift_mm);
    for (int e = 0; e < raw->header.encodings; e++) {
        const lmr_mrd_traj *t = &raw->traj_of[e];
        hash = lmr_hash(hash, &raw->header.encoding[e].space, UP_TO(larmor_encoding, ndim));
        hash = lmr_hash(hash, &raw->header.encoding[e].space.ramp, sizeof(larmor_ramp));
        hash = lmr_hash(hash, &t->dims, sizeof t->dims);
        hash = lmr_hash(hash, &t->spatial, sizeof t->spatial);
        hash = lmr_hash(hash, &t->density, sizeof t->density);
        hash = lmr_hash(hash, t->scale, sizeof t->scale);
        hash = lmr_hash(hash, t->center, sizeof t->center);
    }
    hash = lmr_hash(hash, raw->kept, (size_t)raw->info.coils * sizeof *raw->kept);
    hash = lmr_hash(hash, &raw->conjugate, sizeof raw->conjugate);
    hash = lmr_hash(hash, raw->first_in_order, ((size_t)raw->info.groups + 1) * sizeof *raw->first_in_order);
    hash = lmr_hash(hash, raw->order, (size_t)raw->first_in_order[raw->info.groups] * sizeof *raw->order);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) hash = hash_readout(raw, i, hash);
    return hash;
}
