function build(library, folder)
% BUILD  Compile the gateway larmor_mex of MATLAB or Octave 7 and later.
%
%   build('/usr/lib/x86_64-linux-gnu')     folder of liblarmor.so; headers are those of this checkout, or of the
%                                          installation that this file is of
%   build(library, folder)                 writes larmor_mex to this folder instead of the one of this file
%
% SPDX-License-Identifier: Apache-2.0
here = fileparts(mfilename('fullpath'));
if nargin < 2
    folder = here;
end
sources = {fullfile(here, 'larmor_mex.c'), fullfile(here, 'larmor_mex_recon.c')};
headers = ['-I' fullfile(here, '..', 'include')];
if ~exist(fullfile(here, '..', 'include'), 'dir') % of share/larmor/matlab
    headers = ['-I' fullfile(here, '..', '..', '..', 'include')];
end
where = ['-L' library];
if exist('OCTAVE_VERSION', 'builtin')
    out = fullfile(folder, 'larmor_mex.mex');
    found = ['-Wl,-rpath,' library];
    status = 0;
    objects = {};
    for i = 1:numel(sources)
        objects{i} = fullfile(folder, sprintf('larmor_mex_%d.o', i));
        [text, one] = mkoctfile('--mex', '-R2018a', '-c', sources{i}, headers, '-o', objects{i});
        status = status + one;
    end
    [text, one] = mkoctfile('--mex', '-R2018a', objects{:}, where, '-llarmor', '-ldl', found, '-o', out);
    delete(objects{:});
    if status + one
        error('larmor:ERR_UNSUPPORTED', 'build: mkoctfile could not make %s', out);
    end
else
    mex('-R2018a', sources{:}, headers, where, '-llarmor', '-ldl', ['LDFLAGS=$LDFLAGS -Wl,-rpath,' library], ...
        '-outdir', folder, '-output', 'larmor_mex');
end
end
