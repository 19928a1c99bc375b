# The library, its errors and its arrays. SPDX-License-Identifier: Apache-2.0

const LIBRARY = Ref{Ptr{Cvoid}}(C_NULL)
const SYMBOLS = Dict{Symbol,Ptr{Cvoid}}()
const LOCK = ReentrantLock()

"The library's function of this name."
function symbol(name::Symbol)
    lock(LOCK) do
        LIBRARY[] == C_NULL && open_library()
        get!(() -> dlsym(LIBRARY[], name), SYMBOLS, name)
    end
end

function open_library()
    path = get(ENV, "LARMOR_LIBRARY", "")
    names = isempty(path) ? ["liblarmor.so", "liblarmor.so." * join(split(VERSION_OF_LAYOUT, '.')[1:2], '.')] : [path]
    for name in names
        found = dlopen(name; throw_error = false)
        found === nothing || return check_version(found, name)
    end
    throw(LarmorError(:ERR_UNSUPPORTED,
        "$(names[1]): no such library; set LARMOR_LIBRARY to the path of liblarmor.so"))
end

function check_version(found, name)
    version_ = unsafe_string(ccall(dlsym(found, :larmor_version), Cstring, ()))
    version_ == VERSION_OF_LAYOUT || throw(LarmorError(:ERR_UNSUPPORTED,
        "$name: got larmor $version_, expected $VERSION_OF_LAYOUT, of which this package is; " *
        "install the package of that version"))
    LIBRARY[] = found
end

"The version of the library."
version() = unsafe_string(ccall(symbol(:larmor_version), Cstring, ()))

# ---- errors ----

"What the library says of a call that failed: `status`, such as `:ERR_SHAPE`, and `line`."
struct LarmorError <: Exception
    status::Symbol
    line::String
end

Base.showerror(io::IO, e::LarmorError) = print(io, "larmor: ", e.line, " (", e.status, ")")

"The library's line with options as they are written here: `iters` for `opts.iters`."
plain(line::AbstractString) = replace(line, "opts." => "")

function check(status::Cint)
    status == STATUS.OK && return
    name = unsafe_string(ccall(symbol(:larmor_status_name), Cstring, (Cint,), status))
    line = unsafe_string(ccall(symbol(:larmor_last_error), Cstring, ()))
    throw(LarmorError(Symbol(replace(name, "LARMOR_" => "")), plain(line)))
end

"; did you mean NAME? of the known name that is most like this one, or nothing."
function nearest(word::AbstractString, known)
    isempty(known) && return ""
    apart, found = findmin([distance(word, name) for name in known])
    apart <= (length(word) + 2) ÷ 3 ? ", did you mean $(collect(known)[found])?" : ";"
end

function distance(a::AbstractString, b::AbstractString)
    row = collect(0:length(b))
    for (i, x) in enumerate(a)
        corner, row[1] = row[1], i
        for (j, y) in enumerate(b)
            best = min(corner + (x != y), row[j+1] + 1, row[j] + 1)
            corner, row[j+1] = row[j+1], best
        end
    end
    row[end]
end

# ---- structs as bytes ----

put!(bytes::Vector{UInt8}, at::Integer, value::T) where {T} =
    GC.@preserve bytes unsafe_store!(Ptr{T}(pointer(bytes) + at), value)
take(::Type{T}, from::Ptr, at::Integer, i::Integer = 1) where {T} = unsafe_load(Ptr{T}(from + at), i)
take_text(from::Ptr, at::Integer) = unsafe_string(Ptr{UInt8}(from + at))
take_numbers(from::Ptr, at::Integer) = ntuple(i -> take(Float64, from, at, i), 3)

# ---- arrays ----

struct Shape
    ndim::Cint
    dim::NTuple{8,Int64}
end

function Shape(dims)
    length(dims) <= 8 || throw(LarmorError(:ERR_SHAPE, "array: got $(length(dims)) axes, expected at most 8"))
    Shape(length(dims), ntuple(d -> d <= length(dims) ? Int64(dims[d]) : 0, 8))
end

const NUMBERS = (Float32, Float64, ComplexF32, ComplexF64, Int64) # larmor_dtype
dtype(::Type{T}) where {T} = Cint(findfirst(==(T), NUMBERS) - 1)

"Calls of one device take turns."
mutable struct Device
    pointer::Ptr{Cvoid}
    function Device(spec::AbstractString)
        out = Ref{Ptr{Cvoid}}(C_NULL)
        check(ccall(symbol(:larmor_device_open), Cint, (Cstring, Ref{Ptr{Cvoid}}), spec, out))
        finalizer(d -> ccall(symbol(:larmor_device_free), Cvoid, (Ptr{Cvoid},), d.pointer), new(out[]))
    end
end

spec(d::Device) = unsafe_string(ccall(symbol(:larmor_device_spec), Cstring, (Ptr{Cvoid},), d.pointer))
is_processor(d::Device) = startswith(spec(d), "cpu")

free_array(x::Ptr{Cvoid}) = ccall(symbol(:larmor_array_free), Cvoid, (Ptr{Cvoid},), x)

"A copy of an array on a device, to be freed."
function upload(d::Device, x::Array{T}) where {T}
    out = Ref{Ptr{Cvoid}}(C_NULL)
    check(ccall(symbol(:larmor_array_upload), Cint,
                (Ptr{Cvoid}, Cint, Shape, Cint, Ptr{Cvoid}, Ref{Ptr{Cvoid}}),
                d.pointer, dtype(T), Shape(size(x)), dtype(T), x, out))
    out[]
end

"A processor's array in the memory of x, which must be kept alive, to be freed."
function wrap(d::Device, x::Array{T}) where {T}
    out = Ref{Ptr{Cvoid}}(C_NULL)
    check(ccall(symbol(:larmor_array_wrap), Cint,
                (Ptr{Cvoid}, Cint, Shape, Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Ref{Ptr{Cvoid}}),
                d.pointer, dtype(T), Shape((length(x),)), isempty(x) ? C_NULL : pointer(x), C_NULL, C_NULL, out))
    out[]
end

given(d::Device, x::Array) = is_processor(d) ? wrap(d, x) : upload(d, vec(x))

"An array of the library as one of Julia."
function download(x::Ptr{Cvoid})
    shape = ccall(symbol(:larmor_array_shape), Shape, (Ptr{Cvoid},), x)
    T = NUMBERS[ccall(symbol(:larmor_array_dtype), Cint, (Ptr{Cvoid},), x)+1]
    out = Array{T}(undef, shape.dim[1:shape.ndim])
    read!(x, out)
    out
end

function read!(x::Ptr{Cvoid}, out::Array)
    isempty(out) ||
        check(ccall(symbol(:larmor_array_read), Cint, (Ptr{Cvoid}, Ptr{Cvoid}, Csize_t), x, out, sizeof(out)))
    out
end
