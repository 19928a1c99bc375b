# Whole reconstructions. SPDX-License-Identifier: Apache-2.0

struct Setting # larmor_setting
    name::Ptr{UInt8}
    option::Ptr{UInt8}
    type::Cint
    metavar::Ptr{UInt8}
    choices::Ptr{UInt8}
    expected::Ptr{UInt8}
    standard::Ptr{UInt8}
    low::Float64
    high::Float64
    unit::Ptr{UInt8}
    help::Ptr{UInt8}
    page::Ptr{UInt8}
    at::Csize_t
end

text(p::Ptr{UInt8}) = p == C_NULL ? "" : unsafe_string(p)

function entries()
    found = Setting[]
    while true
        s = ccall(symbol(:larmor_setting_entry), Setting, (Cint,), length(found))
        s.name == C_NULL && return found
        push!(found, s)
    end
end

"The options of `recon` that are texts or numbers: name, option of the program, choices, default, unit and help."
settings() = [(name = text(s.name), option = text(s.option), choices = text(s.choices), expected = text(s.expected),
               default = text(s.standard), unit = text(s.unit), help = plain(text(s.help)))
              for s in entries() if s.type != SETTING_NONE]

const ARRAYS = (:maps, :b0, :t2star, :phase_terms, :gradient_field, :displacement, :motion_fields, :girf, :basis,
                :support, :motion)
const FLAGS = (:no_maps, :keep_density, :keep_eigenvalues)
const OWN = (:device, :noise, :progress, :traj_units)

member(name::Symbol) = first(s.at for s in entries() if text(s.name) == string(name))

as_text(x::Union{AbstractString,Symbol}) = String(x)
as_text(x::Union{Bool,Real}) = string(x)
as_text(x::Union{Tuple,AbstractVector}) = join(as_text.(x), ",")
as_text(x) = throw(LarmorError(:ERR_ARG, "options: got a $(typeof(x)), expected a text, a number or up to 3 numbers"))

mutable struct Run
    log::Vector{String}
    warnings::Vector{String}
    progress::Any
    raised::Any
end

# Exceptions do not pass through C: they stop the run, and are thrown when it has returned.
function on_event(user::Ptr{Cvoid}, event::Ptr{Cvoid})::Cint
    run = unsafe_pointer_to_objref(user)::Run
    try
        kind = take(Cint, event, EVENT.kind)
        line = plain(text(take(Ptr{UInt8}, event, EVENT.text)))
        kind == EVENT_KIND.log && push!(run.log, line)
        kind == EVENT_KIND.warning && push!(run.warnings, line)
        run.progress === nothing && return 0
        stops = run.progress((stage = text(take(Ptr{UInt8}, event, EVENT.stage)), text = line,
                              step = take(Cint, event, EVENT.step), steps = take(Cint, event, EVENT.steps),
                              fraction = take(Float64, event, EVENT.fraction)))
        return stops === true
    catch raised
        run.raised = raised
        return 1
    end
end

function known_names()
    texts = [s for s in entries() if s.type != SETTING_NONE]
    unique([text.(getfield.(texts, :name)); text.(getfield.(texts, :option));
            collect(string.((ARRAYS..., FLAGS..., OWN...)))])
end

refuse(name::Symbol) = throw(LarmorError(:ERR_UNSUPPORTED,
    "$name: no option of Larmor.recon$(nearest(string(name), known_names())) Larmor.settings() lists them."))
underscored(name) = replace(string(name), '-' => '_')
is_known(name::Symbol) = underscored(name) in underscored.(known_names())

single(x::AbstractArray{<:Complex}) = Array{ComplexF32}(x)
single(x::AbstractArray{Float32}) = Array(x)
single(x::AbstractArray{<:Real}) = Array{Float64}(x)

is_list(value) = value isa Union{Tuple,AbstractVector} && !isempty(value) &&
                 all(x -> x isa Union{AbstractString,Symbol}, value)

# A list of texts sets the option several times.
function set_option!(opts, name::Symbol, value, on::Device, held)
    if value === nothing
        is_known(name) || refuse(name)
        return
    end
    is_list(value) && return foreach(x -> set_option!(opts, name, x, on, held), value)
    if name in ARRAYS && value isa AbstractArray
        push!(held, upload(on, single(value)))
        put!(opts, member(name), held[end])
    elseif name in FLAGS
        put!(opts, member(name), Cint(value))
    else
        status = ccall(symbol(:larmor_setting_set), Cint, (Ptr{UInt8}, Cstring, Cstring),
                       opts, string(name), as_text(value))
        status == STATUS.ERR_UNSUPPORTED && refuse(name)
        check(status)
    end
