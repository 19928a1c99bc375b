classdef Plan < handle
% LARMOR.PLAN  A non-uniform fast Fourier transform that is used often: made once, given points, executed.
%
%   plan = larmor.Plan(type, modes)
%   plan = larmor.Plan(type, modes, 'tol', 1e-6, 'batch', 8, ...)
%   plan.set_points(points)            types 1 and 2
%   plan.set_points(points, targets)   type 3
%   y = plan.execute(x)
%   x = plan.adjoint(y)                the exact conjugate transpose of execute
%
% With points k in cycles per field of view, modes N and r = i - floor(N/2) for i = 0 .. N-1 in each dimension
%   type 2   y(j) = sum_r x(r) exp(-2 pi i k(j) . r / N)        image to samples
%   type 1   x(r) = sum_j y(j) exp(+2 pi i k(j) . r / N)        samples to image
%   type 3   f(k) = sum_j c(j) exp(+2 pi i s(k) . x(j))         points to targets
%
% Arrays lie as MATLAB has them, the first axis fastest, and nothing is transposed:
%   modes    [N1], [N1 N2] or [N1 N2 N3]; of type 3 the number of dimensions
%   points   [dims samples ...], row d for axis d of the image; in 1D any vector; double or single
%   targets  the same, in cycles per unit of the points
%   images   [N1 N2 N3 batch], [N1 1] in 1D
%   samples  [samples ... batch]: the size of points without its first axis, then batch
%
% Options: tol (1e-5), sign (-1 for type 2, else +1), batch (1), units ('cycles', or 'radians': FINUFFT's, points
% 2 pi k / N, targets 2 pi s), precision ('double' or 'single' of the values), device ('cpu'), mode_order
% ('centred' or 'fft'), effort ('estimate', 'measure' or 'exhaustive'), upsample, width, threads, max_batch.
%
% Errors have identifiers such as larmor:ERR_SHAPE. SPDX-License-Identifier: Apache-2.0
    properties (SetAccess = private)
        type
        modes
        batch = 1
        units = 'cycles'
    end
    properties (Access = private)
        id = 0
        samples = []
        targets = []
    end
    methods
        function plan = Plan(type, modes, varargin)
            [names, values] = larmor.private_options(varargin);
            own = strcmp(names, 'units');
            if any(own)
                plan.units = values{find(own, 1, 'last')};
                if ~any(strcmp(plan.units, {'cycles', 'radians'}))
                    error('larmor:ERR_ARG', 'units: got "%s", expected cycles or radians', plan.units);
                end
            end
            given = strcmp(names, 'batch');
            if any(given)
                plan.batch = values{find(given, 1, 'last')};
            end
            plan.type = type;
            plan.modes = double(modes(:).');
            plan.id = larmor.private_call('create', double(type), plan.modes, names(~own), values(~own));
        end

        function set_points(plan, points, targets)
            if nargin < 3
                targets = [];
            end
            points = plan.rows(points);
            targets = plan.rows(targets);
            scaled = points;
            reached = targets;
            if strcmp(plan.units, 'radians') && plan.type == 3
                reached = targets / (2 * pi);
            elseif strcmp(plan.units, 'radians') && size(points, 1) == numel(plan.modes)
                scaled = bsxfun(@times, points, plan.modes(:) / (2 * pi));
            end
            larmor.private_call('set_points', plan.id, scaled, reached);
            plan.samples = shape_of(points);
            plan.targets = shape_of(targets);
        end

        function out = execute(plan, x)
            out = plan.run(x, false);
        end

        function out = adjoint(plan, x)
            out = plan.run(x, true);
        end

        function delete(plan)
            if plan.id
                larmor.private_call('free', plan.id);
            end
        end
    end
    methods (Access = private)
        function x = rows(plan, x)
            dims = numel(plan.modes);
            if plan.type == 3
                dims = plan.modes;
            end
            if dims == 1 && isvector(x)
                x = reshape(x, 1, []);
            end
        end

        function out = run(plan, x, is_adjoint)
            out = larmor.private_call('execute', plan.id, x, double(is_adjoint));
            if (plan.type == 2) ~= is_adjoint
                shape = plan.samples;
            elseif plan.type == 3
                shape = plan.targets;
            else
                shape = plan.modes;
            end
            if plan.type == 3 && is_adjoint
                shape = plan.samples;
            end
            out = reshape(out, [shape plan.batch 1]);
        end
    end
end

function shape = shape_of(points)
shape = size(points);
shape = shape(2:end);
end
