% Tests of matlab/ under Octave. Each is a claim; the run ends with 1 if one of them does not hold.
% Environment: SCAN, a scan; IMAGE and GRIDDED, .cfl files that the program made of it; DAMAGED, a file that is none.
% SPDX-License-Identifier: Apache-2.0
1;

function expect(holds, varargin)
    if ~holds && isempty(varargin)
        varargin = {'it does not hold'};
    end
    if ~holds
        error('expect:failed', varargin{:});
    end
end

function expect_error(call, id, text)
    try
        call();
    catch raised
        expect(strcmp(raised.identifier, id) && strcmp(raised.message, text), 'got %s "%s", expected %s "%s"', ...
               raised.identifier, raised.message, id, text);
        return
    end
    error('expect:failed', 'got no error, expected "%s"', text);
end

function d = apart(x, y)
    expect(isequal(size(x), size(y)), 'got size %s, expected %s', mat2str(size(x)), mat2str(size(y)));
    d = norm(double(x(:) - y(:))) / norm(double(y(:)));
end

function z = random(varargin)
    z = complex(randn(varargin{:}), randn(varargin{:}));
end

% exp(sign 2 pi i k . r / N), [points, modes]
function e = kernel(k, modes, sign)
    r = cell(1, 3);
    n = [modes ones(1, 3 - numel(modes))];
    [r{:}] = ndgrid((0:n(1) - 1) - floor(n(1) / 2), (0:n(2) - 1) - floor(n(2) / 2), (0:n(3) - 1) - floor(n(3) / 2));
    phase = zeros(size(k, 2), prod(n));
    for d = 1:numel(modes)
        phase = phase + k(d, :).' * r{d}(:).' / modes(d);
    end
    e = exp(sign * 2i * pi * phase);
end

function x = read_cfl(path)
    size_ = fgetl_second([path '.hdr']);
    f = fopen([path '.cfl'], 'r', 'ieee-le');
    numbers = fread(f, [2 prod(size_)], 'single=>single');
    fclose(f);
    x = squeeze(reshape(complex(numbers(1, :), numbers(2, :)), size_));
end

function dims = fgetl_second(path)
    f = fopen(path);
    fgetl(f);
    dims = sscanf(fgetl(f), '%d').';
    fclose(f);
end

