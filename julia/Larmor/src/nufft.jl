# The non-uniform fast Fourier transform. SPDX-License-Identifier: Apache-2.0

"""
    Plan(type, modes; T = Float64, batch = 1, tol = 1e-5, sign = 0, units = :cycles, device = "cpu", ...)

A NUFFT that is used often: made once, given points by `set_points!`, run by `execute` and `adjoint`.

With points k in cycles per field of view, modes N and r = i - N ÷ 2 for i in 0:N-1 in each dimension

    type 2   y[j] = sum_r x[r] exp(-2πi k[j] ⋅ r / N)        image to samples
    type 1   x[r] = sum_j y[j] exp(+2πi k[j] ⋅ r / N)        samples to image
    type 3   f[k] = sum_j c[j] exp(+2πi s[k] ⋅ x[j])         points to targets

`modes` is an Int or a tuple; of type 3 the number of dimensions. `units = :radians` takes FINUFFT's points: 2πk / N,
and targets 2πs. `T` is the precision of the values. Further options are those of larmor_nufft_opts: upsample, width,
threads, effort (0 to 2), mode_order (0: -N÷2 first, 1: as FFTs), both_directions.
"""
mutable struct Plan{T<:Union{Float32,Float64}}
    pointer::Ptr{Cvoid}
    device::Device
    type::Int
    modes::Vector{Int}
    dims::Int
    batch::Int
    units::Symbol
    samples::Tuple{Vararg{Int}}
    targets::Tuple{Vararg{Int}}
    has_points::Bool
end

const INTEGERS = (:sign, :width, :mode_order, :threads, :effort, :both_directions)

function plan_options(type, dims, modes, T, batch, tol, more)
    opts = zeros(UInt8, NUFFT_OPTS.size)
    put!(opts, 0, Csize_t(NUFFT_OPTS.size))
    put!(opts, NUFFT_OPTS.type, Cint(type))
    put!(opts, NUFFT_OPTS.ndim, Cint(dims))
    foreach(d -> put!(opts, NUFFT_OPTS.modes + 8 * (d - 1), Int64(modes[d])), eachindex(modes))
    put!(opts, NUFFT_OPTS.batch, Int64(batch))
    put!(opts, NUFFT_OPTS.tol, Float64(tol))
    put!(opts, NUFFT_OPTS.dtype, dtype(Complex{T}))
    for (name, value) in more
        if name in INTEGERS
            put!(opts, NUFFT_OPTS[name], Cint(value))
        elseif name === :upsample
            put!(opts, NUFFT_OPTS.upsample, Float64(value))
        else
            known = [string.(INTEGERS)..., "upsample", "batch", "tol", "units", "device", "T"]
            throw(LarmorError(:ERR_UNSUPPORTED,
                "$name: no option of Larmor.Plan" * chopped(nearest(string(name), known))))
        end
    end
    opts
end

chopped(text) = text == ";" ? "" : text

function Plan(type::Integer, modes; T::Type = Float64, batch::Integer = 1, tol::Real = 1e-5, units::Symbol = :cycles,
              device::AbstractString = "cpu", more...)
    units in (:cycles, :radians) || throw(LarmorError(:ERR_ARG, "units: got $units, expected cycles or radians"))
    T in (Float32, Float64) || throw(LarmorError(:ERR_ARG, "T: got $T, expected Float32 or Float64"))
    batch >= 1 || throw(LarmorError(:ERR_ARG, "batch: got $batch, expected a number above 0"))
    sizes = type == 3 ? Int[] : Int[modes...]
    dims = type == 3 ? Int(modes) : length(sizes)
    dims in 1:3 || throw(LarmorError(:ERR_ARG, "modes: got $dims dimensions, expected 1 to 3"))
    opts = plan_options(type, dims, sizes, T, batch, tol, more)
    on = Device(device)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    check(ccall(symbol(:larmor_nufft_create), Cint, (Ptr{Cvoid}, Ptr{UInt8}, Ref{Ptr{Cvoid}}), on.pointer, opts, out))
    plan = Plan{T}(out[], on, type, sizes, dims, batch, units, (), (), false)
    finalizer(free, plan)
end

"Free what a plan holds; it may be called again."
function free(plan::Plan)
    ccall(symbol(:larmor_nufft_free), Cvoid, (Ptr{Cvoid},), plan.pointer)
    plan.pointer = C_NULL
    nothing
end

real_points(x::AbstractArray{<:Union{Float32,Float64}}) = Array(x)
real_points(x::AbstractArray{<:Real}) = Array{Float64}(x)

function coordinates(x::AbstractArray, dims::Integer, what)
    x = dims == 1 && ndims(x) == 1 ? reshape(x, 1, :) : x
    size(x, 1) == dims ||
        throw(LarmorError(:ERR_SHAPE, "$what: got size $(size(x)), expected ($dims, ...), a row for each axis"))
    real_points(x)
