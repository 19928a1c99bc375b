function table = settings()
% LARMOR.SETTINGS  The options of larmor.recon that are texts or numbers, as the library's table has them.
%
%   table = larmor.settings()    struct array with name, option, choices, expected, default, unit and help
%
% SPDX-License-Identifier: Apache-2.0
table = larmor.private_call('settings');
end
