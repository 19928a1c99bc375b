# The oldest libraries that larmor is built with. The others of docs/reference/dependencies.md are asked for by find_package and
# pkg_check_modules.

# lmr_at_least(expat 2.5.0 2.4): stop the configuration if the version that was found is older; unknown ones pass.
function(lmr_at_least name found least)
  if(found AND NOT found STREQUAL "unknown" AND found VERSION_LESS least)
    message(FATAL_ERROR "${name} is ${found}, but larmor needs ${least} or newer.")
  endif()
endfunction()
