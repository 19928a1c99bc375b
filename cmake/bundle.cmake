# Run at the end of cpack's installation: the bundled libraries find each other, a bill of materials says what they are,
# and the statements of copyright of their Debian packages are copied to share/doc/larmor/licences.
#   cmake -D PREFIX=... -D LIBDIR=lib -D LIBEXECDIR=libexec -D DOCDIR=share/doc/larmor -D VERSION=0.1.0 -P bundle.cmake
# The bill is CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/): each file with its SHA-256, and where dpkg knows it
# the Debian package that it is from.
cmake_minimum_required(VERSION 3.25)

# Of the libraries that larmor names itself; docs/reference/dependencies.md.
set(licences "^libfftw3" GPL-2.0-or-later "^lib(openblas|lapacke|lapack|blas|tmglib)" BSD-3-Clause "^libhdf5" BSD-3-Clause
  "^libqhull" Qhull "^libexpat" MIT "^libpng" libpng-2.0 "^libz\\.(so|a)" Zlib "^libgif" MIT "^libmicrohttpd" LGPL-2.1-or-later "^lib(sz|aec)" BSD-2-Clause "^libgomp" "GPL-3.0-or-later WITH GCC-exception-3.1"
  "^liblarmor" Apache-2.0)

# quoted(OUT TEXT): a JSON string.
function(quoted out text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

# A library finds those that it needs beside itself.
find_program(PATCHELF patchelf)
function(find_neighbours file)
  execute_process(COMMAND ${PATCHELF} --print-rpath ${file} OUTPUT_VARIABLE path RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    message(FATAL_ERROR "patchelf is needed to bundle libraries; install it or configure with -DLARMOR_BUNDLE=OFF")
  endif()
  if(NOT path STREQUAL "\$ORIGIN")
    file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    execute_process(COMMAND ${PATCHELF} --set-rpath "\$ORIGIN" ${file} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

# The Debian package that the library is from, and its version; empty if there is none. More than one package may have a
# file of that name, so the contents decide, of which only the path was changed.
function(find_package_of file package version)
  cmake_path(GET file FILENAME name)
  file(SHA256 ${file} sum)
  set(${package} "" PARENT_SCOPE)
  set(${version} "" PARENT_SCOPE)
  foreach(line ${found})
    if(NOT line MATCHES "^([^ ,]+): (/.*/([^/]+))$" OR NOT CMAKE_MATCH_3 STREQUAL name)
      continue()
    endif()
    set(owner ${CMAKE_MATCH_1})
    set(candidate "${CMAKE_MATCH_2}")
    if(NOT EXISTS "${candidate}")
      continue()
    endif()
    file(COPY_FILE "${candidate}" ${file}.other)
    find_neighbours(${file}.other)
    file(SHA256 ${file}.other other)
    file(REMOVE ${file}.other)
    if(other STREQUAL sum)
      execute_process(COMMAND ${DPKG_QUERY} -W -f "\${binary:Package} \${Version}" ${owner} OUTPUT_VARIABLE known
        ERROR_QUIET)
      if(known MATCHES "^([^ :]+)[^ ]* (.+)$")
        set(${package} ${CMAKE_MATCH_1} PARENT_SCOPE)
        set(${version} ${CMAKE_MATCH_2} PARENT_SCOPE)
      endif()
      return()
    endif()
  endforeach()
endfunction()

# "debian", "ubuntu", of this machine
set(distribution debian)
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release id REGEX "^ID=")
  string(REGEX REPLACE "^ID=\"?([a-z]*)\"?.*" "\\1" distribution "${id}")
endif()

# One component of the bill, appended to `components`; a fourth argument is the file that it is linked into.
function(add_component file package version)
  cmake_path(GET file FILENAME name)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PREFIX} OUTPUT_VARIABLE place)
  set(property larmor:file)
  if(ARGC GREATER 3)
    set(property larmor:linked-into)
    set(place ${ARGV3})
  endif()
  file(SHA256 ${file} sum)
  set(type library)
  if(property STREQUAL "larmor:file" AND place MATCHES "^(bin|${LIBEXECDIR})/")
    set(type application)
  endif()
  set(purl "")
  if(package)
    string(REPLACE "+" "%2B" escaped ${version})
    string(REPLACE ":" "%3A" escaped ${escaped})
    quoted(purl "pkg:deb/${distribution}/${package}@${escaped}")
    set(purl ",\n      \"purl\": ${purl}")
    set(name ${package})
  elseif(NOT version AND name MATCHES "\\.so\\.(.+)$")
    set(version ${CMAKE_MATCH_1})
  endif()
  set(licence "")
  set(rest ${licences})
  cmake_path(GET file FILENAME file_name)
  while(rest)
    list(POP_FRONT rest pattern known)
    if(file_name MATCHES "${pattern}" OR (type STREQUAL "application" AND known STREQUAL "Apache-2.0"))
      set(licence ",\n      \"licenses\": [{\"expression\": \"${known}\"}]")
    endif()
  endwhile()
  quoted(name "${name}")
  quoted(version "${version}")
  quoted(place "${place}")
  string(APPEND components "    {
      \"type\": \"${type}\",
      \"name\": ${name},
      \"version\": ${version}${purl}${licence},
      \"hashes\": [{\"alg\": \"SHA-256\", \"content\": \"${sum}\"}],
      \"properties\": [{\"name\": \"${property}\", \"value\": ${place}}]
    },\n")
  set(components "${components}" PARENT_SCOPE)
