function varargout = convertStringsToChars(varargin)
% MATLAB's function of this name, for the class beside it. SPDX-License-Identifier: Apache-2.0
varargout = varargin;
for i = find(cellfun(@(x) isa(x, 'string'), varargin))
    varargout{i} = varargin{i}.text;
end
end
