classdef string
% What stands for MATLAB's class of texts in double quotes, which Octave has not. SPDX-License-Identifier: Apache-2.0
    properties
        text
    end
    methods
        function s = string(text)
            s.text = text;
        end
    end
end
