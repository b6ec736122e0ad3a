# Finds LibTorch and defines the target ghsdk::torch.
#
# Torch's own CMake package refuses to configure a CUDA build where no CUDA toolkit is installed, so headers and libraries are
# found here directly. Order: GH_TORCH_DIR or Torch_DIR, CMAKE_PREFIX_PATH, a torch that python3 can import.
include_guard(GLOBAL)

function(_gh_torch_from_python python out)
  execute_process(
    COMMAND ${python} -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND found AND EXISTS "${found}/include/ATen/ATen.h")
    set(${out} "${found}" PARENT_SCOPE)
  endif()
endfunction()

function(_gh_find_torch out)
  set(hints ${GH_TORCH_DIR} $ENV{GH_TORCH_DIR})
  foreach(dir ${Torch_DIR} $ENV{Torch_DIR})
    list(APPEND hints "${dir}" "${dir}/../../..") # …/share/cmake/Torch
  endforeach()
  string(REPLACE ":" ";" env_prefixes "$ENV{CMAKE_PREFIX_PATH}")
  foreach(prefix ${CMAKE_PREFIX_PATH} ${env_prefixes})
    list(APPEND hints "${prefix}" "${prefix}/libtorch")
  endforeach()
  foreach(hint ${hints})
    if(EXISTS "${hint}/include/ATen/ATen.h")
      get_filename_component(hint "${hint}" REALPATH)
      set(${out} "${hint}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  find_program(GH_PYTHON3 python3)
  if(GH_PYTHON3)
    _gh_torch_from_python(${GH_PYTHON3} found)
    set(${out} "${found}" PARENT_SCOPE)
  endif()
endfunction()

_gh_find_torch(GH_TORCH_ROOT)
if(NOT GH_TORCH_ROOT)
  message(FATAL_ERROR
    "LibTorch was not found. Give its directory (the one with include/ATen and lib/libtorch.so) as -DGH_TORCH_DIR=…, put it on "
    "CMAKE_PREFIX_PATH, or make `python3 -c 'import torch'` work. In the ghhost repository, `make build` sets it up.")
endif()

# Remembered, so that a later configure without the environment finds the same one.
set(GH_TORCH_DIR "${GH_TORCH_ROOT}" CACHE PATH "LibTorch: the directory with include/ATen and lib/libtorch.so")

file(STRINGS "${GH_TORCH_ROOT}/include/torch/headeronly/version.h" _gh_version REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" _gh_version "${_gh_version}")
string(REPLACE ";" "." GH_TORCH_VERSION "${_gh_version}")

set(GH_TORCH_DEVICE cpu)
if(EXISTS "${GH_TORCH_ROOT}/lib/libtorch_cuda.so")
  set(GH_TORCH_DEVICE cuda)
  if(EXISTS "${GH_TORCH_ROOT}/version.py")
    file(STRINGS "${GH_TORCH_ROOT}/version.py" _gh_cuda REGEX "^cuda.*'[0-9]+")
    if(_gh_cuda MATCHES "'([0-9]+)")
      set(GH_TORCH_DEVICE cuda${CMAKE_MATCH_1})
    endif()
  endif()
endif()

# Wheels before 2.7 were built with the old std::string; their config says so.
set(GH_TORCH_CXX11_ABI 1)
if(EXISTS "${GH_TORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake")
  file(STRINGS "${GH_TORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake" _gh_abi REGEX "_GLIBCXX_USE_CXX11_ABI=0")
  if(_gh_abi)
    set(GH_TORCH_CXX11_ABI 0)
  endif()
endif()

add_library(ghsdk::torch INTERFACE IMPORTED GLOBAL)
set_target_properties(ghsdk::torch PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${GH_TORCH_ROOT}/include;${GH_TORCH_ROOT}/include/torch/csrc/api/include"
  INTERFACE_COMPILE_DEFINITIONS
    "_GLIBCXX_USE_CXX11_ABI=${GH_TORCH_CXX11_ABI};AT_PER_OPERATOR_HEADERS;GH_TORCH_DEVICE=\"${GH_TORCH_DEVICE}\"")
set(_gh_libraries "${GH_TORCH_ROOT}/lib/libtorch.so" "${GH_TORCH_ROOT}/lib/libtorch_cpu.so" "${GH_TORCH_ROOT}/lib/libc10.so")
if(NOT GH_TORCH_DEVICE STREQUAL cpu)
  # Nothing references the CUDA libraries by symbol; without --no-as-needed the linker drops them and CUDA is silently absent.
  list(APPEND _gh_libraries "-Wl,--no-as-needed" "${GH_TORCH_ROOT}/lib/libtorch_cuda.so" "${GH_TORCH_ROOT}/lib/libc10_cuda.so"
    "-Wl,--as-needed")
endif()
set_property(TARGET ghsdk::torch PROPERTY INTERFACE_LINK_LIBRARIES "${_gh_libraries}")
message(STATUS "LibTorch ${GH_TORCH_VERSION} (${GH_TORCH_DEVICE}): ${GH_TORCH_ROOT}")
