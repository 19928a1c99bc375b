# The plugin for DICOM: LARMOR_HAVE_DICOM says whether it is built, lmr_dicom_plugin() builds it.

set(LARMOR_HAVE_DICOM OFF)
if(LARMOR_DICOM)
  include(CheckLanguage)
  check_language(CXX)
  # not by pkg-config, for which Debian's package asks for others that nothing here needs
  find_path(DCMTK_INCLUDE dcmtk/config/osconfig.h)
  find_library(DCMTK_DCMDATA dcmdata)
  find_library(DCMTK_OFLOG oflog)
  find_library(DCMTK_OFSTD ofstd)
  if(CMAKE_CXX_COMPILER AND DCMTK_INCLUDE AND DCMTK_DCMDATA AND DCMTK_OFLOG AND DCMTK_OFSTD)
    enable_language(CXX)
    set(LARMOR_HAVE_DICOM ON)
    file(STRINGS ${DCMTK_INCLUDE}/dcmtk/config/osconfig.h DCMTK_VERSION REGEX "define PACKAGE_VERSION ")
    string(REGEX MATCH "[0-9.]+" DCMTK_VERSION "${DCMTK_VERSION}")
    message(STATUS "DICOM plugin: yes, DCMTK ${DCMTK_VERSION}")
  elseif(LARMOR_DICOM STREQUAL "AUTO")
    message(STATUS "DICOM plugin: no, no DCMTK or no C++ compiler was found")
  else()
    message(FATAL_ERROR "LARMOR_DICOM is ${LARMOR_DICOM}: no DCMTK or no C++ compiler was found; scripts/deps.sh installs both")
  endif()
endif()

# It exports one symbol and imports none of larmor's.
function(lmr_dicom_plugin)
  set(symbols ${PROJECT_SOURCE_DIR}/io/dicom/plugin.map)
  add_library(larmor_dicom MODULE ${PROJECT_SOURCE_DIR}/io/dicom/plugin.cc)
  set_target_properties(larmor_dicom PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${LARMOR_PLUGIN_OUTPUT_DIR}
    LINK_DEPENDS ${symbols} CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(larmor_dicom SYSTEM PRIVATE ${DCMTK_INCLUDE})
  target_include_directories(larmor_dicom PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_options(larmor_dicom PRIVATE ${LARMOR_WARNINGS} $<$<CONFIG:Release>:-O2>)
  target_link_options(larmor_dicom PRIVATE -Wl,--version-script=${symbols})
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")) # whose runtime is in programs alone
    target_link_options(larmor_dicom PRIVATE -Wl,--no-undefined)
  endif()
  target_link_libraries(larmor_dicom PRIVATE ${DCMTK_DCMDATA} ${DCMTK_OFLOG} ${DCMTK_OFSTD})
endfunction()
