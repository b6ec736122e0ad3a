#include "plan/components.hpp"

namespace gh::host {
namespace {

template <class Interface>
Made<Interface> make(const Slot& slot, Registry& registry) {
  const ComponentInfo& info = registry.info(slot.kind, slot.id);
  Made<Interface> made;
  made.slot = slot;
  made.name = std::string(kind_name(slot.kind)) + "/" + slot.id;
  made.flags = info.flags;
  made.sdk_minor = info.sdk_minor;
  made.sees_labels = (info.flags & GH_SEES_LABELS) != 0;
  made.params = make_params(info.schema, slot.params);
  made.component = registry.create<Interface>(slot.id, *made.params);
  made.another = [&registry, id = slot.id, params = made.params.get()] {
    return registry.create<Interface>(id, *params);
  };
  return made;
}

}  // namespace

Made<Dataset> make_dataset(const Recipe& recipe, Registry& registry) {
  return make<Dataset>(recipe.slot("data"), registry);
}

Components make_components(const Recipe& recipe, Registry& registry, Making making) {
  Components out;
  if (making == Making::everything) out.dataset = make_dataset(recipe, registry);
  out.backbone = make<Backbone>(recipe.slot("backbone"), registry);
  out.method = make<SslMethod>(recipe.slot("method"), registry);
  if (const Slot* slot = recipe.find_slot("harmonize.structure"))
    out.structure = make<Structure>(*slot, registry);
  if (const Slot* slot = recipe.find_slot("harmonize.allocator"))
    out.allocator = make<Allocator>(*slot, registry);
  for (const Slot* slot : recipe.evals())
    out.evaluators.push_back(make<Evaluator>(*slot, registry));
  return out;
}

}  // namespace gh::host
