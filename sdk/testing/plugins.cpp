#include "gh/testing/plugins.hpp"

#include "plugins/registry.hpp"
#include "recipe/schema.hpp"
#include "recipe/toml.hpp"

namespace gh::testing {

struct Plugins::Impl {
  explicit Impl(const std::string& place)
      : registry(host::SearchPath{
            {{std::filesystem::absolute(place), std::string(host::SearchPath::kArgument)}}, {}}) {}
  host::Registry registry;
};

Plugins::Plugins(const std::string& place) : impl_(std::make_unique<Impl>(place)) {}
Plugins::~Plugins() = default;

Plugins::Made Plugins::make(gh_kind kind, const std::string& id, const std::string& toml) {
  const auto found = impl_->registry.find(kind, id);
  require(found.schema != nullptr, ErrorCode::invalid_param, found.problem);
  host::Diagnostics problems;
  const auto table = host::parse_toml(toml, "test", problems);
  host::Table resolved;
  if (table) resolved = host::apply_schema(*found.schema, *table, {}, id, {}, problems);
  require(!problems.has_errors(), ErrorCode::invalid_param, problems.text());
  Made made{host::make_params(*found.schema, resolved), nullptr, nullptr};
  const host::ComponentInfo& info = impl_->registry.info(kind, id);
  made.component = info.create(made.params.get());
  made.destroy = info.destroy;
  return made;
}

}  // namespace gh::testing
