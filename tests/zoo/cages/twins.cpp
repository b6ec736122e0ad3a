// One id twice in one plugin.
#include "zoo.h"

ZOO_ENTRY {
  static gh_component_v1 twins[] = {zoo::component(ZOO_ID), zoo::component(ZOO_ID)};
  static gh_manifest_v1 m = zoo::manifest(twins, 2);
  *out = &m;
  return 0;
}
