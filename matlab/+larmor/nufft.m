function out = nufft(type, points, values, varargin)
% LARMOR.NUFFT  One non-uniform fast Fourier transform.
%
%   x = larmor.nufft(1, points, values, modes, ...)     samples to an image of size modes
%   y = larmor.nufft(2, points, image, ...)             an image to samples
%   f = larmor.nufft(3, points, values, targets, ...)   values at points to values at targets
%
% Sums, axes and further options are those of larmor.Plan, which is quicker where points are used again. Values and
% images may have a last axis of several transforms. The precision is that of the values, the class of which is double
% or single.
%
% SPDX-License-Identifier: Apache-2.0
if isvector(points) && ~any(size(points, 1) == [2 3]) || isempty(points)
    points = reshape(points, 1, []);
end
dims = size(points, 1);
number = numel(points) / dims;
precision = class(values);
if type == 2
    modes = size(values);
    modes = [modes(1:min(dims, end)) ones(1, dims - numel(modes))];
    batch = numel(values) / max(prod(modes), 1);
    options = varargin;
else
    if isempty(varargin)
        error('larmor:ERR_ARG', 'larmor.nufft: type %d needs modes or targets behind the values', type);
    end
    modes = varargin{1};
    batch = max(numel(values) / max(number, 1), 1);
    options = varargin(2:end);
end
[names, given] = larmor.private_options(options);
options = reshape([names; given], 1, []);
if type == 3
    plan = larmor.Plan(3, dims, 'batch', batch, 'precision', precision, options{:});
    plan.set_points(points, modes);
else
    plan = larmor.Plan(type, modes, 'batch', batch, 'precision', precision, options{:});
    plan.set_points(points);
end
out = plan.execute(values);
end