end

"""
    set_points!(plan, points[, targets])

Points [dims, samples...], row d for axis d of the image, in 1D any vector; targets of type 3 likewise. They are
copied.
"""
function set_points!(plan::Plan, points::AbstractArray, targets::Union{Nothing,AbstractArray} = nothing)
    plan.pointer == C_NULL && throw(LarmorError(:ERR_ARG, "plan: it was freed"))
    points = coordinates(points, plan.dims, "points")
    (targets === nothing) == (plan.type == 3) &&
        throw(LarmorError(:ERR_ARG, "targets: plans of type 3 need them, and only they take them"))
    scaled, reached = points, targets
    plan.units === :radians && plan.type != 3 && (scaled = points .* (plan.modes ./ 2π))
    targets === nothing || (reached = coordinates(targets, plan.dims, "targets"))
    plan.units === :radians && plan.type == 3 && (reached = reached ./ 2π)
    set_coordinates!(plan, scaled, reached)
    plan.samples = size(points)[2:end]
    plan.targets = targets === nothing ? Tuple(plan.modes) : size(reached)[2:end]
    plan.has_points = true
    plan
end

function set_coordinates!(plan, points, targets)
    there = C_NULL
    at = upload(plan.device, points)
    try
        targets === nothing || (there = upload(plan.device, targets))
        check(ccall(symbol(:larmor_nufft_set_points), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}),
                    plan.pointer, at, there))
    finally
        free_array(at)
        free_array(there)
    end
end

from_points(plan::Plan, is_adjoint::Bool) = (plan.type == 2) == is_adjoint
with_batch(shape, plan) = plan.batch == 1 ? shape : (shape..., plan.batch)
size_before(plan, is_adjoint) = with_batch(from_points(plan, is_adjoint) ? plan.samples : plan.targets, plan)
size_after(plan, is_adjoint) = with_batch(from_points(plan, is_adjoint) ? plan.targets : plan.samples, plan)

function run!(out::Array{Complex{T}}, plan::Plan{T}, x::Array{Complex{T}}, is_adjoint::Bool) where {T}
    plan.pointer == C_NULL && throw(LarmorError(:ERR_ARG, "plan: it was freed"))
    plan.has_points || throw(LarmorError(:ERR_ARG, "plan: it has no points; call set_points! first"))
    for (array, shape) in ((x, size_before(plan, is_adjoint)), (out, size_after(plan, is_adjoint)))
        length(array) == prod(shape) ||
            throw(LarmorError(:ERR_SHAPE, "plan: got size $(size(array)), expected $shape"))
    end
    name = is_adjoint ? :larmor_nufft_execute_adjoint : :larmor_nufft_execute
    GC.@preserve x out begin
        in_, made = given(plan.device, x), given(plan.device, out)
        try
            check(ccall(symbol(name), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}), plan.pointer, in_, made))
            is_processor(plan.device) || read!(made, out)
        finally
            free_array(in_)
            free_array(made)
        end
    end
    out
end

run(plan::Plan{T}, x, is_adjoint) where {T} =
    run!(Array{Complex{T}}(undef, size_after(plan, is_adjoint)), plan, convert(Array{Complex{T}}, x), is_adjoint)

"Type 1: samples to an image; type 2: back; type 3: to targets. A batch is the last axis."
execute(plan::Plan, x::AbstractArray) = run(plan, x, false)
execute!(out::Array{Complex{T}}, plan::Plan{T}, x::AbstractArray) where {T} =
    run!(out, plan, convert(Array{Complex{T}}, x), false)

"The exact conjugate transpose of `execute`."
adjoint(plan::Plan, x::AbstractArray) = run(plan, x, true)
adjoint!(out::Array{Complex{T}}, plan::Plan{T}, x::AbstractArray) where {T} =
    run!(out, plan, convert(Array{Complex{T}}, x), true)

Base.show(io::IO, p::Plan{T}) where {T} =
    print(io, "Larmor.Plan of type ", p.type, ", ", p.type == 3 ? "$(p.dims)D" : join(p.modes, " x "), ", ", T)

"""
    nufft1(points, values, modes; options...)
    nufft2(points, image; options...)
    nufft3(points, values, targets; options...)

One transform, with the sums and options of `Plan`; the precision is that of the values.
"""
nufft1(points, values, modes; options...) =
    execute(set_points!(Plan(1, modes; T = precision_of(values), options...), points), values)
nufft2(points, image; options...) =
    execute(set_points!(Plan(2, size(image); T = precision_of(image), options...), points), image)
nufft3(points, values, targets; options...) = execute(
    set_points!(Plan(3, ndims(points) == 1 ? 1 : size(points, 1); T = precision_of(values), options...),
                points, targets), values)
precision_of(x) = real(eltype(x)) === Float32 ? Float32 : Float64
