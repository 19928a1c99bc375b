function out = private_call(varargin)
% One call of the library; what fails is an error. SPDX-License-Identifier: Apache-2.0
[out, id, text] = larmor_mex(varargin{:});
if ~isempty(id)
    error(id, '%s', text);
end
end