function types_1_and_2_are_the_direct_sums()
    all_modes = {21, [16 12], [6 8 5]};
    for i = 1:3
        for tol = [1e-4 1e-10]
            modes = all_modes{i};
            k = (rand(i, 50) - .5) .* modes(:);
            x = random([modes 1]);
            y = random(50, 1);
            y2 = larmor.nufft(2, k, x, 'tol', tol);
            expect(apart(y2, kernel(k, modes, -1) * x(:)) < tol, 'type 2, %d dimensions', i);
            x1 = larmor.nufft(1, k, y, modes, 'tol', tol);
            expect(apart(x1, reshape(kernel(k, modes, 1).' * y, [modes 1])) < tol, 'type 1, %d dimensions', i);
        end
    end
end

function type_3_is_the_direct_sum_in_both_units()
    for dims = 1:3
        x = 3 * rand(dims, 40);
        s = 4 * (rand(dims, 30) - .5);
        c = random(40, 1);
        f = larmor.nufft(3, x, c, s, 'tol', 1e-8);
        expect(apart(f, exp(2i * pi * (s.' * x)) * c) < 1e-8, 'cycles, %d dimensions', dims);
        f = larmor.nufft(3, x, c, s, 'tol', 1e-8, 'units', 'radians', 'sign', -1);
        expect(apart(f, exp(-1i * (s.' * x)) * c) < 1e-8, 'radians, %d dimensions', dims);
    end
end

function radians_are_points_of_finufft()
    k = 2 * pi * (rand(2, 40) - .5);
    x = random(10, 9);
    got = larmor.nufft(2, k, x, 'tol', 1e-9, 'units', 'radians', 'sign', 1);
    expect(apart(got, kernel(k .* [10; 9] / (2 * pi), [10 9], 1) * x(:)) < 1e-9);
end

function adjoint_is_exact_of_each_type()
    for type = 1:3
        plan = larmor.Plan(type, ifelse(type == 3, 2, [9 12]), 'tol', 1e-3);
        if type == 3
            plan.set_points(rand(2, 33), rand(2, 7, 5));
        else
            plan.set_points(9 * (rand(2, 33) - .5));
        end
        x = random(33, 1);
        y = random(ifelse(type == 3, [7 5], [9 12]));
        if type == 2
            [x, y] = deal(y, x);
        end
        forward = plan.execute(x);
        back = plan.adjoint(y);
        gap = abs(y(:)' * forward(:) - back(:)' * x(:)) / (norm(forward(:)) * norm(y(:)));
        expect(gap < 1e-13, 'type %d: %g', type, gap);
        expect(isequal(size(forward), size(y)) && isequal(size(back), size(x)), 'type %d: sizes', type);
    end
end

function z = ifelse(condition, x, y)
    if condition
        z = x;
    else
        z = y;
    end
end

function a_batch_is_transforms_one_by_one_and_samples_keep_their_axes()
    k = 8 * (rand(2, 11, 6) - .5);
    x = random(8, 8, 3);
    y = larmor.nufft(2, k, x, 'tol', 1e-9);
    expect(isequal(size(y), [11 6 3]), 'got size %s', mat2str(size(y)));
    for i = 1:3
        expect(apart(y(:, :, i), larmor.nufft(2, k, x(:, :, i), 'tol', 1e-9)) < 1e-14);
    end
    back = larmor.nufft(1, k, y, [8 8], 'tol', 1e-9);
    expect(isequal(size(back), [8 8 3]), 'got size %s', mat2str(size(back)));
end

function the_precision_is_that_of_the_values_and_real_values_are_complex_ones()
    k = 8 * (rand(1, 20) - .5);
    x = randn(8, 1);
    exact = kernel(k, 8, -1) * x;
    double_ = larmor.nufft(2, k, x, 'tol', 1e-12);
    single_ = larmor.nufft(2, k.', single(x));
    expect(isa(double_, 'double') && apart(double_, exact) < 1e-12);
    expect(isa(single_, 'single') && apart(single_, exact) < 1e-5);
end

function two_or_three_points_in_1d_are_no_point_in_2d_or_3d()
    for n = 2:3
        k = 8 * (rand(n, 1) - .5);
        c = random(n, 1);
        for image = {random(8, 1), random(8, 1).'}
            exact = kernel(k.', 8, -1) * image{1}(:);
            expect(apart(larmor.nufft(2, k, image{1}, 'tol', 1e-9), exact) < 1e-9, 'type 2, a column');
            expect(apart(larmor.nufft(2, k.', image{1}, 'tol', 1e-9), exact) < 1e-9, 'type 2, a row');
        end
        images = random(8, 4);
        expect(apart(larmor.nufft(2, k.', images, 'tol', 1e-9), kernel(k.', 8, -1) * images) < 1e-9, 'four images');
        for points = {k, k.'}
            back = larmor.nufft(1, points{1}, c.', 8, 'tol', 1e-9);
            expect(apart(back, kernel(k.', 8, 1).' * c) < 1e-9, 'type 1');
        end
        s = rand(1, 5);
        f = exp(2i * pi * s.' * k.') * c;
        expect(apart(larmor.nufft(3, k, c, s, 'tol', 1e-9), f) < 1e-9, 'type 3, targets as a row');
        expect(apart(larmor.nufft(3, k, c, s.', 'tol', 1e-9), f) < 1e-9, 'type 3, targets as a column');
        one = larmor.nufft(1, k, 2, [8 8 8](1:n), 'tol', 1e-9);
        expect(apart(one(:), 2 * kernel(k, [8 8 8](1:n), 1).') < 1e-9, 'one point of type 1');
        one = larmor.nufft(3, k, 2, rand(n, 6), 'tol', 1e-9);
        expect(isequal(size(one), [6 1]), 'one point of type 3');
        cube = random(8 * ones(1, 3));
        one = larmor.nufft(2, k, cube, 'tol', 1e-9);
        expect(isequal(size(one), [1 ifelse(n == 2, 8, 1)]), 'one point and an image of three axes');
    end
end

function a_row_is_one_1d_image_and_no_points_give_no_samples()
    k = 16 * (rand(1, 20) - .5);
    x = random(1, 16);
    expect(apart(larmor.nufft(2, k, x, 'tol', 1e-9), kernel(k, 16, -1) * x.') < 1e-9);
    expect(isequal(size(larmor.nufft(2, zeros(2, 0), ones(16, 12))), [0 1]));
    expect(isequal(size(larmor.nufft(2, zeros(2, 0), ones(16, 12, 3))), [0 3]));
    expect(isequal(larmor.nufft(1, zeros(2, 0), [], [4 3]), zeros(4, 3)));
    expect(isequal(larmor.nufft(1, [], [], [4 3]), zeros(4, 3)));
end

function shapes_that_may_be_two_things_or_none_are_refused()
    expect_error(@() larmor.nufft(2, [1; 2], ones(16, 12)), 'larmor:ERR_SHAPE', ...
                 ['points: got 2x1 with an image of 16x12, which may be in 1D or in 2D; give points in 1D as a ' ...
                  'row, and one point in 2D to larmor.Plan']);
    expect_error(@() larmor.nufft(3, [1; 2; 3], ones(3, 1), [1; 2; 3]), 'larmor:ERR_SHAPE', ...
                 ['points: got 3x1 with targets of 3x1, which may be in 1D or in 3D; give points in 1D as a row, ' ...
                  'and one point in 3D to larmor.Plan']);
    expect_error(@() larmor.nufft(2, rand(20, 2), ones(16, 12)), 'larmor:ERR_SHAPE', ...
                 'points: got 20x2 with an image of 16x12, expected [dims number] with a row for each axis');
    expect_error(@() larmor.nufft(1, rand(2, 20), ones(20, 1), 16), 'larmor:ERR_SHAPE', ...
                 'points: got 2x20 with modes in 1D, expected [dims number] with a row for each axis');
    expect_error(@() larmor.nufft(3, rand(2, 20), ones(20, 1), rand(3, 4)), 'larmor:ERR_SHAPE', ...
                 'points: got 2x20 with targets of 3x4, expected [dims number] with a row for each axis');
    expect_error(@() larmor.nufft(1, rand(2, 20), ones(21, 1), [8 8]), 'larmor:ERR_SHAPE', ...
                 'values: got 21 numbers, expected a multiple of the 20 points');
    expect_error(@() larmor.nufft(1, rand(1, 20), ones(20, 1), []), 'larmor:ERR_ARG', ...
                 'modes: expected one to three sizes');
    expect_error(@() larmor.nufft(4, 1, 1, 1), 'larmor:ERR_ARG', 'type: expected 1, 2 or 3');
end

function plans_refuse_in_one_line()
    expect_error(@() larmor.Plan(2, [8 8], 'batch', 0), 'larmor:ERR_ARG', ...
                 'batch: got 0, expected a whole number above 0');
    expect_error(@() larmor.Plan(2.7, [8 8]), 'larmor:ERR_ARG', 'type: expected 1, 2 or 3');
    expect_error(@() larmor.Plan(3, 2.5), 'larmor:ERR_ARG', ...
                 'modes: expected one to three sizes, or of type 3 the number of dimensions');
    expect_error(@() larmor.Plan(3, [2 2]), 'larmor:ERR_ARG', ...
                 'modes: expected one to three sizes, or of type 3 the number of dimensions');
    expect_error(@() larmor.Plan(2, [8 8], 'tols', []), 'larmor:ERR_UNSUPPORTED', ...
                 'tols: no option of larmor.Plan; did you mean tol?');
    expect_error(@() larmor.Plan(2, [8 8], 'tolerance', 1), 'larmor:ERR_UNSUPPORTED', ...
                 'tolerance: no option of larmor.Plan');
    expect_error(@() larmor.Plan(2, [8 8], 'tols', 1), 'larmor:ERR_UNSUPPORTED', ...
                 'tols: no option of larmor.Plan; did you mean tol?');
    expect_error(@() larmor.Plan(2, [8 8], 'precision', 'half'), 'larmor:ERR_ARG', ...
                 'precision: got "half", expected single or double');
    expect_error(@() larmor.Plan(2, [8.5 8]), 'larmor:ERR_ARG', 'modes: got 8.5, expected a whole number above 0');
    expect_error(@() larmor.Plan(2, [8 8], 'tol'), 'larmor:ERR_ARG', ...
                 'options: got 1 arguments, expected pairs of a name and a value, or a struct');
    plan = larmor.Plan(2, [8 8]);
    expect_error(@() plan.execute(zeros(8)), 'larmor:ERR_ARG', 'plan: it has no points; call set_points first');
    plan.set_points(rand(2, 5));
    expect_error(@() plan.execute(zeros(7, 8)), 'larmor:ERR_SHAPE', 'plan: got 56 numbers, expected 64');
    expect_error(@() plan.execute(int8(zeros(8))), 'larmor:ERR_SHAPE', ...
                 'plan: got int8, expected a full array of double or single');
    expect_error(@() plan.execute(sparse(eye(8))), 'larmor:ERR_SHAPE', ...
                 'plan: got sparse double, expected a full array of double or single');
    expect_error(@() larmor.private_call('execute', 1e9, zeros(8), 0), 'larmor:ERR_ARG', ...
                 'plan: there is none of this number; it was freed');
    expect_error(@() larmor.private_call('create', 2, [8 8], {'tol'}, {}), 'larmor:ERR_ARG', ...
                 'options: expected a cell of names and one of as many values');
    expect_error(@() larmor.private_call('nothing'), 'larmor:ERR_ARG', ...
                 'larmor_mex: got "nothing"; call the functions of larmor, such as larmor.recon');
end

function a_plan_is_freed_with_its_last_reference()
    plan = larmor.Plan(1, 8);
    warning('off', 'Octave:classdef-to-struct');
    id = struct(plan).id;
    clear plan
    expect_error(@() larmor.private_call('execute', id, 1, 0), 'larmor:ERR_ARG', ...
                 'plan: there is none of this number; it was freed');
end

function recon_gives_the_image_of_the_program_bit_for_bit()
    scan = getenv('SCAN');
    result = larmor.recon(scan, 'method', 'cg', 'lambda', 0.01, 'matrix', [40 48], 'device', 'cpu');
    expect(isa(result.images, 'single') && isequal(size(result.images), [40 48]));
    expect(isequal(result.images, read_cfl(getenv('IMAGE'))), 'cg');
    expect(strcmp(result.reports{1}.method, 'cg') && result.reports{1}.iterations > 1);
    expect(isequal(result.meta.fov_mm(1:2), [256 256]) && isempty(result.noise));
    expect(isequal(size(result.maps), [40 48 4]) && numel(result.log) > 5);
    gridded = larmor.recon(scan, struct('method', 'grid', 'device', 'cpu'));
    expect(isequal(gridded.images, read_cfl(getenv('GRIDDED'))), 'grid');
    again = larmor.recon(scan, 'method', 'cg', 'lambda', '0.01', 'matrix', '40,48', 'device', 'cpu', ...
                         'maps', result.maps);
    expect(apart(again.images, result.images) < 1e-4, 'its own maps');
    expect(isempty(again.maps));
end

function noise_is_that_of_the_image_and_a_mask_empties_the_rest()
    support = false(48);
    support(10:30, 12:40) = true;
    options = {'method', 'cg', 'lambda', 0.01, 'device', 'cpu'};
    result = larmor.recon(getenv('SCAN'), options{:}, 'noise', 4);
    expect(isequal(size(result.noise), [48 48]) && isequal(size(result.g), [48 48]));
    expect(median(result.noise(support)) > 0 && median(result.noise(support)) < 0.1 * max(abs(result.images(:))));
    result = larmor.recon(getenv('SCAN'), options{:}, 'support', support);
    expect(all(result.images(~support) == 0) && any(result.images(support) ~= 0));
    expect_error(@() larmor.recon(getenv('SCAN'), options{:}, 'support', support, 'noise', 4), 'larmor:ERR_ARG', ...
                 'noise: an image that is held to constraint support has no such maps');
end

function frames_are_images_of_their_own()
    result = larmor.recon(getenv('SCAN'), 'method', 'grid', 'device', 'cpu', 'frames', struct('spokes', 30));
    expect(isequal(size(result.images), [48 48 2]) && isequal([result.meta.repetition], [0 1]));
end

function strings_in_double_quotes_are_names_and_values()
    folder = fullfile(fileparts(mfilename('fullpath')), 'strings'); % what MATLAB has and Octave has not
    addpath(folder);
    restored = onCleanup(@() rmpath(folder));
    q = @(text) feval('string', text);
    options = {q('method'), q('cg'), 'lambda', 0.01, q('matrix'), [40 48], 'device', q('cpu')};
    result = larmor.recon(q(getenv('SCAN')), options{:});
    expect(isequal(result.images, read_cfl(getenv('IMAGE'))), 'pairs');
    result = larmor.recon(q(getenv('SCAN')), struct('method', q('grid'), 'device', q('cpu')));
    expect(isequal(result.images, read_cfl(getenv('GRIDDED'))), 'a struct');
    plan = larmor.Plan(1, 8, q('units'), q('radians'), 'precision', q('single'));
    expect(strcmp(plan.units, 'radians'));
    expect(isa(larmor.nufft(1, .5, 1, 8, q('precision'), q('single')), 'single'));
end

function recon_refuses_in_one_line()
    scan = getenv('SCAN');
    expect_error(@() larmor.recon(scan, 'itres', []), 'larmor:ERR_UNSUPPORTED', ...
                 'itres: no option of larmor.recon, did you mean iters? larmor.settings() lists them.');
    expect_error(@() larmor.recon(scan, 'frames', struct('gate', 1)), 'larmor:ERR_ARG', ...
                 'frames: got none of spokes, ms and phases, expected one of them, or bins: heart, breath, time');
    expect_error(@() larmor.recon(scan, 'frames', struct('step', 5)), 'larmor:ERR_ARG', ...
                 'frames: got none of spokes, ms and phases, expected one of them, or bins: heart, breath, time');
    expect_error(@() larmor.recon(scan, 'frames', struct('step', 5, 'heart', 3)), 'larmor:ERR_ARG', ...
                 'frames: got step and bins to sort into, expected one of them');
    expect_error(@() larmor.recon(scan, 'frames', struct('spokes', 30, 'gate', 1)), 'larmor:ERR_ARG', ...
                 'frames: got gate without phases, of which it is');
    expect_error(@() larmor.recon(scan, 'noise', 2.5), 'larmor:ERR_ARG', ...
                 'noise: got 2.5, expected true, or a number of samples');
    expect_error(@() larmor.recon(scan, 'itres', 3), 'larmor:ERR_UNSUPPORTED', ...
                 'itres: no option of larmor.recon, did you mean iters? larmor.settings() lists them.');
    expect_error(@() larmor.recon(scan, 'quux-frob', 3), 'larmor:ERR_UNSUPPORTED', ...
                 'quux_frob: no option of larmor.recon; larmor.settings() lists them.');
    expect_error(@() larmor.recon(scan, 'iters', 'x'), 'larmor:ERR_ARG', ...
                 'iters: got "x", expected a whole number from 1 to 1e+09');
    expect_error(@() larmor.recon(scan, 'noise', -5), 'larmor:ERR_ARG', ...
                 'noise: got -5, expected true, or a number of samples');
    expect_error(@() larmor.recon(scan, 'maps', ones(2 * ones(1, 10))), 'larmor:ERR_SHAPE', ...
                 'maps: got 10 axes, expected at most 8');
    expect_error(@() larmor.recon(scan, 'maps', {1}), 'larmor:ERR_SHAPE', ...
                 'maps: got cell, expected a full array of double or single');
    expect_error(@() larmor.private_call('recon', scan, 3, 4), 'larmor:ERR_ARG', ...
                 'options: expected a cell of names and one of as many values');
    expect_error(@() larmor.recon(scan, 'matrix', [1 2 3 4]), 'larmor:ERR_ARG', ...
                 'matrix: got a double of 4 elements, expected a text or up to 3 numbers');
    expect_error(@() larmor.recon(scan, 'frames', struct('spoke', 3)), 'larmor:ERR_UNSUPPORTED', ...
                 'frames: no member spoke; did you mean spokes?');
    expect_error(@() larmor.recon(scan, 'device', 'gpu'), 'larmor:ERR_ARG', ...
                 ['device "gpu": expected auto, cpu or cpu:THREADS (1 to 4096), cuda or cuda:NUMBER (from 0), ' ...
                  'cuda:all, or several with commas between them']);
end

function files_that_are_missing_or_damaged_are_named()
    expect_error(@() larmor.recon('nothing.h5'), 'larmor:ERR_IO', 'nothing.h5: no such file.');
    expect_error(@() larmor.recon(7), 'larmor:ERR_ARG', 'scan: expected a text of at most 1023 characters');
    try
        larmor.recon(getenv('DAMAGED'));
        error('expect:failed', 'a damaged file is read');
    catch raised
        expect(strcmp(raised.identifier, 'larmor:ERR_FORMAT'), '%s', raised.identifier);
        expect(strncmp(raised.message, getenv('DAMAGED'), numel(getenv('DAMAGED'))), '%s', raised.message);
    end
end

function a_function_of_progress_sees_all_and_stops_the_run()
    global seen
    seen = [];
    result = larmor.recon(getenv('SCAN'), 'method', 'grid', 'device', 'cpu', 'progress', @note);
    expect(numel(seen) > 3 && all(diff(seen) >= 0) && seen(end) > .5);
    try
        larmor.recon(getenv('SCAN'), 'device', 'cpu', 'progress', @(event) true);
        error('expect:failed', 'it went on');
    catch raised
        expect(strcmp(raised.identifier, 'larmor:STOPPED'), '%s', raised.message);
    end
    expect_error(@() larmor.recon(getenv('SCAN'), 'device', 'cpu', 'progress', @(event) error('boom')), ...
                 'larmor:STOPPED', 'progress: boom');
end

function a_function_of_progress_stops_by_true_alone()
    options = {'method', 'grid', 'device', 'cpu', 'progress'};
    for f = {@(event) 1, @(event) 'yes', @(event) [], @(event) [true true], @(event) false, @without_result, ...
             @(event) without_result(event)}
        result = larmor.recon(getenv('SCAN'), options{:}, f{1});
        expect(isequal(result.images, read_cfl(getenv('GRIDDED'))), '%s', func2str(f{1}));
    end
    text = evalc('larmor.recon(getenv(''SCAN''), options{:}, @disp);');
    expect(~isempty(strfind(text, 'fraction')), 'disp: got "%s"', text);
end

function empty_values_are_defaults()
    options = {'method', 'grid', 'device', 'cpu'};
    for name = {'time-weight', 'time_weight', 'iters', 'maps', 'no-maps', 'noise'}
        result = larmor.recon(getenv('SCAN'), options{:}, name{1}, []);
        expect(isequal(result.images, read_cfl(getenv('GRIDDED'))), '%s, empty', name{1});
    end
end

function without_result(event)
end

function stops = note(event)
    global seen
    seen(end + 1) = event.fraction;
    stops = false;
end

function settings_lists_what_the_library_has()
    table = larmor.settings();
    row = table(strcmp({table.name}, 'iters'));
    expect(strcmp(row.option, 'iters') && numel(table) > 40 && ~isempty(row.help), 'iters');
    expect(strcmp(larmor.version(), getenv('VERSION')), 'version %s', larmor.version());
end

tests = {@types_1_and_2_are_the_direct_sums, @type_3_is_the_direct_sum_in_both_units, ...
         @radians_are_points_of_finufft, @adjoint_is_exact_of_each_type, @a_batch_is_transforms_one_by_one_and_samples_keep_their_axes, ...
         @the_precision_is_that_of_the_values_and_real_values_are_complex_ones, ...
         @two_or_three_points_in_1d_are_no_point_in_2d_or_3d, ...
         @a_row_is_one_1d_image_and_no_points_give_no_samples, ...
         @shapes_that_may_be_two_things_or_none_are_refused, @plans_refuse_in_one_line, ...
         @a_plan_is_freed_with_its_last_reference, @recon_gives_the_image_of_the_program_bit_for_bit, ...
         @noise_is_that_of_the_image_and_a_mask_empties_the_rest, @frames_are_images_of_their_own, ...
         @strings_in_double_quotes_are_names_and_values, @a_function_of_progress_stops_by_true_alone, ...
         @empty_values_are_defaults, ...
         @recon_refuses_in_one_line, @files_that_are_missing_or_damaged_are_named, ...
         @a_function_of_progress_sees_all_and_stops_the_run, @settings_lists_what_the_library_has};
rand('twister', 7);
randn('twister', 7);
failed = 0;
for i = 1:numel(tests)
    name = func2str(tests{i});
    try
        tests{i}();
        printf('[  OK  ] %s\n', name);
    catch raised
        printf('[FAILED] %s: %s\n', name, raised.message);
        failed = failed + 1;
    end
end
printf('%d tests, %d failed\n', numel(tests), failed);
exit(failed > 0);
