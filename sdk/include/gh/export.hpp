// Visibility of what lives in libghsdk.so. Every polymorphic SDK type has its vtable and typeinfo
// there, so that casts and typed catches work across plugins that were built with hidden
// visibility.
#pragma once

#include "gh/plugin.h"  // GH_SDK_MINOR

#define GH_API __attribute__((visibility("default")))
