#include "recipe/resolve.hpp"

#include "recipe/host_tables.hpp"
#include "recipe/placed_complaints.hpp"
#include "recipe/view_presets.hpp"

#include "gh/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace gh::host {
namespace {

using Presence = TableSpec::Presence;

class Resolver {
 public:
  Resolver(Catalog& catalog, Recipe& recipe, Diagnostics& out)
      : catalog_(catalog), recipe_(recipe), out_(out) {}

  void run(const Table& raw) {
    const Source start{recipe_.file.string(), 1, 1};
    recipe_.resolved = table(recipe_layout(), raw, start, "");
    check_rules(recipe_.resolved, out_);
    for (const Pending& pending : pending_) validate(pending);
  }

  Table table(const TableSpec& spec, const Table& written, const Source& source,
              const std::string& path) {
    const Table raw = spec.expand ? spec.expand(written) : written;
    const std::size_t errors_before = out_.error_count();
    Schema keys = spec.own_keys();
    std::vector<std::string> others;
    for (const TableSpec& child : spec.tables) others.push_back(child.name);
    const Guest guest = find_guest(spec, raw, path, keys);
    if (guest.schema)
      keys.insert(keys.end(), guest.schema->begin(), guest.schema->end());
    else if (takes_guest(spec))
      for (const Entry& e : raw.entries()) others.push_back(e.key);

    Table resolved = apply_schema(keys, raw, source, path, others, out_, guest.owner);
    if (spec.component) add_slot(spec, resolved, path, guest, out_.error_count() == errors_before);
    for (const TableSpec& child : spec.tables) add_child(child, raw, source, path, resolved);
    return resolved;
  }

 private:
  // A component whose table is in order, so that its own rules can be asked.
  struct Pending {
    std::size_t slot;
    Schema schema;
    void (*validate)(const void*, void*);
  };

  // Whose keys the table takes beside the host's.
  struct Guest {
    std::string owner;               // for messages
    const Schema* schema = nullptr;  // null: unknown, so no key can be called wrong
    void (*validate)(const void*, void*) = nullptr;
  };

  static bool takes_guest(const TableSpec& spec) {
    return spec.component || !spec.variants.empty();
  }

  Guest find_guest(const TableSpec& spec, const Table& raw, const std::string& path,
                   const Schema& own) {
    if (!takes_guest(spec)) return {path.empty() ? "the recipe" : "", nullptr, nullptr};
    const Value* written = raw.find("id");
    const std::string* id = written                        ? written->as<std::string>()
                            : spec.default_variant.empty() ? nullptr
                                                           : &spec.default_variant;
    if (!id) return {};
    return spec.component ? find_component(spec, *id, *written, path, own)
                          : find_variant(spec, *id);
  }

  static Guest find_variant(const TableSpec& spec, const std::string& id) {
    for (const Variant& variant : spec.variants)
      if (variant.id == id) return {fmt::format("{} '{}'", spec.name, id), &variant.keys, nullptr};
    return {};
  }

  Guest find_component(const TableSpec& spec, const std::string& id, const Value& written,
                       const std::string& path, const Schema& own) {
    const Catalog::Found found = catalog_.find(*spec.component, id);
    const std::string owner = fmt::format("{} '{}'", kind_name(*spec.component), id);
    const std::string key = join_path(path, "id");
    if (!found.schema) {
      out_.error(written.source, key,
                 found.problem.empty() ? "there is no " + owner : found.problem);
      return {};
    }
    for (const ParamSpec& param : *found.schema) {
      const auto taken = [&](const std::string& name) {
        return std::any_of(own.begin(), own.end(),
                           [&](const ParamSpec& s) { return s.name == name; }) ||
               spec.find(name);
      };
      if (!taken(param.name) && !taken(param.replaces)) continue;
      out_.error(written.source, key,
                 fmt::format("{} declares a parameter '{}', but that key is the host's in [{}]: "
                             "the plugin has to rename it",
                             owner, taken(param.name) ? param.name : param.replaces, spec.name));
      return {};
    }
    return {owner, found.schema, found.validate};
  }

