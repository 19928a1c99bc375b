# Flags that turn faults in memory into an end of the program instead of a way in. tests/package/hardening.sh reads the
# binaries that users get.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(hardening "")
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
  string(MAKE_C_IDENTIFIER LARMOR_HAS${flag} has)
  # -fcf-protection is Intel's, -mbranch-protection Arm's; the compilers of the other processors refuse them
  check_c_compiler_flag(${flag} ${has})
  if(${has})
    list(APPEND hardening ${flag})
  endif()
endforeach()

# Checked copies need an optimising compiler. The sanitizers have checks of their own, which these would hide from them.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }" LARMOR_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  list(APPEND hardening -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$<IF:$<BOOL:${LARMOR_HAS_FORTIFY_3}>,3,2>)
endif()

foreach(flag ${hardening})
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${flag}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${flag}>")
endforeach()
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--enable-new-dtags)
