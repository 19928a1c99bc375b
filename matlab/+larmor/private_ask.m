function answer = private_ask(f, event)
% What a function of progress returns, as 0 or 1, or how it failed, as text. SPDX-License-Identifier: Apache-2.0
try
    answer = double(any(f(event)));
catch raised
    answer = raised.message;
end
end
