# The interface of AbstractNFFTs 0.8 and 0.9 (JuliaMath, MIT): plan_nfft, mul!, adjoint, nodes!, size_in, size_out.
# Nodes are in [-1/2, 1/2) cycles per voxel, as NFFT.jl has them. SPDX-License-Identifier: Apache-2.0
module LarmorAbstractNFFTsExt

using AbstractNFFTs
using Larmor
using LinearAlgebra

mutable struct NFFTPlan{T,D,R} <: AbstractNFFTPlan{T,D,R}
    plan::Larmor.Plan{T}
    N::NTuple{D,Int}
    dims::UnitRange{Int} # that are transformed
    k::Matrix{T}
    options::Any
end

# tol from NFFT.jl's reltol, or from its half width m
tolerance(; reltol = nothing, m = nothing, σ = nothing, kargs...) =
    reltol !== nothing ? reltol : m !== nothing ? paramsToReltol(m, something(σ, 2.0)) : 1e-9

function NFFTPlan(k::Matrix{T}, N::NTuple{D,Int}; dims = 1:D, kargs...) where {T,D}
    along = dims isa Integer ? (dims:dims) : dims
    size(k, 1) == length(along) ||
        throw(ArgumentError("Nodes x have dimension $(size(k, 1)) != $(length(along))"))
    all(x -> abs(x) <= 1 // 2, k) || throw(ArgumentError("Nodes k need to be within [-1/2, 1/2) but $k is not"))
    options = (tol = max(tolerance(; kargs...), T === Float32 ? 1e-6 : 1e-14), batch = prod(N) ÷ prod(N[along]))
    plan = Larmor.Plan(2, N[along]; T = T, both_directions = 1, options...)
    p = NFFTPlan{T,D,D - length(along) + 1}(plan, N, along, k, options)
    nodes!(p, k)
end

function AbstractNFFTs.nodes!(p::NFFTPlan{T}, k::Matrix{T}) where {T}
    Larmor.set_points!(p.plan, k .* collect(p.N[p.dims]))
    p.k = k
    p
end

AbstractNFFTs.size_in(p::NFFTPlan) = p.N
AbstractNFFTs.size_out(p::NFFTPlan) = (p.N[1:first(p.dims)-1]..., size(p.k, 2), p.N[last(p.dims)+1:end]...)
Base.copy(p::NFFTPlan) = NFFTPlan(copy(p.k), p.N; dims = p.dims, reltol = p.options.tol)
Base.show(io::IO, p::NFFTPlan) = print(io, "Larmor's NFFTPlan with ", size(p.k, 2), " nodes for ", p.N, " modes")

# Transformed axes first: the others are the batch.
order(p::NFFTPlan{T,D}) where {T,D} = (p.dims..., setdiff(1:D, p.dims)...)
order_out(p::NFFTPlan{T,D,R}) where {T,D,R} = (first(p.dims), setdiff(1:R, first(p.dims))...)
is_first(p::NFFTPlan) = first(p.dims) == 1

dense(::Type{T}, x) where {T} = x isa Array{Complex{T}} ? x : Array{Complex{T}}(x)

function fits(p, x, shape)
    size(x) == shape || throw(DimensionMismatch("Data is not consistent with $p: got $(size(x)), expected $shape"))
end

function LinearAlgebra.mul!(out::StridedArray, p::NFFTPlan{T}, f::AbstractArray; kargs...) where {T}
    fits(p, f, size_in(p))
    fits(p, out, size_out(p))
    is_first(p) && out isa Array{Complex{T}} && return Larmor.execute!(out, p.plan, dense(T, f))
    y = Larmor.execute(p.plan, is_first(p) ? dense(T, f) : permutedims(dense(T, f), order(p)))
    permuted_back!(out, y, order_out(p))
end

function LinearAlgebra.mul!(out::StridedArray, q::Adjoint{Complex{T},<:NFFTPlan{T}}, g::AbstractArray;
                            kargs...) where {T}
    p = q.parent
    fits(p, g, size_out(p))
    fits(p, out, size_in(p))
    is_first(p) && out isa Array{Complex{T}} && return Larmor.adjoint!(out, p.plan, dense(T, g))
    x = Larmor.adjoint(p.plan, is_first(p) ? dense(T, g) : permutedims(dense(T, g), order_out(p)))
    permuted_back!(out, x, order(p))
end

function permuted_back!(out, x, axes)
    shape = size(out)[collect(axes)]
    out .= permutedims(reshape(x, shape), invperm(collect(axes)))
end

# AbstractNFFTs 0.9 has backends, 0.8 has the type of the array alone.
@static if isdefined(AbstractNFFTs, :AbstractNFFTBackend)
    struct Backend <: AbstractNFFTs.AbstractNFFTBackend end
    AbstractNFFTs.plan_nfft(::Backend, ::Type{<:Array}, k::Matrix{T}, N::NTuple{D,Int}, rest...; timing = nothing,
                            kargs...) where {T,D} = NFFTPlan(k, N, rest...; kargs...)
    Larmor.backend() = Backend()
    Larmor.activate!() = AbstractNFFTs.set_active_backend!(Backend())
else
    AbstractNFFTs.plan_nfft(::Type{<:Array}, k::Matrix{T}, N::NTuple{D,Int}, rest...; timing = nothing,
                            kargs...) where {T,D} = NFFTPlan(k, N, rest...; kargs...)
end

end
