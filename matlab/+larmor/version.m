function text = version()
% LARMOR.VERSION  The version of the library. SPDX-License-Identifier: Apache-2.0
text = larmor.private_call('version');
end
