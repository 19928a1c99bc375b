function answer = private_ask(f, event)
% 1 if a function of progress returns true, else 0, or how it failed, as text. SPDX-License-Identifier: Apache-2.0
try
    ans = false; % for functions without a result, which are called as statements
    f(event);
    answer = double(islogical(ans) && isscalar(ans) && ans);
catch raised
    answer = raised.message;
    if isempty(answer)
        answer = 'the function failed';
    end
end
end
