# cmake --install: larmor's own files, which work wherever they are put. Components: `library`, `program`, `development`,
# `cuda` and `mpi` for the plugins; all of them unless one is named: cmake --install ... --component program.
# `bundle`, which cpack takes as well and cmake --install only by its name, has the libraries that a plain Linux machine
# lacks. What glibc and the C++ compiler's runtime bring is on every machine and stays out.

set(tests "")
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
# The run paths of the build are those of the installation, whose layout its folder has: CMake ends one that it replaces later
# by a colon, and the empty entry after that means the working directory. Debian's packages lie where the linker looks anyway.
if(NOT LARMOR_DEBIAN)
  set(programs_path "$ORIGIN/../${lib}" "$ORIGIN/../lib") # where they are built the folder of libraries is lib
  list(REMOVE_DUPLICATES programs_path)
  set_target_properties(larmor_cli larmor_bench PROPERTIES INSTALL_RPATH "${programs_path}" BUILD_WITH_INSTALL_RPATH ON)
  set_target_properties(larmor_reader PROPERTIES INSTALL_RPATH "$ORIGIN/../../${lib}" BUILD_WITH_INSTALL_RPATH ON)
  set_target_properties(larmor larmor_finufft larmor_cufinufft PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
endif()
if(LARMOR_HAVE_HTTP AND NOT LARMOR_DEBIAN)
  set_target_properties(larmor_http PROPERTIES INSTALL_RPATH "$ORIGIN/.." BUILD_WITH_INSTALL_RPATH ON)
endif()
if(LARMOR_HAVE_CUDA)
  set(cuda_path "$ORIGIN/..;${CUDAToolkit_LIBRARY_DIR};/usr/local/cuda/lib64")
  if(SKBUILD) # CUDA's libraries are those of NVIDIA's wheels, beside the package
    set(cuda_path "$ORIGIN/../../../nvidia/cu${CUDAToolkit_VERSION_MAJOR}/lib")
  endif()
  set_target_properties(larmor_cuda PROPERTIES INSTALL_RPATH "${cuda_path}" BUILD_WITH_INSTALL_RPATH ON)
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
if(NOT LARMOR_DEBIAN) # whose packages have their own statement
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(TARGETS larmor EXPORT larmor RUNTIME_DEPENDENCY_SET needed LIBRARY NAMELINK_COMPONENT development)
install(TARGETS larmor_reader RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/larmor)
install(TARGETS larmor_finufft larmor_cufinufft EXPORT larmor RUNTIME_DEPENDENCY_SET needed LIBRARY COMPONENT finufft
  NAMELINK_COMPONENT development)
if(LARMOR_HAVE_CUDA)
  install(TARGETS larmor_cuda RUNTIME_DEPENDENCY_SET needed LIBRARY DESTINATION ${lib}/larmor COMPONENT cuda)
endif()
if(LARMOR_HAVE_MPI)
  install(TARGETS larmor_mpi LIBRARY DESTINATION ${lib}/larmor COMPONENT mpi) # MPI is that of the machine
endif()
if(LARMOR_HAVE_DICOM)
  install(TARGETS larmor_dicom LIBRARY DESTINATION ${lib}/larmor COMPONENT dicom) # as is DCMTK
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(TARGETS larmor_cli RUNTIME_DEPENDENCY_SET needed)
if(LARMOR_HAVE_HTTP)
  install(TARGETS larmor_http RUNTIME_DEPENDENCY_SET needed LIBRARY DESTINATION ${lib}/larmor)
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(DIRECTORY include/larmor DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# in a folder of its own, so that it hides no other finufft.h
install(FILES finufft/finufft.h finufft/finufft_errors.h finufft/finufft_functions.h finufft/finufft_opts.h
  finufft/finufft.fh finufft/cufinufft.h finufft/cufinufft_opts.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/larmor-finufft)
install(TARGETS larmor_bench RUNTIME_DEPENDENCY_SET needed)
# As sources: MATLAB's and Octave's gateway is compiled by its build.m, and Julia takes the folder of a package.
install(DIRECTORY matlab/ DESTINATION ${CMAKE_INSTALL_DATADIR}/larmor/matlab PATTERN CMakeLists.txt EXCLUDE)
install(DIRECTORY julia/Larmor DESTINATION ${CMAKE_INSTALL_DATADIR}/larmor/julia)
include(cmake/manual.cmake)

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
set(run_path "") # so that a program starts from wherever larmor is
if(NOT LARMOR_DEBIAN)
  set(run_path " -Wl,-rpath,\${libdir}")
endif()
foreach(name larmor larmor-finufft larmor-cufinufft)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${lib}/pkgconfig)
endforeach()

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

set(packed "${PROJECT_BINARY_DIR};larmor;ALL;/")
if(LARMOR_BUNDLE)
  set(present "^ld-linux" "^linux-vdso" "^lib(c|m|dl|rt|pthread|util|resolv|nsl|anl|mvec|gcc_s|stdc\\+\\+)\\.so")
  if(NOT LARMOR_BUNDLE_CUDA)
    list(APPEND present "^lib(cufft|cublas|cublasLt|cusolver|cusparse|nvJitLink)\\.so")
  endif()
  if(LARMOR_HAVE_CUDA AND LARMOR_BUNDLE_CUDA) # what the plugin loads only when it is needed
    install(CODE "file(GET_RUNTIME_DEPENDENCIES LIBRARIES $<TARGET_FILE:CUDA::cublas> $<TARGET_FILE:CUDA::cusolver>
      DIRECTORIES ${CUDAToolkit_LIBRARY_DIR} PRE_INCLUDE_REGEXES \"^lib(cu|nvJit)\" PRE_EXCLUDE_REGEXES \".*\"
      RESOLVED_DEPENDENCIES_VAR loaded)
      foreach(library $<TARGET_FILE:CUDA::cublas> $<TARGET_FILE:CUDA::cusolver> \${loaded})
        file(INSTALL \${library} DESTINATION \${CMAKE_INSTALL_PREFIX}/${lib} FOLLOW_SYMLINK_CHAIN)
      endforeach()" COMPONENT bundle EXCLUDE_FROM_ALL)
  endif()
  install(RUNTIME_DEPENDENCY_SET needed COMPONENT bundle EXCLUDE_FROM_ALL PRE_EXCLUDE_REGEXES ${present}
    DIRECTORIES ${CUDAToolkit_LIBRARY_DIR} LIBRARY DESTINATION ${lib} COMPONENT bundle EXCLUDE_FROM_ALL)
  get_property(linked GLOBAL PROPERTY LARMOR_READER_LINKED)
  # after all that is stripped and copied; a RUNPATH serves the libraries of its own file alone
  install(CODE "execute_process(COMMAND \${CMAKE_COMMAND} -D PREFIX=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX} -D LIBDIR=${lib}
    -D LIBEXECDIR=${CMAKE_INSTALL_LIBEXECDIR} -D DOCDIR=${CMAKE_INSTALL_DOCDIR} -D VERSION=${PROJECT_VERSION} -D \"LINKED=${linked}\" -P ${PROJECT_SOURCE_DIR}/cmake/bundle.cmake
    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT bundle EXCLUDE_FROM_ALL)
  list(APPEND packed "${PROJECT_BINARY_DIR};larmor;bundle;/")
endif()

set(CPACK_GENERATOR TGZ)
set(CPACK_INSTALL_CMAKE_PROJECTS "${packed}")
set(CPACK_PACKAGE_NAME larmor)
set(CPACK_PACKAGE_VENDOR larmor)
set(CPACK_PACKAGE_FILE_NAME larmor-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_VERBATIM_VARIABLES ON)
if(LARMOR_DEBIAN)
  include(cmake/debian.cmake)
endif()
include(CPack)
