#include "train/components.hpp"

namespace gh::host {
namespace {

template <class Interface>
Made<Interface> make(const Slot& slot, Registry& registry) {
  const ComponentInfo& info = registry.info(slot.kind, slot.id);
  Made<Interface> made;
  made.path = slot.path;
  made.name = std::string(kind_name(slot.kind)) + "/" + slot.id;
  made.sees_labels = (info.flags & GH_SEES_LABELS) != 0;
  made.params = make_params(info.schema, slot.params);
  made.component = registry.create<Interface>(slot.id, *made.params);
  return made;
}

}  // namespace

Made<Dataset> make_dataset(const Recipe& recipe, Registry& registry) {
  return make<Dataset>(recipe.slot("data"), registry);
}

Components make_components(const Recipe& recipe, Registry& registry) {
  Components out;
  out.dataset = make_dataset(recipe, registry);
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

RecipeComplaints::RecipeComplaints(const Recipe& recipe, std::string path, Diagnostics& out)
    : recipe_(recipe), path_(std::move(path)), out_(out) {}

void RecipeComplaints::add(std::string_view key, std::string_view message) {
  const std::string full =
      key.starts_with('.') ? std::string(key.substr(1)) : path_ + "." + std::string(key);
  const Value* value = recipe_.find(full);
  out_.error(value ? value->source : Source{.file = recipe_.file.string(), .line = 0, .column = 0},
             full, std::string(message));
}

RecipeRefused::RecipeRefused(Diagnostics diagnostics)
    : std::runtime_error("the recipe cannot be run"), diagnostics_(std::move(diagnostics)) {}

}  // namespace gh::host
