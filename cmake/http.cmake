# The plugin by which pages are served to browsers: larmor_http.so, where libmicrohttpd is found.
lmr_optional(HTTP microhttpd.h microhttpd "larmor view")

# It exports one symbol and imports none of larmor's.
function(lmr_http_plugin)
  set(symbols ${PROJECT_SOURCE_DIR}/io/page/http_plugin.map)
  add_library(larmor_http MODULE ${PROJECT_SOURCE_DIR}/io/page/http_plugin.c)
  set_target_properties(larmor_http PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${LARMOR_PLUGIN_OUTPUT_DIR}
    LINK_DEPENDS ${symbols})
  target_include_directories(larmor_http SYSTEM PRIVATE ${HTTP_INCLUDE})
  target_include_directories(larmor_http PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  target_compile_options(larmor_http PRIVATE ${LARMOR_WARNINGS} ${LARMOR_FLAGS})
  target_link_options(larmor_http PRIVATE -Wl,--version-script=${symbols})
  if(NOT (CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_FLAGS MATCHES "-fsanitize")) # whose runtime is in programs alone
    target_link_options(larmor_http PRIVATE -Wl,--no-undefined)
  endif()
  target_link_libraries(larmor_http PRIVATE ${HTTP_LIBRARY} Threads::Threads)
endfunction()
