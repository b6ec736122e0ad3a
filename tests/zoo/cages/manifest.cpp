// Manifests that break one rule each; ZOO_CASE picks it.
#include "zoo.h"

#define CASE(x) (ZOO_CASE == x)
enum {
  wrong_magic,
  short_manifest,
  long_manifest,
  odd_stride,
  other_sdk,
  other_name,
  other_provides,
  other_fingerprint,
  no_components,
  unknown_kind,
  no_create,
  no_id,
  spaced_id,
  other_interface,
  no_doc,
  garbled_doc,
  garbled_paper,
  wild_components,
};

ZOO_PLUGIN({
  if (CASE(wrong_magic)) m.magic ^= 1;
  if (CASE(short_manifest)) m.size -= 8;
  if (CASE(long_manifest)) m.size += 8;
  if (CASE(odd_stride)) m.component_size = 4;
  if (CASE(other_sdk)) m.sdk_minor = 9;
  if (CASE(other_name)) m.name = "somebody_else";
  if (CASE(other_provides)) c.id = "something_else";
  if (CASE(other_fingerprint)) m.fingerprint = "torch=0.1\n";
  if (CASE(no_components)) m.component_count = 0;
  if (CASE(unknown_kind)) c.kind = 77;
  if (CASE(no_create)) c.create = nullptr;
  if (CASE(no_id)) c.id = nullptr;
  if (CASE(spaced_id)) c.id = "two words";
  if (CASE(other_interface)) c.interface_id = "gh.structure.v2";
  if (CASE(no_doc)) m.doc = nullptr;
  if (CASE(garbled_doc)) c.doc = "\xff\xfe";
  if (CASE(garbled_paper)) c.paper = "\xff\xfe";
  if (CASE(wild_components)) m.components = reinterpret_cast<const gh_component_v1*>(64);
})
