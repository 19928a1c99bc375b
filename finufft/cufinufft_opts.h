/* The options of cuFINUFFT's plans. Members and their order are the interface's; those of cuFINUFFT's kernels
 * alone have no effect here. Source: FINUFFT's documentation and public headers (Flatiron Institute, Apache-2.0).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CUFINUFFT_OPTS_H
#define CUFINUFFT_OPTS_H

typedef struct cufinufft_opts {
    double upsampfac;         /* 0: chosen */
    int gpu_method, gpu_sort; /* no effect */
    int gpu_binsizex, gpu_binsizey, gpu_binsizez;
    int gpu_obinsizex, gpu_obinsizey, gpu_obinsizez;
    int gpu_maxsubprobsize;
    int gpu_kerevalmeth;
    int gpu_spreadinterponly; /* 1: no FFT and no deconvolution */
    int gpu_maxbatchsize;     /* 0: chosen */
    int gpu_device_id;
    void *gpu_stream; /* a cudaStream_t; NULL: CUDA's default stream */
    int modeord;      /* 0: -N/2 first, 1: 0 first, as FFTs have it */
    int gpu_np;       /* no effect */
    int debug;        /* no effect */
} cufinufft_opts;

#endif
