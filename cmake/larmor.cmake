# What the folders' CMakeLists.txt share.

set(LARMOR_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wcast-qual> -Wvla -Wpointer-arith -Wwrite-strings)
if(LARMOR_WERROR)
  list(APPEND LARMOR_WARNINGS -Werror)
endif()
# No -ffast-math: isfinite must mean it. These leave finite results and errors alone but free the vectoriser.
set(LARMOR_FLAGS -fno-math-errno -fno-trapping-math)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_C_CLANG_TIDY) # which refuses what it does not know
  list(APPEND LARMOR_FLAGS -fcx-fortran-rules)
endif()

# Kernels (lmr_two_precisions) keep the -O3 of CMake's Release; the rest compiles faster with -O2.
set(LARMOR_KERNEL_FLAGS ${LARMOR_FLAGS})
list(APPEND LARMOR_FLAGS $<$<CONFIG:Release>:-O2>)
# What a test computes itself is little: GCC 12 takes less than half of the time for it, and a third with the sanitizers.
set(LARMOR_TEST_FLAGS ${LARMOR_FLAGS} $<IF:$<CONFIG:Release>,-O1,-O0>)

# lmr_layer(core device.c ...): a layer's static library lmr_<name>.
function(lmr_layer name)
  add_library(lmr_${name} STATIC ${ARGN})
  target_include_directories(lmr_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_options(lmr_${name} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_FLAGS})
  target_link_libraries(lmr_${name} PUBLIC Threads::Threads m)
endfunction()

# lmr_room(pipeline grid.c ...): this folder's part of a layer that has several.
function(lmr_room layer)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(lmr_${layer} PRIVATE ${ARGN})
endfunction()

# lmr_two_precisions(lmr_nufft cpu/sort.c ...): compile each file for float and for double into the library.
function(lmr_two_precisions target)
  foreach(bits 32 64)
    add_library(${target}_f${bits} OBJECT ${ARGN})
    target_include_directories(${target}_f${bits} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
    target_compile_options(${target}_f${bits} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_KERNEL_FLAGS})
    target_compile_definitions(${target}_f${bits} PRIVATE LMR_REAL=${bits})
    target_link_libraries(${target}_f${bits} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_f${bits}>)
  endforeach()
endfunction()

# lmr_by_instruction_set(lmr_recon lmr_exponents NAME cpu/exponents.c): compile a file of inner loops once per
# instruction set, with NAME defined as lmr_exponents_base, _avx2 and so on; the best one is chosen at run time.
set(LMR_ISA_base "")
set(LMR_ISAS base)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(LMR_ISA_avx2 -mavx2 -mfma)
  set(LMR_ISA_avx512 -mavx512f -mavx512vl -mavx512dq -mfma)
  list(APPEND LMR_ISAS avx2 avx512)
endif()
# GCC 12 does not align vectors in the frames by which AddressSanitizer finds uses of a stack after its return (GCC bug
# 110027); newer ones do from 14 on for certain.
set(LMR_ISA_frames "")
if(CMAKE_C_FLAGS MATCHES "fsanitize=[^ ]*address" AND CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
  set(LMR_ISA_frames --param=asan-use-after-return=0)
endif()
function(lmr_by_instruction_set target prefix name)
  foreach(isa ${LMR_ISAS})
    add_library(${prefix}_${isa} OBJECT ${ARGN})
    target_include_directories(${prefix}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
    target_compile_options(${prefix}_${isa} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_KERNEL_FLAGS} ${LMR_ISA_${isa}} ${LMR_ISA_frames})
    target_compile_definitions(${prefix}_${isa} PRIVATE ${name}=${prefix}_${isa})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${prefix}_${isa}>)
  endforeach()
endfunction()

