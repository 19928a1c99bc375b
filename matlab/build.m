function build(library, folder)
% BUILD  Compile the gateway larmor_mex of MATLAB or Octave 7 and later.
%
%   build('/usr/lib/x86_64-linux-gnu')     folder of liblarmor.so; headers are those of this checkout, or of the
%                                          library's installation
%   build(library, folder)                 writes larmor_mex to this folder instead of the one of this file
%
% SPDX-License-Identifier: Apache-2.0
here = fileparts(mfilename('fullpath'));
if nargin < 2
    folder = here;
end
sources = {fullfile(here, 'larmor_mex.c'), fullfile(here, 'larmor_mex_recon.c')};
headers = ['-I' headers_of(here, library)];
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

% Of a checkout, or of an installation with the library in lib or in lib/x86_64-linux-gnu, wherever this folder is.
function folder = headers_of(here, library)
near = {fullfile(here, '..', 'include'), fullfile(library, '..', 'include'), ...
        fullfile(library, '..', '..', 'include')};
for i = 1:numel(near)
    folder = near{i};
    if exist(fullfile(folder, 'larmor', 'larmor.h'), 'file')
        return
    end
end
error('larmor:ERR_IO', 'build: no larmor/larmor.h in %s; expected the library of an installation', ...
      strjoin(near, ', '));
end
