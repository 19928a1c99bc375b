function given = private_chars(given)
% Arguments, in which MATLAB's strings become texts. SPDX-License-Identifier: Apache-2.0
if exist('convertStringsToChars') && ~isempty(given) % MATLAB has it since R2017b; Octave has no such class
    [given{:}] = convertStringsToChars(given{:});
end
end
