// A walk over what schemas say of a resolved recipe.
#include "recipe/host_tables.hpp"
#include "recipe/recipe.hpp"

#include <algorithm>

namespace gh::host {
namespace {

using Presence = TableSpec::Presence;

class Walk {
 public:
  Walk(Catalog& catalog, const DeclaredVisitor& visit) : catalog_(catalog), visit_(visit) {}

  // `there`: the table was written, and is not one that the host put in.
  void table(const TableSpec& spec, const Table& resolved, const std::string& path, bool there) {
    for (const ParamSpec& param : keys_of(spec, resolved))
      if (const Value* value = resolved.find(param.name)) visit_({path, there, param, *value});
    for (const TableSpec& child : spec.tables) {
      const Value* value = resolved.find(child.name);
      if (!value) continue;
      const std::string below = join_path(path, child.name);
      if (const Table* one = value->as<Table>()) table(child, *one, below, value->source.line > 0);
      if (const Array* list = value->as<Array>())
        for (std::size_t i = 0; i < list->size(); ++i)
          table(child, *(*list)[i].as<Table>(), join_path(below, std::to_string(i)), true);
    }
  }

 private:
  Schema keys_of(const TableSpec& spec, const Table& resolved) {
    Schema keys = spec.keys;
    const Value* written = resolved.find("id");
    const std::string* id = written ? written->as<std::string>() : nullptr;
    if (!id) return keys;
    const Schema* theirs = nullptr;
    if (spec.component) theirs = catalog_.find(*spec.component, *id).schema;
    for (const Variant& variant : spec.variants)
      if (variant.id == *id) theirs = &variant.keys;
    if (theirs) keys.insert(keys.end(), theirs->begin(), theirs->end());
    return keys;
  }

  Catalog& catalog_;
  const DeclaredVisitor& visit_;
};

}  // namespace

void for_each_declared(const Recipe& recipe, Catalog& catalog, const DeclaredVisitor& visit) {
  Walk(catalog, visit).table(recipe_layout(), recipe.resolved, "", true);
}

}  // namespace gh::host
