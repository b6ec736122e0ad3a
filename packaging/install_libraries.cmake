# Copies to `to`, under the names by which they are looked for, the shared libraries that `programs`, `our_libraries` and what lies in
# `plugins` need: not LibTorch, not ours, and not those without which no C++ program starts. Their licences go to `licences`.
file(GLOB modules "${plugins}/*.so")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} LIBRARIES ${our_libraries} MODULES ${modules}
  RESOLVED_DEPENDENCIES_VAR found
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s|gomp)\\.so" "^ld-linux" "^lib(torch|c10|ghsdk|ghops)")
file(MAKE_DIRECTORY "${to}")
foreach(library IN LISTS found)
  get_filename_component(name "${library}" NAME)
  file(REAL_PATH "${library}" file)
  message(STATUS "Installing: ${to}/${name}")
  file(COPY_FILE "${file}" "${to}/${name}")
  execute_process(COMMAND dpkg-query -S "*/${name}" OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND owner MATCHES "^([^:,]+)")
    file(MAKE_DIRECTORY "${licences}")
    file(COPY_FILE "/usr/share/doc/${CMAKE_MATCH_1}/copyright" "${licences}/${CMAKE_MATCH_1}")
  endif()
endforeach()