end

"What `recon` returns. Images are ComplexF32 [x, y(, z), images]; a vector of arrays where their sizes differ."
struct Reconstruction
    images::Any
    meta::Vector{NamedTuple}    # geometry and counters of each image
    reports::Vector{NamedTuple} # how each came about
    maps::Any                   # coil maps [x, y(, z), coils] of the last series, or nothing
    noise::Any                  # [x, y(, z), images] deviation of the noise, and
    g::Any                      # geometry factor, with noise; else nothing
    log::Vector{String}
    warnings::Vector{String}
    device::String
end

Base.show(io::IO, r::Reconstruction) =
    print(io, "Larmor.Reconstruction: ", length(r.meta), " images by ",
          isempty(r.reports) ? "none" : r.reports[1].method)

together(list) = any(x -> x === nothing, list) || isempty(list) ? nothing :
                 length(list) == 1 ? list[1] :
                 all(x -> size(x) == size(list[1]), list) ? cat(list...; dims = ndims(list[1]) + 1) : list

const LENGTHS = (:fov_mm, :position_mm, :read_dir, :phase_dir, :slice_dir)
const COUNTERS = (:slice, :contrast, :phase, :repetition, :set)

meta_of(p::Ptr) = (; (name => take_numbers(p, META[name]) for name in LENGTHS)...,
                   (name => Int(take(Cint, p, META[name])) for name in COUNTERS)...)

function report_of(p::Ptr)
    line, warnings = zeros(UInt8, 512), String[]
    while ccall(symbol(:larmor_recon_warning), Cint, (Ptr{Cvoid}, Cint, Ptr{UInt8}, Csize_t),
                p, length(warnings), line, 512) != 0
        push!(warnings, plain(unsafe_string(pointer(line))))
    end
    (method = take_text(p, REPORT.method), lambda = take(Float64, p, REPORT.lambda),
     iterations = Int(take(Cint, p, REPORT.iterations)), noise = take(Float64, p, REPORT.noise),
     misfit = take(Float64, p, REPORT.misfit), grid = ntuple(i -> take(Int64, p, REPORT.grid, i), 3),
     seconds = take(Float64, p, REPORT.seconds), device = take_text(p, REPORT.device),
     suspect = take(Cint, p, REPORT.is_suspect) != 0, warnings = warnings)
end

function noise_of(run::Ptr{Cvoid}, series, result, samples, count)
    samples == 0 && return fill((nothing, nothing), count)
    opts, maps = zeros(UInt8, NOISE_OPTS.size), zeros(UInt8, NOISE_MAPS.size)
    put!(opts, NOISE_OPTS.samples, Cint(samples < 0 ? 0 : samples))
    GC.@preserve maps begin
        try
            check(ccall(symbol(:larmor_recon_noise), Cint, (Ptr{Cvoid}, Cint, Ptr{UInt8}, Ptr{UInt8}, Ptr{UInt8}),
                        run, series, result, opts, maps))
            first_ = take(Ptr{Cvoid}, pointer(maps), NOISE_MAPS.map)
            map(0:count-1) do i
                at = first_ + i * NOISE_MAP.size
                g = take(Ptr{Cvoid}, at, NOISE_MAP.g)
                (download(take(Ptr{Cvoid}, at, NOISE_MAP.deviation)), g == C_NULL ? nothing : download(g))
            end
        finally
            ccall(symbol(:larmor_noise_maps_free), Cvoid, (Ptr{UInt8},), maps)
        end
    end
end

function run_series!(found, run::Ptr{Cvoid}, series, samples)
    result = zeros(UInt8, RESULT.size)
    GC.@preserve result begin
        p = pointer(result)
        try
            check(ccall(symbol(:larmor_recon_run), Cint, (Ptr{Cvoid}, Cint, Ptr{UInt8}), run, series, result))
            take(Cint, p, RESULT.report + REPORT.interrupted) == 0 || throw(LarmorError(:STOPPED, "recon: stopped"))
            count = Int(take(Cint, p, RESULT.count))
            count > 0 || throw(LarmorError(:ERR_NUMERIC, plain(take_text(p, RESULT.report + REPORT.message))))
            noise = noise_of(run, series, result, samples, count)
            report = report_of(p + RESULT.report)
            for i in 0:count-1
                at = take(Ptr{Cvoid}, p, RESULT.image) + i * IMAGE.size
                push!(found, (image = download(take(Ptr{Cvoid}, at, IMAGE.data)), meta = meta_of(at + IMAGE.meta),
                              report = report, noise = noise[i+1][1], g = noise[i+1][2]))
            end
        finally
            ccall(symbol(:larmor_recon_result_free), Cvoid, (Ptr{UInt8},), result)
        end
    end