endfunction()

# keep_licence(PACKAGE): its statement of copyright, and the licences that Debian has in one place for all packages.
function(keep_licence package)
  set(statement /usr/share/doc/${package}/copyright)
  if(NOT package OR NOT EXISTS ${statement})
    return()
  endif()
  set(folder ${PREFIX}/${DOCDIR}/licences)
  file(COPY_FILE ${statement} ${folder}/${package})
  file(READ ${statement} text)
  string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]" common "${text}")
  foreach(licence ${common})
    if(EXISTS ${licence})
      cmake_path(GET licence FILENAME name)
      file(REAL_PATH ${licence} real)
      file(COPY_FILE ${real} ${folder}/${name})
    endif()
  endforeach()
endfunction()

# Files, not the links to them.
function(list_files out)
  set(files "")
  foreach(pattern ${ARGN})
    file(GLOB found ${PREFIX}/${pattern})
    foreach(file ${found})
      if(NOT IS_SYMLINK ${file} AND NOT IS_DIRECTORY ${file})
        list(APPEND files ${file})
      endif()
    endforeach()
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

set(components "")
file(MAKE_DIRECTORY ${PREFIX}/${DOCDIR}/licences)
list_files(own bin/* ${LIBEXECDIR}/larmor/* ${LIBDIR}/liblarmor.so* ${LIBDIR}/liblarmor_finufft.so*
  ${LIBDIR}/liblarmor_cufinufft.so* ${LIBDIR}/larmor/*.so)
list_files(bundled ${LIBDIR}/*.so*)
list(REMOVE_ITEM bundled ${own})
foreach(file ${own})
  add_component(${file} "" ${VERSION})
endforeach()

# Who has files of their names: one question for all, as each takes half a second.
find_program(DPKG_QUERY dpkg-query)
set(found "")
if(DPKG_QUERY AND bundled)
  list(TRANSFORM bundled REPLACE "^.*/" "*/" OUTPUT_VARIABLE patterns)
  execute_process(COMMAND ${DPKG_QUERY} -S ${patterns} OUTPUT_VARIABLE found ERROR_QUIET)
  string(REGEX MATCHALL "[^\n]+" found "${found}")
endif()
foreach(file ${bundled})
  find_neighbours(${file})
  find_package_of(${file} package version)
  add_component(${file} "${package}" "${version}")
  keep_licence("${package}")
endforeach()

# Archives that are linked into larmor-reader are no files of the installation; their package says which they are.
foreach(file ${LINKED})
  file(REAL_PATH ${file} real)
  set(package "")
  set(version "unknown")
  if(DPKG_QUERY)
    execute_process(COMMAND ${DPKG_QUERY} -S ${real} OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX REPLACE ": .*" "" owner "${owner}")
    execute_process(COMMAND ${DPKG_QUERY} -W -f "\${binary:Package} \${Version}" "${owner}" OUTPUT_VARIABLE known
      ERROR_QUIET)
    if(known MATCHES "^([^ :]+)[^ ]* (.+)$")
      set(package ${CMAKE_MATCH_1})
      set(version ${CMAKE_MATCH_2})
    endif()
  endif()
  add_component(${real} "${package}" "${version}" ${LIBEXECDIR}/larmor/larmor-reader)
  keep_licence("${package}")
endforeach()

string(REGEX REPLACE ",\n$" "\n" components "${components}")
file(WRITE ${PREFIX}/${DOCDIR}/sbom.cdx.json "{
  \"bomFormat\": \"CycloneDX\",
  \"specVersion\": \"1.5\",
  \"version\": 1,
  \"metadata\": {
    \"component\": {\"type\": \"application\", \"name\": \"larmor\", \"version\": \"${VERSION}\",
      \"licenses\": [{\"expression\": \"Apache-2.0\"}]}
  },
  \"components\": [
${components}  ]
}
")
