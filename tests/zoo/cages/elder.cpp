// Two components as SDK 1.0 knew them: shorter, and one right behind the other.
#include "zoo.h"

#include <cstddef>
#include <cstring>

ZOO_ENTRY {
  constexpr std::size_t size = offsetof(gh_component_v1, paper);
  alignas(gh_component_v1) static unsigned char both[2 * size];
  const gh_component_v1 first = zoo::component(ZOO_ID), second = zoo::component(ZOO_ID "_too");
  std::memcpy(both, &first, size);
  std::memcpy(both + size, &second, size);
  static gh_manifest_v1 m = zoo::manifest(reinterpret_cast<const gh_component_v1*>(both), 2);
  m.component_size = size;
  *out = &m;
  return 0;
}
