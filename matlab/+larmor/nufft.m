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
% Points and targets are [dims number], row d for axis d; in 1D also columns. How many dimensions there are follows
%   type 1   from modes: one number is 1D, whatever the points; two are 2D, three 3D
%   type 2   from the points' first size; an image that is a row or a column is one 1D image if points are such, too
%   type 3   from the first sizes of points and targets; one of them that is a row means 1D
% A column of 2 or 3 points is refused where it might be one point in 2D or 3D: with an image of several columns, and
% of type 3 with targets of its own size. A row is always 1D; one point in 2D or 3D is for larmor.Plan then.
%
% SPDX-License-Identifier: Apache-2.0
if ~isnumeric(type) || numel(type) ~= 1 || ~any(type == 1:3)
    error('larmor:ERR_ARG', 'type: expected 1, 2 or 3');
end
options = varargin;
modes = [];
if type ~= 2
    if isempty(varargin)
        error('larmor:ERR_ARG', 'larmor.nufft: type %d needs modes or targets behind the values', type);
    end
    modes = varargin{1};
    options = varargin(2:end);
end
dims = dims_of(type, points, values, modes);
points = as_rows(points, dims);
number = numel(points) / dims;
if type == 2
    [modes, batch] = image_sizes(values, dims);
else
    batch = batch_of(values, number);
end
[names, given] = larmor.private_options(options);
options = reshape([names; given], 1, []);
options = [{'batch', batch, 'precision', class(values)} options];
if type == 3
    plan = larmor.Plan(3, dims, options{:});
    plan.set_points(points, as_rows(modes, dims));
else
    plan = larmor.Plan(type, modes, options{:});
    plan.set_points(points);
end
out = plan.execute(values);
end

% The one number of dimensions for which shapes fit.
function dims = dims_of(type, points, values, other)
dims = find(fits(points));
if type == 1
    if ~any(numel(other) == 1:3)
        error('larmor:ERR_ARG', 'modes: expected one to three sizes');
    end
    dims = intersect(dims, numel(other));
    against = sprintf('with modes in %dD', numel(other));
elseif type == 2
    against = sprintf('with an image of %s', size_text(values));
    if is_list(points) && is_list(values)
        dims = intersect(dims, 1);
    elseif is_list(points) && ndims(values) > 2 && numel(dims) > 1
        dims = dims(dims > 1);
    end
else
    against = sprintf('with targets of %s', size_text(other));
    dims = intersect(dims, find(fits(other)));
end
if isempty(dims)
    error('larmor:ERR_SHAPE', 'points: got %s %s, expected [dims number] with a row for each axis', ...
          size_text(points), against);
elseif numel(dims) > 1
    error('larmor:ERR_SHAPE', ['points: got %s %s, which may be in 1D or in %dD; give points in 1D as a row, ' ...
          'and one point in %dD to larmor.Plan'], size_text(points), against, dims(end), dims(end));
end
end

% For each of 1, 2 and 3 dimensions: whether x may be points.
function holds = fits(x)
holds = size(x, 1) == 1:3 | isequal(size(x), [0 0]);
holds(1) = holds(1) || is_list(x);
end

function holds = is_list(x)
holds = ndims(x) == 2 && any(size(x) == 1) || isequal(size(x), [0 0]);
end

function x = as_rows(x, dims)
if size(x, 1) ~= dims
    x = reshape(x, dims, []);
end
end

function [modes, batch] = image_sizes(values, dims)
modes = [size(values) 1];
modes = modes(1:dims);
if dims == 1 && is_list(values)
    modes = numel(values);
end
batch = max(numel(values) / max(prod(modes), 1), 1);
end

function batch = batch_of(values, number)
batch = numel(values) / max(number, 1);
if number == 0 && batch == 0
    batch = 1;
elseif number == 0 || batch < 1 || batch ~= floor(batch)
    error('larmor:ERR_SHAPE', 'values: got %d numbers, expected a multiple of the %d points', numel(values), number);
end
end

function text = size_text(x)
text = sprintf('%dx', size(x));
text = text(1:end - 1);
end
