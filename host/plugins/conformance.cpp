#include "plugins/conformance.hpp"

#include "plugins/conformance_checks.hpp"
#include "recipe/schema.hpp"

#include <ATen/ops/isfinite.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

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

void check_with_defaults(Registry& registry, const ComponentInfo& c, Findings& out) {
  out.part("create");
  if (const auto required = required_params(c.schema); !required.empty())
    return out.remark(fmt::format("not constructed: it needs {}", fmt::join(required, ", ")));
  Diagnostics diagnostics;
  const Table defaults = apply_schema(c.schema, Table{}, Source{}, c.id, {}, diagnostics);
  if (diagnostics.has_errors())
    return out.violation("its defaults are refused: " + diagnostics.text());
  const auto params = make_params(c.schema, defaults);
  if (c.validate != nullptr) {
    ComplaintList complaints;
    c.validate(params.get(), &complaints);
    if (!complaints.empty())
      return out.remark("not constructed: its own rules refuse the defaults: " + complaints.text());
  }
  check_component(registry, c, *params, out);
}

}  // namespace

void Findings::begin(std::string component) {
  component_ = std::move(component);
  part("");
}
void Findings::part(std::string part) {
  part_ = std::move(part);
  if (options_.doing) options_.doing(prefix());
}
std::string Findings::prefix() const {
  return part_.empty() ? component_ : component_ + ": " + part_;
}
void Findings::violation(std::string_view text) {
  std::string line = fmt::format("{}: {}", prefix(), text);
  if (seen_.insert(line).second) violations_.push_back(std::move(line));
}
void Findings::remark(std::string_view text) {
  std::string line = fmt::format("{}: {}", prefix(), text);
  if (options_.remarks != nullptr && seen_.insert(line).second)
    options_.remarks->push_back(std::move(line));
}
bool Findings::expect(bool condition, std::string_view otherwise) {
  if (!condition) violation(otherwise);
  return condition;
}

void ComplaintList::add(std::string_view key, std::string_view message) {
  text_ += fmt::format("{}{}: {}", text_.empty() ? "" : "; ", key, message);
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()),
                     fmt::join(tensor.sizes(), ", "));
}

bool all_finite(const at::Tensor& tensor) { return at::isfinite(tensor).all().item<bool>(); }

bool identical(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor x = a.detach().cpu().contiguous(), y = b.detach().cpu().contiguous();
  return std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

void check_evaluator(const Make<Evaluator>& make, Findings& out) {
  const auto evaluator = make();
  out.part("check");
  ComplaintList complaints;
  EvalFacts facts;
  facts.splits = {"train", "test"};
  facts.class_targets = true;
  for (const auto& [name, of_each] : {std::pair{"train", 100}, std::pair{"test", 20}}) {
    facts.split_facts.push_back({name, 10 * of_each, TargetKind::classes, 10});
    facts.class_counts.emplace_back(10, of_each);
  }
  facts.sample_shape = {3, 32, 32};
  facts.feature_width = 64;
  facts.embedding_width = 32;
  evaluator->check(facts, complaints);
  if (!complaints.empty()) out.remark("refuses labelled images: " + complaints.text());
}

std::vector<std::string> check_conformance(Registry& registry, const LoadedPlugin& plugin,
                                           const ConformanceOptions& options) {
  Findings out(options);
  for (const ComponentInfo& c : plugin.components) {
    out.begin(fmt::format("{}/{}", kind_name(c.kind), c.id));
    try {
      check_with_defaults(registry, c, out);
    } catch (const Error& e) {
      out.violation(fmt::format("threw {}: {}", name_of(e.code()), e.what()));
    } catch (const c10::Error& e) {
      out.violation(fmt::format("threw c10::Error: {}", e.what_without_backtrace()));
    } catch (const std::exception& e) {
      out.violation(fmt::format("threw {}", e.what()));
    } catch (...) {
      out.violation("threw something that is no exception");
    }
  }
  return out.violations();
}

}  // namespace gh::host
