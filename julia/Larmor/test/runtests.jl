# Tests of Larmor.jl; the name of each is a claim. Environment: LARMOR_LIBRARY; LARMOR_SCAN, a scan, and LARMOR_IMAGE
# and LARMOR_GRIDDED, .cfl files that the program made of it, without which reconstructions are left out.
# SPDX-License-Identifier: Apache-2.0
using Larmor, LinearAlgebra, Random, Test

apart(x, y) = size(x) == size(y) ? norm(x - y) / norm(y) : Inf

"exp(sign 2πi k ⋅ r / N) as [points, modes]"
function kernel(k, modes, sign)
    r = [collect(0:n-1) .- n ÷ 2 for n in modes]
    phase = [sum(k[d, j] * r[d][i[d]] / modes[d] for d in eachindex(modes))
             for j in axes(k, 2), i in vec(CartesianIndices(Tuple(modes)))]
    cis.(sign * 2π * phase)
end

function message(call)
    try
        call()
    catch raised
        return raised isa Larmor.LarmorError ? (raised.status, raised.line) : raised
    end
    "no error"
end

Random.seed!(7)

@testset "types 1 and 2 are the direct sums" begin
    for modes in ((21,), (16, 12), (6, 8, 5)), tol in (1e-4, 1e-10)
        k = (rand(length(modes), 50) .- 0.5) .* collect(modes)
        x, y = randn(ComplexF64, modes), randn(ComplexF64, 50)
        @test apart(Larmor.nufft2(k, x; tol = tol), kernel(k, modes, -1) * vec(x)) < tol
        @test apart(vec(Larmor.nufft1(k, y, modes; tol = tol)), transpose(kernel(k, modes, 1)) * y) < tol
    end
end

