#include "plugins/conformance.hpp"

#include "plugins/conformance_checks.hpp"
#include "recipe/recipe.hpp"
#include "recipe/schema.hpp"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace gh::host {
namespace {

// Parameters a recipe would have to give before the component can be made.
std::vector<std::string> required_params(const Schema& schema) {
  std::vector<std::string> names;
  for (const ParamSpec& p : schema)
    if (p.required()) names.push_back(p.name);
  return names;
}

template <class Interface>
Make<Interface> maker(Registry& registry, const std::string& id, const Params& params) {
  return [&registry, &id, &params] { return registry.create<Interface>(id, params); };
}

void check_component(Registry& registry, const ComponentInfo& c, const Params& params,
                     Findings& out) {
  switch (c.kind) {
    case GH_KIND_SSL:
      return check_ssl(maker<SslMethod>(registry, c.id, params), c.flags, out);
    case GH_KIND_STRUCTURE:
      return check_structure(maker<Structure>(registry, c.id, params), out);
    case GH_KIND_ALLOCATOR:
      return check_allocator(maker<Allocator>(registry, c.id, params), c.flags, out);
    case GH_KIND_DATASET:
      return check_dataset(maker<Dataset>(registry, c.id, params), out);
    case GH_KIND_BACKBONE:
      return check_backbone(maker<Backbone>(registry, c.id, params), out);
    case GH_KIND_EVALUATOR:
      return check_evaluator(maker<Evaluator>(registry, c.id, params), out);
  }
}

// Of the recipe where that names the component, else the defaults. Nothing after saying why not.
std::optional<Table> params_of(const ComponentInfo& c, Findings& out) {
  if (out.recipe() != nullptr)
    for (const Slot& slot : out.recipe()->slots)
      if (slot.kind == c.kind && slot.id == c.id) return slot.params;
  if (const auto required = required_params(c.schema); !required.empty()) {
    out.remark(fmt::format("NOT TRIED: it needs {}; give a recipe that has them (--recipe)",
                           fmt::join(required, ", ")));
    return std::nullopt;
  }
  Diagnostics diagnostics;
  Table defaults = apply_schema(c.schema, Table{}, Source{}, c.id, {}, diagnostics);
  if (!diagnostics.has_errors()) return defaults;
  out.violation("its defaults are refused: " + diagnostics.text());
  return std::nullopt;
}

// Says why not where its own rules have something against the parameters.
void check_with(Registry& registry, const ComponentInfo& c, const Table& table, Findings& out) {
  out.part("create");
  const auto params = make_params(c.schema, table);
  if (c.validate != nullptr) {
    ComplaintList complaints(out);
    c.validate(params.get(), &complaints);
    if (!complaints.empty())
      return out.remark("NOT TRIED: its own rules refuse the parameters: " + complaints.text());
  }
  check_component(registry, c, *params, out);
}

// The other values of a switch or a choice, as a recipe has them.
std::vector<Value> other_values(const ParamSpec& spec, const Value& now) {
  std::vector<Value> out;
  if (const bool* on = now.as<bool>()) out.push_back({!*on, {}});
  if (const auto* text = now.as<std::string>())
    for (const std::string& choice : spec.choices)
      if (choice != *text) out.push_back({choice, {}});
  return out;
}

// Each switch and each choice the other way, one at a time: what is rarely chosen is rarely tried.
void check_choices(Registry& registry, const ComponentInfo& c, const Table& table, Findings& out) {
  for (const ParamSpec& spec : c.schema) {
    const Value* const now = table.find(spec.name);
    if (now == nullptr) continue;
    for (Value& other : other_values(spec, *now)) {
      const auto* text = other.as<std::string>();
      out.vary(fmt::format("{} = {}", spec.name,
                           text ? *text : std::string(*other.as<bool>() ? "true" : "false")));
      Table changed = table;
      changed.set(spec.name, std::move(other));
      out.attempt("create", [&] { check_with(registry, c, changed, out); });
    }
  }
}

void check_made(Registry& registry, const ComponentInfo& c, Findings& out) {
  out.part("create");
  const std::size_t before = out.violations().size();
  const auto table = params_of(c, out);
  if (!table) return;
  check_with(registry, c, *table, out);
  // Data sets are opened once only: that may take long.
  if (c.kind != GH_KIND_DATASET && out.violations().size() == before)
    check_choices(registry, c, *table, out);
}

// What is said of several steps, stages, widths or splits is one mistake: numbers do not count.
std::string essence_of(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c < '0' || c > '9') out += c;
  return out;
}

}  // namespace

