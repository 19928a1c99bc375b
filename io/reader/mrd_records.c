/* Records of ISMRMRD from larmor's structs, and back. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/mrd_records.h"

lmr_mrd_readout_head lmr_mrd_head_of(const larmor_acquisition *a, uint32_t counter)
{
    lmr_mrd_readout_head h = {.version = LMR_MRD_VERSION,
                              .flags = a->flags,
                              .measurement_uid = a->measurement_uid,
                              .scan_counter = counter,
                              .acquisition_time_stamp = a->time_stamp,
                              .number_of_samples = (uint16_t)a->samples,
                              .available_channels = (uint16_t)a->coils,
                              .active_channels = (uint16_t)a->coils,
                              .discard_pre = (uint16_t)a->discard_pre,
                              .discard_post = (uint16_t)a->discard_post,
                              .center_sample = (uint16_t)a->center_sample,
                              .encoding_space_ref = (uint16_t)a->encoding,
                              .trajectory_dimensions = (uint16_t)a->traj_dims,
                              .sample_time_us = (float)a->dwell_us,
                              .idx = {.kspace_encode_step_1 = (uint16_t)a->step1,
                                      .kspace_encode_step_2 = (uint16_t)a->step2,
                                      .average = (uint16_t)a->average,
                                      .slice = (uint16_t)a->slice,
                                      .contrast = (uint16_t)a->contrast,
                                      .phase = (uint16_t)a->phase,
                                      .repetition = (uint16_t)a->repetition,
                                      .set = (uint16_t)a->set,
                                      .segment = (uint16_t)a->segment}};
    for (int k = 0; k < 8; k++) h.idx.user[k] = (uint16_t)a->user[k];
    memcpy(h.user_int, a->user_int, sizeof h.user_int);
    memcpy(h.user_float, a->user_float, sizeof h.user_float);
    for (int c = 0; c < a->coils; c++) h.channel_mask[c / 64] |= UINT64_C(1) << (c % 64);
    memcpy(h.physiology_time_stamp, a->physiology_stamp, sizeof h.physiology_time_stamp);
    lmr_mrd_set_floats(h.position, a->position_mm);
    lmr_mrd_set_floats(h.read_dir, a->read_dir);
    lmr_mrd_set_floats(h.phase_dir, a->phase_dir);
    lmr_mrd_set_floats(h.slice_dir, a->slice_dir);
    lmr_mrd_set_floats(h.patient_table_position, a->table_mm);
    return h;
}

lmr_mrd_image lmr_mrd_image_of(const larmor_image_meta *m, const int64_t dim[3], size_t attributes)
{
    lmr_mrd_image h = {.version = LMR_MRD_VERSION,
                       .measurement_uid = m->measurement_uid,
                       .matrix_size = {(uint16_t)dim[0], (uint16_t)dim[1], (uint16_t)dim[2]},
                       .channels = 1,
                       .average = (uint16_t)m->average,
                       .slice = (uint16_t)m->slice,
                       .contrast = (uint16_t)m->contrast,
                       .phase = (uint16_t)m->phase,
                       .repetition = (uint16_t)m->repetition,
                       .set = (uint16_t)m->set,
                       .acquisition_time_stamp = m->time_stamp,
                       .attribute_string_len = (uint32_t)attributes};
    memcpy(h.physiology_time_stamp, m->physiology_stamp, sizeof h.physiology_time_stamp);
    lmr_mrd_set_floats(h.field_of_view, m->fov_mm);
    lmr_mrd_set_floats(h.position, m->position_mm);
    if (!m->place_unknown) { /* else 0, as in the scan */
        lmr_mrd_set_floats(h.read_dir, m->read_dir);
        lmr_mrd_set_floats(h.phase_dir, m->phase_dir);
        lmr_mrd_set_floats(h.slice_dir, m->slice_dir);
    }
    lmr_mrd_set_floats(h.patient_table_position, m->table_mm);
    return h;
}

larmor_image_meta lmr_mrd_meta_of(const lmr_mrd_image *h)
{
    larmor_image_meta meta = {.slice = h->slice,
                              .contrast = h->contrast,
                              .phase = h->phase,
                              .repetition = h->repetition,
                              .set = h->set,
                              .average = h->average,
                              .measurement_uid = h->measurement_uid,
                              .time_stamp = h->acquisition_time_stamp};
    memcpy(meta.physiology_stamp, h->physiology_time_stamp, sizeof meta.physiology_stamp);
    lmr_mrd_get_floats(meta.fov_mm, h->field_of_view);
    lmr_mrd_get_floats(meta.position_mm, h->position);
    lmr_mrd_get_floats(meta.read_dir, h->read_dir);
    lmr_mrd_get_floats(meta.phase_dir, h->phase_dir);
    lmr_mrd_get_floats(meta.slice_dir, h->slice_dir);
    lmr_mrd_get_floats(meta.table_mm, h->patient_table_position);
    return meta;
}

void lmr_mrd_wave_name(const larmor_waveform_info *known, int count, lmr_mrd_wave *w)
{
    w->kind = (int32_t)lmr_mrd_usual_kind(w->id);
    w->trigger = -1;
    for (int i = 0; i < count; i++) {
        if (known[i].id != w->id) continue;
        w->kind = (int32_t)known[i].kind;
        const int trigger = known[i].trigger;
        if (trigger >= 0 && trigger < w->channels && trigger <= INT16_MAX) w->trigger = (int16_t)trigger;
    }
}
