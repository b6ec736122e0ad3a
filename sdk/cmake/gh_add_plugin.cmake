# gh_add_plugin(<name> VERSION <x.y.z> PROVIDES <kind/id>… SOURCES <file>… [PARTS <file>…] [LIBRARIES <target>…]
#               [RECIPE <file>] [TEST <file>…])
#
# Builds <name>.so as ghhost expects it: hidden symbols with only the entry exported, never unloaded, no path to LibTorch of its
# own, and an ELF note with name, version, components and build fingerprint that the host reads before it loads anything.
# `kind` is ssl, structure, allocator, dataset, backbone or evaluator; `id` is what a recipe writes. Where ghhost is at hand, a
# test <name>.conformance runs `ghhost plugins check` on the result.
#
# A plugin exports nothing but its entry. Sources beneath it that a test or a benchmark calls are PARTS: they become the object
# library <name>_parts, which the plugin links, and which a program can link, too.
#
# RECIPE: components are tried with the parameters that it gives them; a data set that must be told where its files are needs one.
# TEST: sources of a program that links ghsdk::testing and gets the library's path; the test <name>.test runs it.
include_guard(GLOBAL)

set(GH_SDK_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(gh_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "VERSION;RECIPE" "PROVIDES;SOURCES;PARTS;LIBRARIES;TEST")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_VERSION OR NOT arg_PROVIDES OR NOT arg_SOURCES)
    message(FATAL_ERROR "gh_add_plugin(<name> VERSION <x.y.z> PROVIDES <kind/id>… SOURCES <file>… [PARTS <file>…] [LIBRARIES <target>…] [RECIPE <file>] [TEST <file>…])")
  endif()
  foreach(component ${arg_PROVIDES})
    if(NOT component MATCHES "^(ssl|structure|allocator|dataset|backbone|evaluator)/[a-z][a-z0-9_.-]*$")
      message(FATAL_ERROR "gh_add_plugin(${name}): PROVIDES ${component} is not kind/id")
    endif()
  endforeach()

  add_library(${name} MODULE ${arg_SOURCES} "${GH_SDK_CMAKE_DIR}/plugin_note.cpp")
  set(compiled ${name})
  if(arg_PARTS)
    add_library(${name}_parts OBJECT ${arg_PARTS})
    target_include_directories(${name}_parts INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(${name}_parts PUBLIC ghsdk::ghsdk ${arg_LIBRARIES})
    target_link_libraries(${name} PRIVATE ${name}_parts)
    list(APPEND compiled ${name}_parts)
  endif()
  target_link_libraries(${name} PRIVATE ghsdk::ghsdk ${arg_LIBRARIES})
  string(REPLACE ";" "," provides "${arg_PROVIDES}")
  target_compile_definitions(${name} PRIVATE
    GH_PLUGIN_NAME="${name}" GH_PLUGIN_VERSION="${arg_VERSION}" GH_PLUGIN_PROVIDES="${provides}")
  foreach(target ${compiled})
    target_compile_options(${target} PRIVATE -Wall -Wextra)
  endforeach()
  set_target_properties(${compiled} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so"
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH ""
    LINK_DEPENDS "${GH_SDK_CMAKE_DIR}/plugin_exports.map")
  target_link_options(${name} PRIVATE
    "-Wl,--version-script=${GH_SDK_CMAKE_DIR}/plugin_exports.map"
    -Wl,-z,defs -Wl,-z,nodelete -Wl,--exclude-libs,ALL -Wl,--build-id=sha1 -Wl,--as-needed)
  if(GH_PLUGIN_OUTPUT_DIR)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${GH_PLUGIN_OUTPUT_DIR}")
  endif()
  if(GH_PLUGIN_INSTALL_DIR)
    install(TARGETS ${name} LIBRARY DESTINATION "${GH_PLUGIN_INSTALL_DIR}")
  endif()
  if(TARGET ghsdk::ghhost AND BUILD_TESTING)
    if(arg_RECIPE)
      cmake_path(ABSOLUTE_PATH arg_RECIPE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
      set(arg_RECIPE --recipe "${arg_RECIPE}")
    endif()
    add_test(NAME ${name}.conformance COMMAND ghsdk::ghhost plugins check "$<TARGET_FILE:${name}>" ${arg_RECIPE})
    set_tests_properties(${name}.conformance PROPERTIES LABELS conformance)
  endif()
  if(arg_TEST AND BUILD_TESTING)
    add_executable(${name}_test ${arg_TEST})
    set_target_properties(${name}_test PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_link_libraries(${name}_test PRIVATE ghsdk::testing ${arg_LIBRARIES})
    add_dependencies(${name}_test ${name})
    add_test(NAME ${name}.test COMMAND ${name}_test "$<TARGET_FILE:${name}>")
  endif()
endfunction()
