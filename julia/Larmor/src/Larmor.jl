"""
MRI reconstruction and non-uniform fast Fourier transforms by the C library larmor.

`Larmor.recon` reconstructs a scan, `Larmor.Plan` is a NUFFT of type 1, 2 or 3. The library is
`ENV["LARMOR_LIBRARY"]`, or `liblarmor.so` where the system looks for libraries. Arrays are in Julia's order, which is
the library's: the first axis is
fastest. What fails throws a `LarmorError` with the library's line.
SPDX-License-Identifier: Apache-2.0
"""
module Larmor

using Libdl
using LinearAlgebra

include("layout.jl")
include("library.jl")
include("nufft.jl")
include("recon.jl")

"The backend of AbstractNFFTs 0.9, as an argument of plan_nfft; where AbstractNFFTs is loaded."
function backend end
"Make this the active backend of AbstractNFFTs 0.9."
function activate! end

end