# lmr_plugin_sources(cuda cuda/vec.cu ...): this folder's part of the plugin larmor_<name>.so.
function(lmr_plugin_sources name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_property(GLOBAL APPEND PROPERTY LMR_PLUGIN_${name} ${ARGN})
endfunction()

# lmr_device_tests(core.array test_core_array [DEVICES cpu]): one CTest entry per device, core.array@cpu and so on,
# labelled with it; waiting threads leave the cores to the test beside it. What runs on all devices can also run from an
# installed bundle (LARMOR_BUNDLE_TESTS).
set(LARMOR_TEST_DEVICES cpu)
if(LARMOR_HAVE_CUDA)
  list(APPEND LARMOR_TEST_DEVICES cuda)
endif()
set(LARMOR_READER_BUILT ${PROJECT_BINARY_DIR}/lib/larmor-reader)
function(lmr_device_tests name target)
  cmake_parse_arguments(T "" "" "DEVICES" ${ARGN})
  set(devices ${LARMOR_TEST_DEVICES})
  if(T_DEVICES)
    set(devices ${T_DEVICES})
  endif()
  foreach(device ${devices})
    add_test(NAME ${name}@${device} COMMAND ${target})
    set(labels ${device})
    if("${name}@${device}" MATCHES "@cpu$" AND name MATCHES "${LARMOR_QUICK_TESTS}" AND NOT name MATCHES "${LARMOR_LONGER_TESTS}")
      list(APPEND labels quick)
    endif()
    set_tests_properties(${name}@${device} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77
      ENVIRONMENT "OMP_WAIT_POLICY=passive;LARMOR_TEST_DEVICE=${device};LARMOR_PLUGIN_DIR=${LARMOR_PLUGIN_OUTPUT_DIR};LARMOR_READER=${LARMOR_READER_BUILT}")
    if(NOT T_DEVICES)
      set_property(GLOBAL APPEND PROPERTY LMR_TESTS "${name}|${target}|${device}")
    endif()
  endforeach()
endfunction()

# The folder's tests so far have one thread where they do not name their devices: scans are small, and of two threads that
# share a loop of some microseconds one waits. Threads are those of the tests that name them, of those whose names fit the
# argument, and under ThreadSanitizer.
function(lmr_one_thread)
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
    return()
  endif()
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    if(test MATCHES "@cpu$" AND NOT (ARGC AND test MATCHES "${ARGV0}"))
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "LARMOR_TEST_DEVICE=cpu:1")
    endif()
  endforeach()
endfunction()

# lmr_ranks_test(core ranks LIBRARIES lmr_core COUNTS 2 3): tests/<layer>/test_<file>.c by so many processes of mpirun.
function(lmr_ranks_test layer file)
  if(NOT LARMOR_HAVE_MPI)
    return()
  endif()
  cmake_parse_arguments(T "" "" "LIBRARIES;COUNTS" ${ARGN})
  set(target test_${layer}_${file})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${layer}/test_${file}.c)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${CMOCKA_INCLUDE})
  target_compile_options(${target} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_TEST_FLAGS})
  target_link_libraries(${target} PRIVATE ${T_LIBRARIES} ${CMOCKA_LIBRARY})
  add_dependencies(${target} larmor_mpi)
  foreach(count ${T_COUNTS})
    add_test(NAME ${layer}.${file}@${count} COMMAND ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe
      --bind-to none -n ${count} $<TARGET_FILE:${target}>)
    # Containers often forbid a process to read another's memory. Sanitizers, which leave out what is long, would report
    # what MPI itself leaks.
    set_tests_properties(${layer}.${file}@${count} PROPERTIES LABELS "cpu;long" TIMEOUT 1800 PROCESSORS 2
      ENVIRONMENT "LARMOR_TEST_DEVICE=cpu:1;LARMOR_PLUGIN_DIR=${LARMOR_PLUGIN_OUTPUT_DIR};OMPI_MCA_btl_vader_single_copy_mechanism=none")
  endforeach()
endfunction()

# lmr_test(core array [LIBRARIES lmr_core ...] [DEVICES cpu] [ALL]): tests/<layer>/test_<file>.c, one CTest entry per
# device. ALL: once more with all cases of its laws (of_all of tests/support/test.h), as one of the longest tests.
function(lmr_test layer file)
  cmake_parse_arguments(T "ALL" "" "LIBRARIES;DEVICES" ${ARGN})
  set(target test_${layer}_${file})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${layer}/test_${file}.c)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${CMOCKA_INCLUDE})
  target_compile_options(${target} PRIVATE ${LARMOR_WARNINGS} ${LARMOR_TEST_FLAGS})
  target_link_libraries(${target} PRIVATE ${T_LIBRARIES} ${CMOCKA_LIBRARY})
  lmr_device_tests(${layer}.${file} ${target} DEVICES ${T_DEVICES})
  if(T_ALL)
    lmr_device_tests(${layer}.${file}_all ${target} DEVICES cpu)
    set_tests_properties(${layer}.${file}_all@cpu PROPERTIES LABELS "cpu;long")
    set_property(TEST ${layer}.${file}_all@cpu APPEND PROPERTY ENVIRONMENT "LARMOR_TEST_ALL=1")
  endif()
endfunction()
