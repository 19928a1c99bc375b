function result = recon(scan, varargin)
% LARMOR.RECON  Reconstruct the images of a scan.
%
%   result = larmor.recon('scan.h5')
%   result = larmor.recon('scan.h5', 'method', 'cg', 'matrix', [128 128], ...)
%
% Options are those of the program larmor recon and of the C library, by the same names, with - or _ between words;
% larmor.settings() lists them with a line of help each. Values are texts, or numbers: [128 128] for '128,128'.
% Options may also be a struct: larmor.recon('scan.h5', struct('method', 'cg')). Empty values are defaults.
%
% Arrays, the first axis being x: maps [x y (z) coils (sets)], b0 [x y (z)] in Hz, t2star [x y (z)] in ms, basis
% [frames coefficients], support [x y (z)], displacement, motion_fields, motion [rows 7], phase_terms,
% gradient_field, girf. The path of a file of images is taken in the place of an array.
%
% Of this function alone:
%   device      'auto' (default: the first GPU that opens, else the processor), 'cpu', 'cpu:4', 'cuda'
%   progress    true: a line for each stage; or a function of a struct with stage, text, series, count, step, steps,
%               fraction and remaining, which stops the run by returning true and by nothing else; it need not return
%               anything: @disp
%   noise       true, or a number of samples: also maps of the noise
%   frames      struct('spokes', 21), or ms, or phases, and with it step, gate, tick_ms, join_rest: readouts are cut
%               into frames; struct('heart', 20, 'breath', 4), also time: they are sorted into bins
%   traj_units  unit of the trajectory; default: inferred
%   checkpoint  path of a file, from which an interrupted run goes on
%
% result has
%   images    single, complex, [x y (z) images]; a cell where the sizes of images differ. To show one with x to the
%             right: imagesc(abs(result.images(:, :, 1)).')
%   meta      struct array of geometry and counters of each image
%   reports   cell: how each image came about: method, lambda, iterations, noise, misfit, grid, seconds, device,
%             suspect and warnings
%   maps      coil maps [x y (z) coils (sets)] of the last series, or []
%   noise, g  [x y (z) images] with noise: deviation of the noise, and geometry factor; else []
%   density, eigenvalues  with keep_density, keep_eigenvalues; else []
%   log, warnings, device, version
%
% Errors have identifiers such as larmor:ERR_IO, larmor:ERR_ARG, larmor:ERR_FORMAT (larmor/status.h). Ctrl-C stops.
%
% SPDX-License-Identifier: Apache-2.0
[names, values] = larmor.private_options(varargin);
scan = larmor.private_chars({scan});
asks = strcmp(names, 'progress') & cellfun(@(value) isa(value, 'function_handle'), values);
values(asks) = cellfun(@(f) @(event) larmor.private_ask(f, event), values(asks), 'UniformOutput', false);
result = larmor.private_call('recon', scan{1}, names, values);
end
