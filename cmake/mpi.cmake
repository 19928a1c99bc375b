# The plugin for MPI: LARMOR_HAVE_MPI says whether it is built, lmr_mpi_plugin() builds it.

set(LARMOR_HAVE_MPI OFF)
if(LARMOR_MPI)
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(LARMOR_HAVE_MPI ON)
    message(STATUS "MPI plugin: yes, MPI ${MPI_C_VERSION}")
  elseif(LARMOR_MPI STREQUAL "AUTO")
    message(STATUS "MPI plugin: no, no MPI was found")
  else()
    message(FATAL_ERROR "LARMOR_MPI is ${LARMOR_MPI}: no MPI was found; scripts/deps.sh installs Open MPI")
  endif()
endif()

# It exports one symbol and imports none of larmor's.
function(lmr_mpi_plugin)
  set(symbols ${PROJECT_SOURCE_DIR}/core/mpi/plugin.map)
  add_library(larmor_mpi MODULE ${PROJECT_SOURCE_DIR}/core/mpi/plugin.c)
  set_target_properties(larmor_mpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${LARMOR_PLUGIN_OUTPUT_DIR}
    LINK_DEPENDS ${symbols})
  target_include_directories(larmor_mpi PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_options(larmor_mpi PRIVATE ${LARMOR_WARNINGS} ${LARMOR_FLAGS})
  target_link_options(larmor_mpi PRIVATE -Wl,--version-script=${symbols})
  if(NOT (CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_FLAGS MATCHES "-fsanitize")) # whose runtime is in programs alone
    target_link_options(larmor_mpi PRIVATE -Wl,--no-undefined)
  endif()
  target_link_libraries(larmor_mpi PRIVATE MPI::MPI_C Threads::Threads)
endfunction()
