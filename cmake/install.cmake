# cmake --install and cpack: a directory that works wherever it is put, with the libraries that a plain Linux machine
# lacks. What glibc and the C++ compiler's runtime bring is on every machine and stays out. The components `runtime` and
# `development` are installed together unless one is named: cmake --install ... --component runtime.

set(programs larmor_cli larmor_bench larmor_reader)
set(libraries larmor)
set(tests "")
if(LARMOR_HAVE_CUDA)
  list(APPEND libraries larmor_cuda)
endif()
if(LARMOR_TESTS AND LARMOR_BUNDLE_TESTS)
  get_property(entries GLOBAL PROPERTY LMR_TESTS)
  foreach(entry ${entries})
    string(REGEX REPLACE "^[^|]*[|]([^|]*)[|].*" "\\1" target ${entry})
    list(APPEND tests ${target})
  endforeach()
  list(REMOVE_DUPLICATES tests)
endif()

set(lib ${CMAKE_INSTALL_LIBDIR})
set(test_dir ${CMAKE_INSTALL_LIBEXECDIR}/larmor/tests)
set_target_properties(larmor_cli larmor_bench PROPERTIES INSTALL_RPATH "$ORIGIN/../${lib}")
# of the build, too: CMake's own would be empty there, and an empty one means the working directory
set_target_properties(larmor_reader PROPERTIES INSTALL_RPATH "$ORIGIN/../../${lib}" BUILD_WITH_INSTALL_RPATH ON)
set_target_properties(larmor PROPERTIES INSTALL_RPATH "$ORIGIN")
if(LARMOR_HAVE_CUDA)
  set_target_properties(larmor_cuda PROPERTIES
    INSTALL_RPATH "$ORIGIN/..;${CUDAToolkit_LIBRARY_DIR};/usr/local/cuda/lib64")
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS larmor_cli RUNTIME_DEPENDENCY_SET needed)
install(TARGETS larmor_reader RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/larmor)
install(TARGETS larmor EXPORT larmor RUNTIME_DEPENDENCY_SET needed LIBRARY NAMELINK_COMPONENT development)
if(LARMOR_HAVE_CUDA)
  install(TARGETS larmor_cuda RUNTIME_DEPENDENCY_SET needed LIBRARY DESTINATION ${lib}/larmor)
endif()
if(LARMOR_HAVE_MPI)
  install(TARGETS larmor_mpi LIBRARY DESTINATION ${lib}/larmor) # MPI is that of the machine
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(DIRECTORY include/larmor DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS larmor_bench RUNTIME_DEPENDENCY_SET needed)

# What other builds look for: find_package(larmor) and pkg-config. Both find the rest from where they are themselves.
include(CMakePackageConfigHelpers)
set(package ${lib}/cmake/larmor)
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
endif()
configure_package_config_file(cmake/larmorConfig.cmake.in ${PROJECT_BINARY_DIR}/package/larmorConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/larmorConfigVersion.cmake COMPATIBILITY ${compatible})
install(EXPORT larmor NAMESPACE larmor:: FILE larmorTargets.cmake DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/package/larmorConfig.cmake ${PROJECT_BINARY_DIR}/package/larmorConfigVersion.cmake
  DESTINATION ${package})
file(RELATIVE_PATH to_prefix /${lib}/pkgconfig /) # from larmor.pc's folder
string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
configure_file(cmake/larmor.pc.in ${PROJECT_BINARY_DIR}/package/larmor.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/larmor.pc DESTINATION ${lib}/pkgconfig)

# The test programs, and what `ctest --test-dir <prefix>/libexec/larmor/tests` reads.
if(tests)
  set_target_properties(${tests} PROPERTIES INSTALL_RPATH "$ORIGIN/../../../${lib}")
  install(TARGETS ${tests} RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION ${test_dir})
  set(list "")
  foreach(entry ${entries})
    string(REPLACE "|" ";" entry ${entry})
    list(GET entry 0 name)
    list(GET entry 1 target)
    list(GET entry 2 device)
    string(APPEND list "add_test(${name}@${device} ${target})\n"
      "set_tests_properties(${name}@${device} PROPERTIES LABELS ${device} SKIP_RETURN_CODE 77 ENVIRONMENT "
      "\"LARMOR_TEST_DEVICE=${device}\")\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/bundle/CTestTestfile.cmake "${list}")
  install(FILES ${PROJECT_BINARY_DIR}/bundle/CTestTestfile.cmake DESTINATION ${test_dir})
  # tests/trust, to be run where there is no compiler: <prefix>/libexec/larmor/tests/trust/trust.py
  set_target_properties(trust_make_seeds PROPERTIES INSTALL_RPATH "$ORIGIN/../../../../${lib}")
  set_target_properties(faulty PROPERTIES INSTALL_RPATH "$ORIGIN/../../../../../${lib}")
  install(TARGETS trust_make_seeds faults RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION ${test_dir}/trust
    LIBRARY DESTINATION ${test_dir}/trust)
  install(TARGETS faulty RUNTIME_DEPENDENCY_SET needed LIBRARY DESTINATION ${test_dir}/trust/faulty)
  install(DIRECTORY tests/trust/ DESTINATION ${test_dir}/trust FILES_MATCHING PATTERN "*.py")
  install(PROGRAMS tests/trust/trust.py DESTINATION ${test_dir}/trust)
  # Test programs hold the library themselves: they look for plugins in their own folder's larmor/, and for the reader in
  # their own folder.
  install(CODE "file(CREATE_LINK ../../../${lib}/larmor
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${test_dir}/larmor\" SYMBOLIC)
    file(CREATE_LINK ../larmor-reader
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${test_dir}/larmor-reader\" SYMBOLIC)")
endif()

if(LARMOR_BUNDLE)
  set(present "^ld-linux" "^linux-vdso" "^lib(c|m|dl|rt|pthread|util|resolv|nsl|anl|mvec|gcc_s|stdc\\+\\+)\\.so")
  if(NOT LARMOR_BUNDLE_CUDA)
    list(APPEND present "^lib(cufft|cublas|cublasLt|cusolver|cusparse|nvJitLink)\\.so")
  endif()
  install(RUNTIME_DEPENDENCY_SET needed COMPONENT runtime PRE_EXCLUDE_REGEXES ${present}
    DIRECTORIES ${CUDAToolkit_LIBRARY_DIR} LIBRARY DESTINATION ${lib})
  get_property(linked GLOBAL PROPERTY LARMOR_READER_LINKED)
  # after all that is stripped and copied; a RUNPATH serves the libraries of its own file alone
  install(CODE "execute_process(COMMAND \${CMAKE_COMMAND} -D PREFIX=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX} -D LIBDIR=${lib}
    -D LIBEXECDIR=${CMAKE_INSTALL_LIBEXECDIR} -D DOCDIR=${CMAKE_INSTALL_DOCDIR} -D VERSION=${PROJECT_VERSION} -D \"LINKED=${linked}\" -P ${PROJECT_SOURCE_DIR}/cmake/bundle.cmake
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT runtime)
endif()

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME larmor)
set(CPACK_PACKAGE_VENDOR larmor)
set(CPACK_PACKAGE_FILE_NAME larmor-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