  void add_slot(const TableSpec& spec, const Table& resolved, const std::string& path,
                const Guest& guest, bool in_order) {
    const Value* id = resolved.find("id");
    if (!id || !guest.schema) return;
    Slot slot{path, *spec.component, *id->as<std::string>(), {}};
    for (const Entry& e : resolved.entries()) {
      const bool theirs = std::any_of(guest.schema->begin(), guest.schema->end(),
                                      [&](const ParamSpec& s) { return s.name == e.key; });
      if (theirs) slot.params.set(e.key, e.value, e.source);
    }
    recipe_.slots.push_back(std::move(slot));
    if (in_order && guest.validate)
      pending_.push_back({recipe_.slots.size() - 1, *guest.schema, guest.validate});
  }

  void add_child(const TableSpec& spec, const Table& raw, const Source& source,
                 const std::string& parent, Table& resolved) {
    const Entry* entry = raw.entry(spec.name);
    const std::string path = join_path(parent, spec.name);
    if (spec.presence == Presence::list) {
      resolved.set(spec.name, list(spec, entry, path), entry ? entry->source : Source{});
      return;
    }
    if (!entry && (spec.presence == Presence::optional || spec.presence == Presence::spread))
      return;
    if (!entry && spec.presence == Presence::required) {
      out_.error(source, path, fmt::format("missing table: {}", spec.doc));
      return;
    }
    // A table that is wrong altogether stays as an empty one, so that nothing else calls it absent.
    Value value{Table{}, entry ? entry->value.source : Source{}};
    if (!entry) {
      value.data = table(spec, {}, source, path);
    } else if (const Table* given = entry->value.as<Table>()) {
      value.data = table(spec, *given, entry->value.source, path);
    } else if (!out_.has_error_at(entry->value.source)) {
      const std::string example =
          takes_guest(spec) ? fmt::format("; write {} = {{ id = … }}", spec.name) : "";
      out_.error(entry->value.source, path,
                 fmt::format("expected a table, got {}{}", kind_of(entry->value), example));
    }
    resolved.set(spec.name, std::move(value), entry ? entry->source : Source{});
  }

  Value list(const TableSpec& spec, const Entry* entry, const std::string& path) {
    Value value{Array{}, entry ? entry->value.source : Source{}};
    if (!entry) return value;
    const Array* given = entry->value.as<Array>();
    if (!given) {
      if (out_.has_error_at(entry->value.source)) return value;
      out_.error(entry->value.source, path,
                 fmt::format("expected a list of tables, got {}; write [[{}]]",
                             kind_of(entry->value), path));
      return value;
    }
    Array& elements = *value.as<Array>();
    for (const Value& element : *given) {
      const std::string here = join_path(path, std::to_string(elements.size()));
      const Table* fields = element.as<Table>();
      if (!fields)
        out_.error(element.source, here, fmt::format("expected a table, got {}", kind_of(element)));
      elements.push_back(
          {fields ? table(spec, *fields, element.source, here) : Table{}, element.source});
    }
    return value;
  }

  void validate(const Pending& pending) {
    const Slot& slot = recipe_.slots[pending.slot];
    PlacedComplaints complaints(recipe_, slot, out_);
    const auto failed = [&](std::string_view what) {
      complaints.add("", fmt::format("its validation failed: {}", what));
    };
    try {
      const std::unique_ptr<Params> params = make_params(pending.schema, slot.params);
      pending.validate(params.get(), static_cast<Complaints*>(&complaints));
    } catch (const std::exception& error) {
      failed(error.what());
    } catch (...) {
      failed("it threw something that is no std::exception");
    }
  }

  Catalog& catalog_;
  Recipe& recipe_;
  Diagnostics& out_;
  std::vector<Pending> pending_;
};

}  // namespace

std::optional<Table> resolve_view_preset(std::string_view name) {
  if (!view_preset(name)) return std::nullopt;
  class NoCatalog final : public Catalog {
    Found find(gh_kind, const std::string&) override { return {}; }
  } catalog;
  Recipe recipe;
  Diagnostics problems;
  Table views;
  views.set("preset", Value{std::string(name), {}});
  views = Resolver(catalog, recipe, problems).table(*find_layout("views"), views, {}, "views");
  require(!problems.has_errors(), ErrorCode::internal, problems.text());
  return views;
}

void resolve(const Table& raw, Catalog& catalog, Recipe& recipe, Diagnostics& out) {
  Resolver(catalog, recipe, out).run(raw);
}

}  // namespace gh::host