end

function maps_of(run::Ptr{Cvoid})
    out = Ref{Ptr{Cvoid}}(C_NULL)
    status = ccall(symbol(:larmor_recon_maps), Cint, (Ptr{Cvoid}, Ref{Ptr{Cvoid}}, Ptr{Cvoid}), run, out, C_NULL)
    status == 0 || return nothing
    maps = download(out[])
    free_array(out[])
    maps
end

"Call make with the address of a pointer, keep what it makes with how it is freed."
function made!(make, kept, free::Symbol)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    check(make(out))
    push!(kept, (free, out[]))
    out[]
end

function open_scan!(kept, path::AbstractString, units)
    opts = zeros(UInt8, RAW_OPTS.size)
    GC.@preserve units begin
        units === nothing || put!(opts, RAW_OPTS.traj_units, pointer(units))
        raw = made!(out -> ccall(symbol(:larmor_raw_open), Cint, (Cstring, Ptr{UInt8}, Ref{Ptr{Cvoid}}),
                                 path, opts, out), kept, :larmor_raw_free)
    end
    made!(out -> ccall(symbol(:larmor_source_of_raw), Cint, (Ptr{Cvoid}, Cstring, Ref{Ptr{Cvoid}}),
                       raw, path, out), kept, :larmor_source_free)
end

function reconstruct!(kept, held, path, on::Device, run::Run, samples, units, options)
    opts = zeros(UInt8, RECON_OPTS.size)
    put!(opts, 0, Csize_t(RECON_OPTS.size))
    for (name, value) in options
        set_option!(opts, name, value, on, held)
    end
    put!(opts, RECON_OPTS.listener, @cfunction(on_event, Cint, (Ptr{Cvoid}, Ptr{Cvoid})))
    put!(opts, RECON_OPTS.user, pointer_from_objref(run))
    source = open_scan!(kept, path, units)
    recon_ = made!(out -> ccall(symbol(:larmor_recon_create), Cint,
                                (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{UInt8}, Ref{Ptr{Cvoid}}),
                                source, on.pointer, opts, out), kept, :larmor_recon_free)
    found = NamedTuple[]
    for series in 0:ccall(symbol(:larmor_recon_series), Cint, (Ptr{Cvoid},), recon_)-1
        run_series!(found, recon_, series, samples)
    end
    Reconstruction(together([f.image for f in found]), [f.meta for f in found], [f.report for f in found],
                   any(o -> first(o) === :maps && last(o) !== nothing, options) ? nothing : maps_of(recon_),
                   together([f.noise for f in found]), together([f.g for f in found]), run.log, run.warnings,
                   spec(on))
end

"""
    recon(path; device = "auto", noise = 0, progress = nothing, traj_units = nothing, options...)

Reconstruct the images of a scan.

Options are those of the program `larmor recon` and of the C library, by the same names with `_`: `method = "cg"`,
`matrix = (128, 128)`, `iters = 30`; `Larmor.settings()` lists them. Values are texts, numbers, up to three numbers,
or of `reg` a list of texts: `reg = ["tv:xy", "l1"]`. Arrays, x first: maps [x, y(, z), coils], b0 in Hz, basis,
support and others.

`noise` is true, or a number of samples: also maps of the noise. `progress` is a function of a named tuple with stage,
text, step, steps and fraction, which stops the run by returning true; what it throws is thrown. Ctrl-C is answered
between its calls.
"""
function recon(path::AbstractString; device::AbstractString = "auto", noise::Union{Bool,Integer} = 0,
               progress = nothing, traj_units::Union{Nothing,String} = nothing, options...)
    noise >= 0 || throw(LarmorError(:ERR_ARG, "noise: got $noise, expected true, or a number of samples"))
    kept, held, run = Tuple{Symbol,Ptr{Cvoid}}[], Ptr{Cvoid}[], Run(String[], String[], progress, nothing)
    on = Device(device)
    GC.@preserve run on try
        samples = noise isa Bool ? -Int(noise) : Int(noise)
        return reconstruct!(kept, held, String(path), on, run, samples, traj_units, options)
    catch
        run.raised === nothing || throw(run.raised)
        rethrow()
    finally
        for (free, pointer) in reverse(kept)
            ccall(symbol(free), Cvoid, (Ptr{Cvoid},), pointer)
        end
        foreach(free_array, held)
    end
end
