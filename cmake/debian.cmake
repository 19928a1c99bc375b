# Debian packages by CPack, of the build that the preset `deb` configures: scripts/packaging/packages.sh deb.
#   liblarmor0.3, liblarmor-finufft0.3   libraries; larmor-reader is with the first
#   larmor                               the program
#   liblarmor-dev                        headers, CMake and pkg-config files, larmor-bench
#   larmor-mpi, larmor-dicom, larmor-cuda   plugins, where they were built
# What they depend on is found in the binaries by dpkg-shlibdeps.
set(LARMOR_MAINTAINER "The larmor authors <larmor@example.org>" CACHE STRING "Maintainer of the Debian packages")

# debian_package(COMPONENT NAME SECTION SUMMARY TEXT [DEPENDS COMPONENT...]): one package of a component's files, with the
# statement of copyright and the changes that each must have.
set(packages "")
function(debian_package component name section summary text)
  cmake_parse_arguments(P "" "" "DEPENDS" ${ARGN})
  set(packages ${packages} ${component} PARENT_SCOPE)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DEPENDS ${P_DEPENDS} PARENT_SCOPE)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${PROJECT_BINARY_DIR}/package/copyright ${PROJECT_BINARY_DIR}/package/changelog.Debian.gz
    DESTINATION ${doc} COMPONENT ${component})
endfunction()

# library_of(COMPONENT NAME LIBRARY...): the package has lib<LIBRARY>.so, which ldconfig is to know, and programs that need
# it depend on this version or a later one.
function(library_of component name)
  string(TOUPPER ${component} upper)
  set(folder ${PROJECT_BINARY_DIR}/package/${name})
  file(WRITE ${folder}/shlibs "")
  foreach(library ${ARGN})
    file(APPEND ${folder}/shlibs "lib${library} ${soversion} ${name} (>= ${PROJECT_VERSION})\n")
  endforeach()
  file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${folder}/shlibs ${folder}/triggers PARENT_SCOPE)
endfunction()

set(what "larmor reconstructs magnetic resonance images from non-Cartesian k-space.")
debian_package(library liblarmor${soversion} libs "MR reconstruction from non-Cartesian k-space, library"
  "${what}\n This package has the library and the program by which it reads files.")
debian_package(finufft liblarmor-finufft${soversion} libs "FINUFFT's and cuFINUFFT's C interfaces on larmor's NUFFT"
  "Programs that link FINUFFT or cuFINUFFT run on larmor with these libraries." DEPENDS library)
library_of(library liblarmor${soversion} larmor)
library_of(finufft liblarmor-finufft${soversion} larmor_finufft larmor_cufinufft)
debian_package(program larmor science "MR reconstruction from non-Cartesian k-space, program"
  "${what}\n This package has the program." DEPENDS library)
debian_package(development liblarmor-dev libdevel "MR reconstruction from non-Cartesian k-space, headers"
  "${what}\n This package has what is needed to compile programs, and larmor-bench." DEPENDS library finufft)
if(LARMOR_HAVE_MPI)
  debian_package(mpi larmor-mpi science "MR reconstruction from non-Cartesian k-space, MPI"
    "The plugin by which processes that mpirun starts share the images of a scan." DEPENDS library)
endif()
if(LARMOR_HAVE_DICOM)
  debian_package(dicom larmor-dicom science "MR reconstruction from non-Cartesian k-space, DICOM"
    "The plugin by which images are written as DICOM files." DEPENDS library)
endif()
if(LARMOR_HAVE_CUDA)
  debian_package(cuda larmor-cuda contrib/science "MR reconstruction from non-Cartesian k-space, NVIDIA GPUs"
    "The plugin for NVIDIA GPUs. CUDA's runtime libraries (cuFFT, cuBLAS, cuSOLVER,\n cuSPARSE) are to be installed from NVIDIA."
    DEPENDS library)
  # they are in no package of Debian's main archive, which dpkg-shlibdeps would refuse
  set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS OFF)
  execute_process(COMMAND dpkg-query -W -f "\${Version}" libc6 OUTPUT_VARIABLE libc)
  string(REGEX MATCH "^[0-9.]+" libc "${libc}")
  set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "libc6 (>= ${libc})")
  set(major ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
  set(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS
    "libcufft-${major}, libcublas-${major}, libcusolver-${major}, libcusparse-${major}")
endif()

# The statement of copyright, and what FFTW's licence means for the packages.
file(WRITE ${PROJECT_BINARY_DIR}/package/copyright "larmor ${PROJECT_VERSION}

Copyright 2026 the larmor authors. larmor's sources are under the Apache License, version 2.0:
/usr/share/common-licenses/Apache-2.0

liblarmor is linked with FFTW, which is under the GPL, version 2 or later. So the packages of the libraries and of the
programs may be distributed only as a whole under the GPL, version 3, with their complete source:
/usr/share/common-licenses/GPL-3. The plugins are not linked with FFTW.
")

# Debian's own list of changes, which names the file that has them.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${PROJECT_BINARY_DIR}/package/changelog.Debian "larmor (${PROJECT_VERSION}-1) unstable; urgency=medium

  * Release ${PROJECT_VERSION}; its changes are in CHANGELOG.md of the sources.

 -- ${LARMOR_MAINTAINER}  ${date}
")
execute_process(COMMAND gzip -9nf ${PROJECT_BINARY_DIR}/package/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${LARMOR_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
