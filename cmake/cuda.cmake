# The CUDA plugin: LARMOR_HAVE_CUDA says whether it is built, lmr_cuda_plugin() builds it.

set(LARMOR_PLUGIN_OUTPUT_DIR ${PROJECT_BINARY_DIR}/lib/larmor)
set(LARMOR_CUDA_LEAST 12.8) # the first with batched eigenvalues of any order
set(LARMOR_HAVE_CUDA OFF)
set(no_cuda "")

if(LARMOR_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(LARMOR_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(LARMOR_NVCC)
      set(ENV{CUDACXX} ${LARMOR_NVCC}) # not CMAKE_CUDA_COMPILER, with which check_language would check nothing
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${LARMOR_CUDA_ARCHITECTURES})
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    if(CUDAToolkit_VERSION VERSION_LESS LARMOR_CUDA_LEAST)
      set(no_cuda "CUDA ${CUDAToolkit_VERSION} is older than ${LARMOR_CUDA_LEAST}")
    else()
      set(LARMOR_HAVE_CUDA ON)
    endif()
  else()
    set(no_cuda "no CUDA compiler that works; name one by CUDACXX=/path/to/nvcc")
  endif()
  if(LARMOR_HAVE_CUDA)
    message(STATUS "CUDA plugin: yes, CUDA ${CUDAToolkit_VERSION} for ${LARMOR_CUDA_ARCHITECTURES}")
  elseif(LARMOR_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA plugin: no, ${no_cuda}")
  else()
    message(FATAL_ERROR "LARMOR_CUDA is ${LARMOR_CUDA}: ${no_cuda}")
  endif()
endif()

# From all lmr_plugin_sources(cuda ...). It exports one symbol and imports none of larmor's; the runtime is linked
# into it, and the large libraries are found when it is loaded.
function(lmr_cuda_plugin)
  get_property(sources GLOBAL PROPERTY LMR_PLUGIN_cuda)
  set(symbols ${PROJECT_SOURCE_DIR}/core/cuda/plugin.map)
  add_library(larmor_cuda MODULE ${sources})
  set_target_properties(larmor_cuda PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${LARMOR_PLUGIN_OUTPUT_DIR}
    CUDA_RUNTIME_LIBRARY Static
    CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${symbols})
  target_include_directories(larmor_cuda PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  # by hand: CMake 3.25 does not know that nvcc knows C++20
  target_compile_options(larmor_cuda PRIVATE -std=c++20 -Xcompiler=-Wall,-Wextra,-Wshadow)
  if(LARMOR_WERROR)
    target_compile_options(larmor_cuda PRIVATE -Werror=all-warnings -Xcompiler=-Werror)
  endif()
  target_link_options(larmor_cuda PRIVATE -Wl,--no-undefined -Wl,--version-script=${symbols} -static-libstdc++
    -static-libgcc)
  # cuBLAS, cuSOLVER and cuSPARSE are loaded at their first use
  target_link_libraries(larmor_cuda PRIVATE CUDA::cufft ${CMAKE_DL_LIBS})
endfunction()
