# What the folders' CMakeLists.txt share.

set(LARMOR_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wvla -Wpointer-arith -Wwrite-strings)
if(LARMOR_WERROR)
  list(APPEND LARMOR_WARNINGS -Werror)
endif()
# No -ffast-math: isfinite must mean it. These leave finite results and errors alone but free the vectoriser.
set(LARMOR_FLAGS -fno-math-errno -fno-trapping-math)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND LARMOR_FLAGS -fcx-fortran-rules)
endif()

# lmr_layer(core device.c ...): a layer's static library lmr_<name>.
function(lmr_layer name)
  add_library(lmr_${name} STATIC ${ARGN})
  target_include_directories(lmr_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_options(lmr_${name} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_FLAGS})
  target_link_libraries(lmr_${name} PUBLIC Threads::Threads m)
endfunction()

# lmr_two_precisions(lmr_nufft cpu/sort.c ...): compile each file for float and for double into the library.
function(lmr_two_precisions target)
  foreach(bits 32 64)
    add_library(${target}_f${bits} OBJECT ${ARGN})
    target_include_directories(${target}_f${bits} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
    target_compile_options(${target}_f${bits} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_FLAGS})
    target_compile_definitions(${target}_f${bits} PRIVATE LMR_REAL=${bits})
    target_link_libraries(${target}_f${bits} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_f${bits}>)
  endforeach()
endfunction()

# lmr_test(core array [LIBRARIES lmr_core ...]): tests/<layer>/test_<file>.c, one CTest entry per device.
set(LARMOR_TEST_DEVICES cpu)
function(lmr_test layer file)
  cmake_parse_arguments(T "" "" "LIBRARIES" ${ARGN})
  set(target test_${layer}_${file})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${layer}/test_${file}.c)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${CMOCKA_INCLUDE})
  target_compile_options(${target} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_FLAGS})
  target_link_libraries(${target} PRIVATE ${T_LIBRARIES} ${CMOCKA_LIBRARY})
  foreach(device ${LARMOR_TEST_DEVICES})
    add_test(NAME ${layer}.${file}@${device} COMMAND ${target})
    set_tests_properties(${layer}.${file}@${device} PROPERTIES LABELS ${device} SKIP_RETURN_CODE 77
      ENVIRONMENT "LARMOR_TEST_DEVICE=${device}")
  endforeach()
endfunction()
