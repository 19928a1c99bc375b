/* larmor inside a CUDA program: its memory and its stream, and no wait between its kernels and larmor's.
 * Usage: stream. SPDX-License-Identifier: Apache-2.0
 *
 * k-space of one voxel of density 1 in the centre is 1 everywhere. A kernel of the program writes that image, larmor
 * takes it to k-space on the same stream, and another kernel compares. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuComplex.h>
#include <cuda_runtime.h>

#include <larmor/larmor.h>

static const int64_t n = 64, points = 4096;

__global__ void put_voxel(cuFloatComplex *image)
{
    image[n / 2 + n * (n / 2)] = make_cuFloatComplex(1, 0);
}

/* worst <- the largest |k - 1|, by the bits of a number that is not negative */
__global__ void compare(const cuFloatComplex *kspace, int *worst)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= points) return;
    const float off = cuCabsf(cuCsubf(kspace[i], make_cuFloatComplex(1, 0)));
    atomicMax(worst, __float_as_int(off));
}

struct program {
    cudaStream_t stream;
    cuFloatComplex *image, *kspace;
    int *worst;
};

static bool allocate(program *p)
{
    return cudaStreamCreate(&p->stream) == cudaSuccess &&
           cudaMalloc((void **)&p->image, n * n * sizeof *p->image) == cudaSuccess &&
           cudaMalloc((void **)&p->kspace, points * sizeof *p->kspace) == cudaSuccess &&
           cudaMalloc((void **)&p->worst, sizeof *p->worst) == cudaSuccess &&
           cudaMemset(p->image, 0, n * n * sizeof *p->image) == cudaSuccess &&
           cudaMemset(p->worst, 0, sizeof *p->worst) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
}

/* Spokes at the golden angle. */
static larmor_status make_points(larmor_device *dev, larmor_array **traj)
{
    larmor_traj_opts opts = {};
    opts.matrix[0] = opts.matrix[1] = n;
    opts.readouts = points / (2 * n);
    return larmor_traj_create(dev, "golden", &opts, traj);
}

static larmor_status run(larmor_device *dev, const program *p)
{
    const int64_t image_dim[] = {n, n}, kspace_dim[] = {2 * n, points / (2 * n)};
    larmor_nufft_opts opts = {};
    larmor_array *traj = nullptr, *image = nullptr, *kspace = nullptr;
    larmor_op *F = nullptr;
    opts.ndim = 2;
    opts.modes[0] = opts.modes[1] = n;
    opts.tol = 1e-5;
    opts.dtype = LARMOR_C64;
    larmor_status st = larmor_device_set_stream(dev, p->stream);
    if (!st) st = make_points(dev, &traj);
    if (!st) st = larmor_op_nufft(dev, &opts, traj, &F);
    if (!st)
        st = larmor_array_wrap(dev, LARMOR_C64, larmor_shape_of(2, image_dim), p->image, nullptr, nullptr, &image);
    if (!st)
        st = larmor_array_wrap(dev, LARMOR_C64, larmor_shape_of(2, kspace_dim), p->kspace, nullptr, nullptr, &kspace);
    if (!st) {
        put_voxel<<<1, 1, 0, p->stream>>>(p->image);
        st = larmor_op_forward(F, image, kspace);
        compare<<<(points + 127) / 128, 128, 0, p->stream>>>(p->kspace, p->worst);
    }
    larmor_op_free(F);
    larmor_array_free(kspace);
    larmor_array_free(image);
    larmor_array_free(traj);
    return st;
}

int main()
{
    program p = {};
    larmor_device *dev = nullptr;
    int bits = 0;
    larmor_status st = larmor_device_open("cuda:0", &dev);
    if (st || cudaSetDevice(0) != cudaSuccess || !allocate(&p)) {
        std::fprintf(stderr, "stream: %s\n", st ? larmor_last_error() : cudaGetErrorString(cudaGetLastError()));
        return EXIT_FAILURE;
    }
    st = run(dev, &p);
    larmor_device_free(dev);
    const bool done = cudaMemcpyAsync(&bits, p.worst, sizeof bits, cudaMemcpyDeviceToHost, p.stream) == cudaSuccess &&
                      cudaStreamSynchronize(p.stream) == cudaSuccess;
    cudaFree(p.image);
    cudaFree(p.kspace);
    cudaFree(p.worst);
    cudaStreamDestroy(p.stream);
    if (st || !done) {
        std::fprintf(stderr, "stream: %s\n", st ? larmor_last_error() : cudaGetErrorString(cudaGetLastError()));
        return EXIT_FAILURE;
    }
    float worst = 0;
    static_assert(sizeof worst == sizeof bits, "a float has 32 bits");
    __builtin_memcpy(&worst, &bits, sizeof worst);
    std::printf("largest difference from 1: %.1e\n", worst);
    return worst < 1e-4F ? EXIT_SUCCESS : EXIT_FAILURE;
}
