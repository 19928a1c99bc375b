# NFFT.jl's own tests of accuracy and of its constructors on Larmor's plans. NFFT.jl itself is not loaded: its direct sums are
# taken from its sources, and its tests of four dimensions, which larmor has not, are left out.
# Environment: NFFT_SOURCES, a checkout of NFFT.jl. SPDX-License-Identifier: Apache-2.0
using AbstractNFFTs, Larmor, LinearAlgebra, Random, Test

const Ext = isdefined(Base, :get_extension) ? Base.get_extension(Larmor, :LarmorAbstractNFFTsExt) :
            include(joinpath(@__DIR__, "..", "..", "julia", "Larmor", "ext", "LarmorAbstractNFFTsExt.jl"))

module FFTW # of which the tests name a flag
const ESTIMATE = 0
end

module NFFT
using AbstractNFFTs, LinearAlgebra
import AbstractNFFTs: LINEAR, FULL, TENSOR, POLYNOMIAL
include(joinpath(ENV["NFFT_SOURCES"], "src", "direct.jl"))
end
using .NFFT: NDFTPlan
const ndft, ndft_adjoint = NFFT.ndft, NFFT.ndft_adjoint
const NFFTPlan = Ext.NFFTPlan

Base.invokelatest(Larmor.activate!)
Random.seed!(123)

accuracy = read(joinpath(ENV["NFFT_SOURCES"], "test", "accuracy.jl"), String)
occursin(", (6,5,6,6)]", accuracy) || error("accuracy.jl: its case of four dimensions is not where it was")
@testset "NFFT.jl's accuracy.jl" begin
    include_string(Main, replace(accuracy, ", (6,5,6,6)]" => "]"), "accuracy.jl")
end
@testset "NFFT.jl's issues.jl" begin
    include(joinpath(ENV["NFFT_SOURCES"], "test", "issues.jl"))
end

# Of constructors.jl what is not about NFFT.jl's own fields.
@testset "NFFT.jl's constructors.jl" begin
    AbstractNFFTs.set_active_backend!(missing)
    @test ismissing(AbstractNFFTs.active_backend())
    Larmor.activate!()
    @test AbstractNFFTs.active_backend() isa AbstractNFFTs.AbstractNFFTBackend
    @test_throws ArgumentError NFFTPlan(zeros(1, 4), (2, 2))
    p = NFFTPlan(zeros(2, 4), (2, 2))
    @test copy(p).k == p.k && copy(p).N == p.N
    @test size(copy(adjoint(p))) == (4, 4)
    @test_throws Exception NFFTPlan([-0.6 0.9; 0.5 -0.5], (2, 2))
    @test_throws Exception NFFTPlan([-0.3 0.3; 0.3 NaN], (2, 2))
    first_, second = rand(2, 1000) .- 0.5, rand(2, 1000) .- 0.5
    q = nodes!(NFFTPlan(second, (32, 32)), first_)
    @test q.k == first_ && q.N == NFFTPlan(first_, (32, 32)).N
end
