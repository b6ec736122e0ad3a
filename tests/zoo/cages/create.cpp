// Loads well, creates badly; ZOO_CASE picks how.
#include "zoo.h"

#include <stdexcept>

static void* create(const void*) {
  switch (ZOO_CASE) {
    case 0:
      throw std::runtime_error("refuses to be born");
    case 1:
      throw 1;
    case 2:
      return nullptr;
    default:
      *reinterpret_cast<volatile int*>(16) = 1;
      return nullptr;
  }
}

ZOO_PLUGIN(c.create = create)