@testset "type 3 is the direct sum in both units" begin
    for dims in 1:3
        x, s, c = 3 * rand(dims, 40), 4 * (rand(dims, 30) .- 0.5), randn(ComplexF64, 40)
        @test apart(Larmor.nufft3(x, c, s; tol = 1e-8), cis.(2π * (s' * x)) * c) < 1e-8
        @test apart(Larmor.nufft3(x, c, s; tol = 1e-8, units = :radians, sign = -1), cis.(-(s' * x)) * c) < 1e-8
    end
end

@testset "radians are points of FINUFFT" begin
    k, x = 2π * (rand(2, 40) .- 0.5), randn(ComplexF64, 10, 9)
    expected = kernel(k .* [10, 9] / 2π, (10, 9), -1) * vec(x)
    @test apart(Larmor.nufft2(k, x; tol = 1e-9, units = :radians), expected) < 1e-9
end

@testset "the adjoint is exact of each type" begin
    for type in 1:3
        plan = Larmor.Plan(type, type == 3 ? 2 : (9, 12); tol = 1e-3)
        type == 3 ? Larmor.set_points!(plan, rand(2, 33), rand(2, 7, 5)) :
                    Larmor.set_points!(plan, 9 * (rand(2, 33) .- 0.5))
        x, y = randn(ComplexF64, 33), randn(ComplexF64, type == 3 ? (7, 5) : (9, 12))
        type == 2 && ((x, y) = (y, x))
        forward, back = Larmor.execute(plan, x), Larmor.adjoint(plan, y)
        @test size(forward) == size(y) && size(back) == size(x)
        @test abs(dot(y, forward) - dot(back, x)) / (norm(forward) * norm(y)) < 1e-13
    end
end

@testset "a batch is transforms one by one, and samples keep their axes" begin
    k, x = 8 * (rand(2, 11, 6) .- 0.5), randn(ComplexF32, 8, 8, 3)
    plan = Larmor.set_points!(Larmor.Plan(2, (8, 8); T = Float32, batch = 3), k)
    y = Larmor.execute(plan, x)
    @test y isa Array{ComplexF32,3} && size(y) == (11, 6, 3)
    @test all(apart(y[:, :, i], Larmor.nufft2(k, x[:, :, i])) < 1e-6 for i in 1:3)
    @test Larmor.adjoint!(zeros(ComplexF32, 8, 8, 3), plan, y) == Larmor.adjoint(plan, y)
end

@testset "plans refuse in one line" begin
    plan = Larmor.Plan(2, (8, 8))
    @test message(() -> Larmor.execute(plan, zeros(8, 8))) ==
          (:ERR_ARG, "plan: it has no points; call set_points! first")
    Larmor.set_points!(plan, rand(2, 5))
    @test message(() -> Larmor.execute(plan, zeros(7, 8))) == (:ERR_SHAPE, "plan: got size (7, 8), expected (8, 8)")
    @test message(() -> Larmor.set_points!(plan, rand(3, 5))) ==
          (:ERR_SHAPE, "points: got size (3, 5), expected (2, ...), a row for each axis")
    @test message(() -> Larmor.Plan(2, (8, 8); tols = 1)) ==
          (:ERR_UNSUPPORTED, "tols: no option of Larmor.Plan, did you mean tol?")
    @test message(() -> Larmor.Plan(4, (8, 8)))[1] == :ERR_ARG
    @test message(() -> Larmor.Plan(2, (8, 8); batch = 0)) == (:ERR_ARG, "batch: got 0, expected a number above 0")
    Larmor.free(plan)
    Larmor.free(plan)
    @test message(() -> Larmor.execute(plan, zeros(8, 8))) == (:ERR_ARG, "plan: it was freed")
end

@testset "settings are those of the library" begin
    table = Larmor.settings()
    row = only(filter(s -> s.name == "iters", table))
    @test length(table) > 40 && row.option == "iters" && !isempty(row.help)
end

@testset "what is no option or no file is named" begin
    @test message(() -> Larmor.recon("nothing.h5")) == (:ERR_IO, "nothing.h5: no such file.")
    @test message(() -> Larmor.recon("nothing.h5"; itres = 3)) ==
          (:ERR_UNSUPPORTED, "itres: no option of Larmor.recon, did you mean iters? Larmor.settings() lists them.")
    @test message(() -> Larmor.recon("nothing.h5"; iters = "x")) ==
          (:ERR_ARG, "iters: got \"x\", expected a whole number from 1 to 1e+09")
    @test message(() -> Larmor.recon("nothing.h5"; itres = nothing)) ==
          (:ERR_UNSUPPORTED, "itres: no option of Larmor.recon, did you mean iters? Larmor.settings() lists them.")
    nothings = (iters = nothing, maps = nothing, time_weight = nothing)
    @test message(() -> Larmor.recon("nothing.h5"; nothings...))[1] == :ERR_IO
    @test message(() -> Larmor.recon("nothing.h5"; noise = -3)) ==
          (:ERR_ARG, "noise: got -3, expected true, or a number of samples")
end

function read_cfl(path)
    dims = parse.(Int, split(readlines(path * ".hdr")[2]))
    while length(dims) > 2 && dims[end] == 1
        pop!(dims)
    end
    reshape(reinterpret(ComplexF32, read(path * ".cfl")), dims...)
end

if haskey(ENV, "LARMOR_SCAN")
    scan = ENV["LARMOR_SCAN"]

    @testset "recon gives the image of the program bit for bit" begin
        r = Larmor.recon(scan; method = "cg", lambda = 0.01, matrix = (40, 48), device = "cpu")
        @test r.images == read_cfl(ENV["LARMOR_IMAGE"])
        @test r.reports[1].method == "cg" && r.reports[1].iterations > 1 && size(r.maps) == (40, 48, 4)
        @test r.meta[1].fov_mm[1:2] == (256, 256) && !isempty(r.log) && r.noise === nothing
        @test Larmor.recon(scan; method = "grid", device = "cpu").images == read_cfl(ENV["LARMOR_GRIDDED"])
        again = Larmor.recon(scan; method = "cg", lambda = 0.01, matrix = "40,48", device = "cpu", maps = r.maps)
        @test apart(again.images, r.images) < 1e-4 && again.maps === nothing
    end

    @testset "a list of texts is one of penalties" begin
        options = (device = "cpu", lambda = 0.01, iters = 3)
        list = Larmor.recon(scan; reg = ["tv:xy", "l1"], options...)
        @test list.images == Larmor.recon(scan; reg = ("tv:xy", :l1), options...).images
        @test list.images != Larmor.recon(scan; reg = "tv:xy", options...).images
        @test any(line -> occursin("tv", line) && occursin("l1", line), [list.reports[1].method; list.log])
        @test message(() -> Larmor.recon(scan; reg = ["tv:xy", "quux"], options...))[1] == :ERR_ARG
    end

    @testset "noise is that of the image, and a mask empties the rest" begin
        r = Larmor.recon(scan; method = "cg", lambda = 0.01, device = "cpu", noise = 4)
        @test size(r.noise) == (48, 48) == size(r.g) && 0 < sum(r.noise) / 48^2 < 0.1 * maximum(abs, r.images)
        support = zeros(48, 48)
        support[10:30, 12:40] .= 1
        masked = Larmor.recon(scan; method = "cg", lambda = 0.01, device = "cpu", support = support)
        @test all(iszero, masked.images[support .== 0]) && any(!iszero, masked.images[support .== 1])
    end

    @testset "progress sees all, stops by true, and what it throws is thrown" begin
        seen = Float64[]
        Larmor.recon(scan; method = "grid", device = "cpu", progress = e -> (push!(seen, e.fraction); nothing))
        @test length(seen) > 3 && issorted(seen)
        @test message(() -> Larmor.recon(scan; device = "cpu", progress = e -> true))[1] == :STOPPED
        @test message(() -> Larmor.recon(scan; device = "cpu", progress = e -> error("boom"))) ==
              ErrorException("boom")
    end
end

# Where AbstractNFFTs is there; before Julia 1.9 without extensions.
if Base.find_package("AbstractNFFTs") !== nothing
    using AbstractNFFTs
    const Ext = isdefined(Base, :get_extension) ? Base.get_extension(Larmor, :LarmorAbstractNFFTsExt) :
                include(joinpath(@__DIR__, "..", "ext", "LarmorAbstractNFFTsExt.jl"))
    isdefined(AbstractNFFTs, :AbstractNFFTBackend) && Base.invokelatest(Larmor.activate!)

    @testset "plan_nfft is the direct sum, its adjoint exact, for axes in any place" begin
        for (N, dims) in (((21,), 1:1), ((16, 13), 1:2), ((6, 8, 5), 1:3), ((6, 8, 5), 2:2), ((6, 8, 5), 2:3),
                          ((6, 8), 2:2))
            k = rand(length(dims), 40) .- 0.5
            p = plan_nfft(k, N; dims = dims, reltol = 1e-9)
            f = randn(ComplexF64, N)
            fHat = p * f
            g = randn(ComplexF64, size_out(p))
            @test size_in(p) == N && size(fHat) == size_out(p) && size(p' * g) == N
            @test abs(dot(g, fHat) - dot(p' * g, f)) / (norm(fHat) * norm(g)) < 1e-13
            rest = setdiff(1:length(N), dims)
            matrix = reshape(permutedims(f, (dims..., rest...)), prod(N[dims]), :)
            out = reshape(kernel(k .* collect(N[dims]), N[dims], -1) * matrix, 40, N[rest]...)
            place = first(dims)
            where_ = (2:place..., 1, place+1:length(rest)+1...)
            @test apart(fHat, permutedims(out, where_)) < 1e-8
        end
    end

    @testset "nodes! gives the plan of new nodes, and a copy is one of its own" begin
        k, other, f = rand(2, 40) .- 0.5, rand(2, 40) .- 0.5, randn(ComplexF64, 8, 8)
        p = plan_nfft(k, (8, 8))
        q = copy(p)
        @test nodes!(p, other) * f == plan_nfft(other, (8, 8)) * f
        @test q * f == plan_nfft(k, (8, 8)) * f
        @test_throws ArgumentError plan_nfft(zeros(1, 4), (2, 2))
        @test_throws ArgumentError plan_nfft([-0.6 0.9; 0.5 -0.5], (2, 2))
        @test_throws Exception plan_nfft([-0.3 0.3; 0.3 NaN], (2, 2))
        @test_throws DimensionMismatch p * zeros(ComplexF64, 7, 8)
    end
end
