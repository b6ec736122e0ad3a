// What a binary was built with, as "key=value" lines: the text of a plugin's ELF note and of the
// host's own record. Host and plugin exchange C++ types, so these must agree; the host compares
// them before it runs a plugin's first instruction. Included by one source of each plugin and one
// of libghsdk, never by plugin authors.
#pragma once

#include "gh/plugin.h"

#include <torch/version.h>

#include <string>  // defines the standard library's macros

#define GH_TEXT_(x) #x
#define GH_TEXT(x) GH_TEXT_(x)

#if defined(__clang__)
#define GH_FP_COMPILER "clang"
#define GH_FP_COMPILER_VERSION GH_TEXT(__clang_major__) "." GH_TEXT(__clang_minor__)
#else
#define GH_FP_COMPILER "gcc"
#define GH_FP_COMPILER_VERSION GH_TEXT(__GNUC__) "." GH_TEXT(__GNUC_MINOR__)
#endif

#if defined(_LIBCPP_VERSION)
#define GH_FP_STDLIB "libc++"
#define GH_FP_STRING_ABI "1"
#else
#define GH_FP_STDLIB "libstdc++"
#define GH_FP_STRING_ABI GH_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif

#if defined(_GLIBCXX_DEBUG)
#define GH_FP_DEBUG "1"
#else
#define GH_FP_DEBUG "0"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define GH_FP_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define GH_FP_SANITIZER "thread"
#else
#define GH_FP_SANITIZER "none"
#endif

#if defined(__x86_64__)
#define GH_FP_ARCH "x86_64"
#elif defined(__aarch64__)
#define GH_FP_ARCH "aarch64"
#else
#error "ghsdk knows x86_64 and aarch64"
#endif

// The processor the code needs, not the one it was built on.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define GH_FP_LEVEL "4"
#elif defined(__AVX2__) && defined(__FMA__)
#define GH_FP_LEVEL "3"
#elif defined(__SSE4_2__)
#define GH_FP_LEVEL "2"
#else
#define GH_FP_LEVEL "1"
#endif

// A line for each key.
// clang-format off
#define GH_FINGERPRINT                                         \
  "sdk=" GH_TEXT(GH_SDK_MAJOR) "." GH_TEXT(GH_SDK_MINOR) "\n"  \
  "torch=" TORCH_VERSION "\n"                                  \
  "device=" GH_TORCH_DEVICE "\n"                               \
  "arch=" GH_FP_ARCH "\n"                                      \
  "compiler=" GH_FP_COMPILER "\n"                              \
  "cxx_abi=" GH_TEXT(__GXX_ABI_VERSION) "\n"                   \
  "stdlib=" GH_FP_STDLIB "\n"                                  \
  "string_abi=" GH_FP_STRING_ABI "\n"                          \
  "stdlib_debug=" GH_FP_DEBUG "\n"                             \
  "sanitizer=" GH_FP_SANITIZER "\n"                            \
  "cpu_level=" GH_FP_LEVEL "\n"                                \
  "compiler_version=" GH_FP_COMPILER_VERSION "\n"
// clang-format on