void Findings::begin(std::string component, const Schema& schema) {
  component_ = std::move(component);
  schema_ = &schema;
  tried_.clear();
  varied_.clear();
  if (!draws_) draws_.emplace();
  process_.emplace();
  part("");
}
void Findings::part(std::string part) {
  look_at_draws();
  part_ = std::move(part);
  if (options_.doing) options_.doing(prefix());
}
void Findings::vary(std::string how) {
  part("");
  varied_ = std::move(how);
  tried_ += fmt::format("{}{}", tried_.find("; with ") == tried_.npos ? "; with " : ", ", varied_);
}
void Findings::end() {
  look_at_modes();
  part("");
  for (const std::string& what : process_->left_behind())
    violation(fmt::format("expected nothing of it to be left, found {}", what),
              "a thread that is not joined, a file that is not closed");
  if (options_.tried != nullptr && !tried_.empty())
    options_.tried->push_back(fmt::format("{}: {}", component_, tried_));
}
void Findings::look_at_draws() {
  if (!draws_) return;
  for (const std::string& name : draws_->since_last())
    violation(fmt::format("expected draws from the gh::Random it is handed, found {} drawing from "
                          "the process's global generator",
                          name),
              "no generator was passed to it; use Random::fill_normal(), fill_uniform(), "
              "permutation()");
}
void Findings::look_at_modes() {
  if (!process_) return;
  for (const std::string& what : process_->changed())
    violation("expected the process to stay as it was, found that " + what,
              "a mode that is the whole process's is set and not set back; a guard does both");
}
std::string Findings::prefix() const {
  if (component_.empty()) return part_;
  std::string out = component_;
  if (varied()) out += fmt::format(" with {}", varied_);
  return part_.empty() ? out : out + ": " + part_;
}
void Findings::violation(std::string_view text, std::string_view likely) {
  if (!seen_.insert(essence_of(fmt::format("{}|{}", component_, text))).second) return;
  std::string line = fmt::format("{}: {}", prefix(), text);
  if (!likely.empty()) line += fmt::format(". Likely: {}", likely);
  violations_.push_back(std::move(line));
}
void Findings::remark(std::string_view text) {
  if (varied()) return;
  std::string line = fmt::format("{}: {}", prefix(), text);
  if (options_.remarks != nullptr && seen_.insert(line).second)
    options_.remarks->push_back(std::move(line));
}
void Findings::tried(std::string_view what) {
  if (varied()) return;
  tried_ += fmt::format("{}{}", tried_.empty() ? "" : "; ", what);
}
bool Findings::expect(bool condition, std::string_view otherwise, std::string_view likely) {
  if (!condition) violation(otherwise, likely);
  return condition;
}
bool Findings::attempt(std::string name, const std::function<void()>& work,
                       std::string_view likely) {
  const std::size_t before = violations_.size();
  const bool guarded = !at::GradMode::is_enabled();  // by a check within which this one is
  try {
    part(std::move(name));
    work();
    part(part_);
  } catch (...) {
    violation("threw " + thrown_now(), likely);
  }
  if (!guarded) look_at_modes();
  return violations_.size() == before;
}

std::string thrown_now() {
  try {
    throw;
  } catch (const Error& e) {
    return fmt::format("{}: {}", name_of(e.code()), e.what());
  } catch (const c10::Error& e) {
    return fmt::format("c10::Error: {}", e.what_without_backtrace());
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something that is no exception";
  }
}

void ComplaintList::add(std::string_view key, std::string_view message) {
  const std::string_view own = key.substr(0, key.find('.'));
  if (!own.empty() && own != "id")
    out_.expect(std::ranges::any_of(out_.schema(), [&](const auto& p) { return p.name == own; }),
                fmt::format("complains about \"{}\", which is none of its parameters", key),
                "the key is misspelt, or is another table's: \".train.batch\" begins with a dot");
  text_ += fmt::format("{}{}: {}", text_.empty() ? "" : "; ", key, message);
}

std::vector<std::string> check_conformance(Registry& registry, const LoadedPlugin& plugin,
                                           const ConformanceOptions& options) {
  Findings out(options);
  for (const ComponentInfo& c : plugin.components) {
    const std::string name = fmt::format("{}/{}", kind_name(c.kind), c.id);
    if (options.without.contains(name)) continue;
    out.begin(name, c.schema);
    try {
      check_made(registry, c, out);
    } catch (...) {
      out.violation("threw " + thrown_now());
    }
    out.end();
  }
  return out.violations();
}

}  // namespace gh::host
