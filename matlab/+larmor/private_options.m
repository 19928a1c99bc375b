function [names, values] = private_options(given)
% Names and values of options: pairs, or a struct. SPDX-License-Identifier: Apache-2.0
if numel(given) == 1 && isstruct(given{1}) && numel(given{1}) == 1
    names = fieldnames(given{1}).';
    values = larmor.private_chars(struct2cell(given{1}).');
    return
end
if mod(numel(given), 2)
    error('larmor:ERR_ARG', 'options: got %d arguments, expected pairs of a name and a value, or a struct', ...
          numel(given));
end
given = larmor.private_chars(given);
names = given(1:2:end);
values = given(2:2:end);
if ~iscellstr(names)
    error('larmor:ERR_ARG', 'options: expected a name before each value');
end
for i = 1:numel(names)
    names{i} = strrep(char(names{i}), '-', '_');
end
end
