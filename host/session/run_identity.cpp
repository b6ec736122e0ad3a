#include "session/run_identity.hpp"

#include "recipe/difference.hpp"
#include "recipe/recipe_text.hpp"
#include "recipe/toml.hpp"
#include "session/same_run.hpp"
#include "text/json.hpp"

#include "gh/error.hpp"

#include <fstream>

namespace gh::host {
namespace {

constexpr const char* kRecipe = "recipe";
constexpr const char* kData = "data";

// Of the recipe's keys, without those that say how and not what: the choice of samples is known by
// its fingerprint, however it was made, runs differ only in rounding, if at all, by threads, and a
// file that broke on the way may be passed over from then on.
Table part_that_identifies(const Table& resolved) {
  Table out = numeric_part(resolved);
  const auto without = [&](const char* table, const char* key) {
    if (Value* value = out.find(table))
      if (Table* inner = value->as<Table>()) inner->erase(key);
  };
  without("data", "longtail");
  without("train", "threads");
  without("loader", "on_error");
  return out;
}

std::string fingerprints(const std::string& whole, const std::string& chosen) {
  return nlohmann::ordered_json{{"fingerprint", whole}, {"chosen_fingerprint", chosen}}.dump();
}

// Keys that this version knows and the one that wrote it did not have their defaults.
Table recipe_in(const Checkpoint& checkpoint, const std::string& text, Registry& registry) {
  Diagnostics problems;
  const Recipe recipe =
      load_recipe_text(text, checkpoint.file.string() + " (recipe)", registry, problems);
  require(!problems.has_errors(), ErrorCode::invalid_param, "the recipe in ",
          checkpoint.file.string(), " does not fit these plugins:\n", problems.text());
  return part_that_identifies(recipe.resolved);
}

}  // namespace

std::map<std::string, std::string> RunIdentity::metadata() const {
  return {{kRecipe, to_toml(part_that_identifies(recipe))}, {kData, data}};
}

RunIdentity identity_of(const Recipe& recipe, const SampleSet& train) {
  const std::string chosen = train.chosen().defined() ? train.chosen_fingerprint() : "";
  return {recipe.resolved, fingerprints(train.fingerprint(), chosen)};
}

RunIdentity recorded_identity(const std::filesystem::path& run, Registry& registry) {
  RunIdentity out{recorded_recipe(run, registry).resolved, ""};
  std::ifstream in(run / "data.json");
  const auto data = parse_json_or_discard(std::string(std::istreambuf_iterator<char>(in), {}));
  if (data.is_object())
    out.data = fingerprints(data.value("fingerprint", ""), data.value("chosen_fingerprint", ""));
  return out;
}

void require_own_checkpoint(const Checkpoint& checkpoint, const RunIdentity& run,
                            Registry& registry,
                            const std::function<void(const std::string&)>& warn) {
  const auto& metadata = checkpoint.content.metadata;
  const auto recipe = metadata.find(kRecipe), data = metadata.find(kData);
  if (recipe == metadata.end() || data == metadata.end())
    return warn(checkpoint.file.string() +
                " does not say of which run it is, as older versions wrote them; it is taken for "
                "one of this run");
  const std::map<std::string, std::string> own = run.metadata();
  std::vector<Difference> differences;
  if (recipe->second != own.at(kRecipe))
    differences = numeric_differences(recipe_in(checkpoint, recipe->second, registry),
                                      part_that_identifies(run.recipe));
  if (!run.data.empty() && data->second != run.data)
    differences.push_back({"data (fingerprint)", data->second, run.data});
  require(differences.empty(), ErrorCode::invalid_param, checkpoint.file.string(),
          " is a checkpoint of another run; nothing was changed. Move it away, or give the "
          "directory it belongs to. It differs from this run in:\n",
          to_text(differences));
}

}  // namespace gh::host
