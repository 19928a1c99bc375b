# Manual pages and what lets shells complete command lines, by the programs' own tables: each program prints them. Also the
# script that writes them: cmake -D NAME=larmor -D PROGRAM=/path/to/larmor -D FOLDER=... -P manual.cmake.
if(CMAKE_SCRIPT_MODE_FILE)
  # print(FILE ARGUMENT...): what the program prints, into the file
  function(print file)
    execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${FOLDER}/${file} COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  file(REMOVE_RECURSE ${FOLDER})
  file(MAKE_DIRECTORY ${FOLDER}/man1 ${FOLDER}/bash ${FOLDER}/zsh ${FOLDER}/fish)
  print(bash/${NAME} completion bash)
  print(zsh/_${NAME} completion zsh)
  print(fish/${NAME}.fish completion fish)
  print(man1/${NAME}.1 manual)
  execute_process(COMMAND ${PROGRAM} completion --words "" OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" commands "${commands}")
  foreach(command ${commands})
    print(man1/${NAME}-${command}.1 manual ${command})
  endforeach()
  find_program(GZIP gzip)
  if(GZIP)
    file(GLOB pages ${FOLDER}/man1/*.1)
    execute_process(COMMAND ${GZIP} -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  return()
endif()

if(CMAKE_CROSSCOMPILING OR SKBUILD) # programs that do not run here; a wheel's folder is none that man looks into
  return()
endif()
set(zsh_folder zsh/site-functions)
if(LARMOR_DEBIAN)
  set(zsh_folder zsh/vendor-completions)
endif()
foreach(part larmor_cli:larmor:program larmor_bench:larmor-bench:development)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 target)
  list(GET part 1 name)
  list(GET part 2 component)
  set(folder ${PROJECT_BINARY_DIR}/manual/${name})
  add_custom_command(OUTPUT ${folder}.stamp
    COMMAND ${CMAKE_COMMAND} -D NAME=${name} -D PROGRAM=$<TARGET_FILE:${target}> -D FOLDER=${folder}
      -P ${PROJECT_SOURCE_DIR}/cmake/manual.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}.stamp
    DEPENDS ${target} ${PROJECT_SOURCE_DIR}/cmake/manual.cmake VERBATIM)
  add_custom_target(manual_${name} ALL DEPENDS ${folder}.stamp)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME ${component})
  # OPTIONAL: they are not there yet where one target was built alone
  install(DIRECTORY ${folder}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(DIRECTORY ${folder}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
  install(DIRECTORY ${folder}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh_folder} OPTIONAL)
  install(DIRECTORY ${folder}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endforeach()
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
